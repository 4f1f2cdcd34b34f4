"""Evaluation of translators that also read pictures, with and without the picture.

If gold boxes are known, the evaluation also measures whether attention points into them. Shapes: L
layers, H heads, T target items, A areas.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from areaviz.cards.card import Opening
from areaviz.data.flickr8k import read_photos, read_pixels
from areaviz.evaluation.best_pointing import choose_pointing_opening, measure_best_pointing
from areaviz.evaluation.heads import measure_heads_for_card
from areaviz.evaluation.measure import Measured, Options, Place, check_chosen, choose_pointing_head
from areaviz.evaluation.opening_choice import choose_openings, make_pointing_opening
from areaviz.evaluation.scene_words import KINDS, choose_tested_words, compute_share_of_right_words
from areaviz.measures.pointing import (
    Floats,
    PointedWords,
    compute_pointing_figures,
    find_centres_inside,
)
from areaviz.models.generation import GENERATION_BATCH, GenerationModel
from areaviz.models.network import PictureNetwork
from areaviz.models.picture_translation import SITES
from areaviz.samples.dataset import Box
from areaviz.samples.scenes import Scene, make_scenes
from areaviz.trace.areas import AreaGrid, sum_coverage
from areaviz.trace.request import Picture, Request

CONDITIONS = ("", "_without", "_blank", "_wrong")
"""Suffixes for the true picture, no picture, a grey picture and the next example's picture."""
Seen = Sequence[Picture | None]


@dataclass(frozen=True, slots=True)
class PicturePairs:
    """Held-out examples."""

    pictures: Sequence[Picture]
    sources: Sequence[str]
    targets: Sequence[str]
    # The scenes of the pictures. Empty for photos.
    scenes: Sequence[Scene] = ()


def read_picture_pairs(pictures: str, split: str, data: Path, side: int) -> PicturePairs:
    """Read the "photos" with a translation, or the "scenes", of a split.

    Pictures are `side` pixels wide and high.

    Raises:
        FileNotFoundError: The photos are not in `data`.
    """
    if pictures == "scenes":
        scenes = make_scenes(split)
        made = [Picture.of("scene", scene.pixels(side)) for scene in scenes]
        english = [scene.english.text for scene in scenes]
        return PicturePairs(made, english, [scene.german.text for scene in scenes], scenes)
    photos = [photo for photo in read_photos(data, split) if photo.pair is not None]
    pairs = [photo.pair for photo in photos if photo.pair is not None]
    made = [Picture.of("photo", pixels) for pixels in read_pixels(data, photos, side)]
    return PicturePairs(made, [source for source, _ in pairs], [target for _, target in pairs])


def evaluate_picture_translation(
    model: GenerationModel, data: Path, split: str, options: Options
) -> Measured:
    """Measure a translator on "val" or "test" in each of `CONDITIONS`."""
    card, network = model.card, model.network
    assert isinstance(network, PictureNetwork)
    if card.pictures == "scenes":
        check_chosen(card, split)
    held = read_picture_pairs(card.pictures, split, data, network.encoder_config.side)
    written = _write_translations(model, held, options) if options.outputs else Measured({})
    site = SITES["picture"]
    first, attention = _measure_attention(model, held, split)
    heads: Mapping[str, Mapping[str, Any]] = {}
    opening: dict[str, Opening] = {}
    if split == "val" and options.traces:
        heads = measure_heads_for_card(model, _make_given_requests(model, held)[: options.traces])
        opening = choose_openings(heads)
        if first is not None and first.pointing_head is not None:
            opened = make_pointing_opening(heads[site], first.pointing_head)
            first = replace(opened, best=first.best)
    if split == "val" and first is not None:
        opening[site] = first
    measured = {f"{site}, {split}": attention}
    return replace(written, attention=measured, heads=heads, opening=opening)


def _write_translations(model: GenerationModel, held: PicturePairs, options: Options) -> Measured:
    """Translate in each condition and score the translations."""
    from areaviz.measures.references import score_translations

    seen = make_conditions(held.pictures)
    outputs = {
        name: translate_texts(model, held.sources, pictures, options)
        for name, pictures in seen.items()
    }
    figures: dict[str, float | int | str] = {
        **score_translations(outputs[""], held.targets),
        "beam": options.beam,
    }
    for name in CONDITIONS[1:]:
        figures[f"bleu{name}"] = score_translations(outputs[name], held.targets)["bleu"]
    if held.scenes:
        figures |= _score_hidden_words(model, held.scenes, seen, options)
    return Measured(figures, outputs=outputs[""])


def _make_given_requests(model: GenerationModel, held: PicturePairs) -> list[Request]:
    """Return a request for every example, with its picture and its translation given."""
    examples = zip(held.sources, held.pictures, held.targets, strict=True)
    return [
        Request(model.card.name, source, picture=picture, target=target)
        for source, picture, target in examples
    ]


def translate_texts(
    model: GenerationModel, sources: Sequence[str], pictures: Seen, options: Options
) -> list[str]:
    """Return the translation of every text, each with its picture or without one."""
    requests = [
        Request(model.card.name, source, options.method, options.beam, picture=picture)
        for source, picture in zip(sources, pictures, strict=True)
    ]
    return model.generate_outputs(requests)


def make_conditions(pictures: Sequence[Picture]) -> Mapping[str, Seen]:
    """Return the pictures of all examples in each of the conditions."""
    grey = Picture.of("grey", np.full((8, 8, 3), 128, np.uint8))
    return {
        "": pictures,
        "_without": [None] * len(pictures),
        "_blank": [grey] * len(pictures),
        "_wrong": [*pictures[1:], pictures[0]],
    }


def _score_hidden_words(
    model: GenerationModel, scenes: Sequence[Scene], seen: Mapping[str, Seen], options: Options
) -> dict[str, float | int]:
    """Return the share of right words that only the picture shows, in each condition.

    The figures also have the number of tested sentences of each kind.
    """
    figures: dict[str, float | int] = {}
    for kind in KINDS:
        asked = choose_tested_words(scenes, kind)
        sources = [one.source for one in asked]
        for name, pictures in seen.items():
            part = [pictures[one.number] for one in asked]
            translations = translate_texts(model, sources, part, options)
            figures[f"{kind}{name}"] = compute_share_of_right_words(translations, asked)
        figures[f"{kind}_sentences"] = len(asked)
    return figures


@dataclass(frozen=True, slots=True, eq=False)
class Looked:
    """Attention on one example with its reference given."""

    # Weights on the picture, [L, H, T, A].
    weights: Floats
    # The picture's share of the sum of both context vectors, [T].
    share: Floats


def _measure_attention(
    model: GenerationModel, held: PicturePairs, split: str
) -> tuple[Opening | None, dict[str, float]]:
    """Return how pages first show the picture, and the metrics of attention.

    "val" chooses the heads that point best. Without boxes, the first result is None.
    """
    looked = list(iterate_passes(model, held))
    figures = {"picture_share": float(np.mean(np.concatenate([one.share for one in looked])))}
    if not held.scenes:
        return None, figures
    config, areas = model.network.config, model.network.areas("picture")
    grid = areas.make_grid(0)
    measured: dict[Place, dict[str, float]] = {}
    for layer in range(config.layers):
        for head in range(config.heads):
            rows = _iterate_rows(looked, held.scenes, grid, layer, head)
            measured[layer, head] = compute_pointing_figures(rows)
    place = choose_pointing_head(model.card, split, measured)
    blank = list(iterate_passes(model.make_untrained(), held))
    untrained = compute_pointing_figures(_iterate_rows(blank, held.scenes, grid, *place))
    words = _collect_pointed_words(looked, held.scenes, grid)
    first = choose_pointing_opening(model.card, SITES["picture"], place, words, split)
    figures |= measured[place]
    figures |= {f"{name}_untrained": untrained[name] for name in ("pointing", "mass")}
    figures |= measure_best_pointing(
        "pointing",
        words,
        _collect_pointed_words(blank, held.scenes, grid),
        first.best,
        measured[place],
    )
    return first, figures


def iterate_passes(model: GenerationModel, held: PicturePairs) -> Iterator[Looked]:
    """Yield the attention on every example with its true picture."""
    requests = _make_given_requests(model, held)
    for first in range(0, len(requests), GENERATION_BATCH):
        part = requests[first : first + GENERATION_BATCH]
        run = model.attend(part)
        layers = [layer.float().cpu().numpy() for layer in run.weights[SITES["picture"]]]
        weights_BLHTA = np.stack(layers, 1)
        text = np.stack([layer.cpu().numpy() for layer in run.strength[SITES["text"]]])
        picture = np.stack([layer.cpu().numpy() for layer in run.strength[SITES["picture"]]])
        share_BT = (picture / (picture + text)).mean((0, 2))
        for row, request in enumerate(part):
            length = len(model.tokenizer.ids(request.target or ""))
            yield Looked(weights_BLHTA[row, :, :, :length], share_BT[row, :length])


def _collect_pointed_words(
    looked: Iterable[Looked], scenes: Sequence[Scene], grid: AreaGrid
) -> PointedWords:
    """Return the cells of each German word for an object in all heads, and which are in its box."""
    found = []
    for one, scene in zip(looked, scenes, strict=True):
        known = scene.german_grounded.boxes
        right = [find_centres_inside(grid, boxes) for _, boxes in known]
        queries = [place for place, _ in known]
        found.append(PointedWords.of(sum_coverage(one.weights, grid), queries, np.array(right)))
    return PointedWords.joined(found)


def _iterate_rows(
    looked: Iterable[Looked], scenes: Sequence[Scene], grid: AreaGrid, layer: int, head: int
) -> Iterator[tuple[Floats, AreaGrid, Sequence[Box]]]:
    """Yield the weights of each German word for an object in one head, the areas, and its box."""
    for one, scene in zip(looked, scenes, strict=True):
        for place, boxes in scene.german_grounded.boxes:
            yield one.weights[layer, head, place], grid, boxes
