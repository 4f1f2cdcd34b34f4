"""Evaluation of captioners on held-out pictures, for the figures of their cards.

Shapes: H heads, Q words, A areas.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
from areaviz.measures.heads import find_largest
from areaviz.measures.pointing import (
    Floats,
    PointedWords,
    compute_pointing_figures,
    find_centres_inside,
)
from areaviz.metrics.area_hits import compute_area_hits
from areaviz.models.generation import GENERATION_BATCH, GenerationModel
from areaviz.models.network import PictureNetwork
from areaviz.samples.dataset import Box, GroundedSentence
from areaviz.samples.scenes import TIE, make_scenes
from areaviz.trace.areas import AreaGrid, sum_coverage
from areaviz.trace.request import Picture, Request

SITE = "encoder-decoder"
OF_AREAS = ("multi_words", "overlap", "overlap_lift", "area_hit")
"""Figures of areas for which the untrained network is measured as well."""


@dataclass(frozen=True, slots=True)
class Held:
    """Held-out pictures with their captions."""

    pictures: Sequence[Picture]
    references: Sequence[Sequence[str]]
    grounded: Sequence[Sequence[GroundedSentence]]
    # All true sentences of each picture. Empty if they are not all known.
    true: Sequence[Mapping[str, GroundedSentence]]
    # The true sentences under a looser rule: for objects on a diagonal, both relations are
    # accepted.
    nearly: Sequence[Mapping[str, GroundedSentence]] = ()


def read_held_out_pictures(pictures: str, split: str, data: Path, side: int) -> Held:
    """Return the "photos" or "scenes" of a split, `side` pixels wide and high."""
    if pictures == "photos":
        photos = read_photos(data, split)
        made = [Picture.of("photo", pixels) for pixels in read_pixels(data, photos, side)]
        captions = [photo.captions for photo in photos]
        return Held(made, captions, [photo.grounded for photo in photos], ())
    scenes = make_scenes(split)
    return Held(
        [Picture.of("scene", scene.pixels(side)) for scene in scenes],
        [(scene.english.text,) for scene in scenes],
        [(scene.grounded,) for scene in scenes],
        [scene.list_true_sentences() for scene in scenes],
        [scene.list_true_sentences(TIE) for scene in scenes],
    )


def evaluate_captions(model: GenerationModel, data: Path, split: str, options: Options) -> Measured:
    """Measure a captioner on "val" or "test".

    "val" chooses the head that points best and writes it to the card, together with the figures of
    every head. "test" measures the chosen head.

    Raises:
        InputError: "val" has not been measured yet.
    """
    card, network = model.card, model.network
    assert isinstance(network, PictureNetwork)
    attends = network.config.layers > 0
    if attends:
        check_chosen(card, split)
    held = read_held_out_pictures(card.pictures, split, data, network.encoder_config.side)
    written = _write_captions(model, held, options) if options.outputs else Measured({})
    if not attends:
        return written
    first, attention = _measure_attention(model, held, written.outputs, split)
    heads: Mapping[str, Mapping[str, Any]] = {}
    opening: Mapping[str, Opening] = {SITE: first} if split == "val" else {}
    if split == "val" and options.traces:
        heads = measure_heads_for_card(model, _make_given_requests(model, held)[: options.traces])
        assert first.pointing_head is not None
        layer, head = first.pointing_head
        attention["cell"] = find_largest(heads[SITE], "cell")
        attention["multi_share"] = heads[SITE]["multi_share"][layer][head]
        opened = make_pointing_opening(heads[SITE], first.pointing_head)
        opening = {**choose_openings(heads), SITE: replace(opened, best=first.best)}
    measured = {f"{SITE}, {split}": attention}
    return replace(written, attention=measured, heads=heads, opening=opening)


def _write_captions(model: GenerationModel, held: Held, options: Options) -> Measured:
    """Write a caption for every picture and score the captions."""
    from areaviz.measures.references import score_captions

    requests = [
        Request(model.card.name, "", options.method, options.beam, picture=picture)
        for picture in held.pictures
    ]
    captions = model.generate_outputs(requests)
    figures: dict[str, Any] = {**score_captions(captions, held.references), "beam": options.beam}
    if held.true:
        is_true = [text in true for text, true in zip(captions, held.true, strict=True)]
        figures["true"] = 100 * float(np.mean(is_true))
        nearly = [text in true for text, true in zip(captions, held.nearly, strict=True)]
        figures["true_tie"] = 100 * float(np.mean(nearly))
    return Measured(figures, outputs=captions)


def _make_given_requests(model: GenerationModel, held: Held) -> list[Request]:
    """Return a request for every picture, with its first reference as the given output."""
    return [
        Request(model.card.name, "", picture=picture, target=sentences[0].text)
        for picture, sentences in zip(held.pictures, held.grounded, strict=True)
    ]


def _measure_attention(
    model: GenerationModel, held: Held, captions: Sequence[str], split: str
) -> tuple[Opening, dict[str, float]]:
    """Return how pages first show the picture, and how well the heads point.

    "val" chooses the heads. The first grounded sentence of each picture is given instead of the
    model's own, so that words and boxes are known. If all true sentences are known, those captions
    of the model that are true are measured as well.
    """
    config = model.network.config
    given = _read_attention(model, held.pictures, [sentences[0] for sentences in held.grounded])
    measured: dict[Place, dict[str, float]] = {}
    for layer in range(config.layers):
        for head in range(config.heads):
            measured[layer, head] = compute_pointing_figures(_iterate_rows(given, layer, head))
    place = choose_pointing_head(model.card, split, measured)
    blank = _read_attention(model.make_untrained(), given.pictures, given.sentences)
    untrained = compute_pointing_figures(_iterate_rows(blank, *place))
    words, blank_words = _collect_pointed_words(given), _collect_pointed_words(blank)
    first = choose_pointing_opening(model.card, SITE, place, words, split)
    figures = {
        **measured[place],
        "pointing_untrained": untrained["pointing"],
        "mass_untrained": untrained["mass"],
        **measure_areas(given, blank, place),
        "pointing_mean_of_heads": float(np.mean([one["pointing"] for one in measured.values()])),
        **measure_best_pointing("pointing", words, blank_words, first.best, measured[place]),
    }
    pictures, sentences = [], []
    for picture, text, true in zip(held.pictures, captions, held.true, strict=False):
        if text in true:
            pictures.append(picture)
            sentences.append(true[text])
    if pictures:
        own = compute_pointing_figures(
            _iterate_rows(_read_attention(model, pictures, sentences), *place)
        )
        figures |= {f"own_{name}": value for name, value in own.items()}
    return first, figures


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """Pictures, one sentence for each, and the model's attention while it reads them."""

    pictures: Sequence[Picture]
    sentences: Sequence[GroundedSentence]
    # For each picture, one array [H, Q, A] per layer.
    weights: Sequence[Sequence[Floats]]
    # For each sentence, the token of every word.
    tokens: Sequence[Sequence[int]]
    # The areas of each layer.
    grids: Sequence[AreaGrid]


def _read_attention(
    model: GenerationModel, pictures: Sequence[Picture], sentences: Sequence[GroundedSentence]
) -> Read:
    """Return the attention of the model with every sentence given, computed in batches."""
    network = model.network
    weights: list[Sequence[Floats]] = []
    for first in range(0, len(pictures), GENERATION_BATCH):
        part = range(first, min(first + GENERATION_BATCH, len(pictures)))
        run = model.attend(
            [
                Request(model.card.name, "", picture=pictures[i], target=sentences[i].text)
                for i in part
            ]
        )
        layers = [layer.float().cpu().numpy() for layer in run.weights[SITE]]
        weights += zip(*layers, strict=True)
    cells = network.areas("picture").make_grid(0).items
    grids = [network.config.areas(layer).make_grid(cells) for layer in range(network.config.layers)]
    tokens = [model.tokenizer.find_word_starts(one.text) for one in sentences]
    return Read(pictures, sentences, weights, tokens, grids)


def measure_areas(given: Read, blank: Read, place: Place) -> dict[str, float]:
    """Return the figures of a head's areas, with those of the untrained network's areas.

    The figures of the untrained network have the suffix _untrained. Attention to single cells gives
    an empty result.
    """
    grid = given.grids[place[0]]
    if grid.count == grid.items:
        return {}
    found = compute_area_hits(_iterate_rows(given, *place))
    before = compute_area_hits(_iterate_rows(blank, *place))
    return found | {f"{name}_untrained": before[name] for name in OF_AREAS}


def _collect_pointed_words(read: Read) -> PointedWords:
    """Return the cells of every word with boxes in all heads, and which of them are in a box."""
    found = []
    for weights_L, tokens, sentence in zip(read.weights, read.tokens, read.sentences, strict=True):
        layers = zip(weights_L, read.grids, strict=True)
        cells_LHQN = np.array([sum_coverage(weights, grid) for weights, grid in layers])
        if sentence.boxes:
            right = [find_centres_inside(read.grids[0], boxes) for _, boxes in sentence.boxes]
            queries = [tokens[word] for word, _ in sentence.boxes]
            found.append(PointedWords.of(cells_LHQN, queries, np.array(right)))
    return PointedWords.joined(found)


def _iterate_rows(
    read: Read, layer: int, head: int
) -> Iterator[tuple[Floats, AreaGrid, Sequence[Box]]]:
    """Yield each boxed word's weights in one head, the areas, and the boxes of the word."""
    for weights_L, tokens, sentence in zip(read.weights, read.tokens, read.sentences, strict=True):
        for word, boxes in sentence.boxes:
            yield weights_L[layer][head, tokens[word]], read.grids[layer], boxes
