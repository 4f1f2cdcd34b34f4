"""A captioner and held-out pictures in, the figures of its card out.

Shapes: H heads, Q words, A areas.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from areaviz.cards.card import Card, read_card, write_card
from areaviz.data.flickr8k import read_photos, read_pixels
from areaviz.data.grounding import Box, Grounded
from areaviz.data.scenes import scenes_of
from areaviz.evaluation.pointing_head import check_chosen, noted, pointing_head
from areaviz.metrics.captions import caption_scores
from areaviz.metrics.pointing import FloatArray, pointing_figures
from areaviz.models.captioning import CaptionModel
from areaviz.models.device import choose_device
from areaviz.trace.areas import AreaGrid
from areaviz.trace.picture import Picture

BATCH = 32
SITE = "encoder-decoder"


@dataclass(frozen=True, slots=True)
class Held:
    """Held-out pictures. true: for each, every sentence that is true of it; empty where nobody
    knows them all.
    """

    pictures: Sequence[Picture]
    references: Sequence[Sequence[str]]
    grounded: Sequence[Sequence[Grounded]]
    true: Sequence[Mapping[str, Grounded]]


def held_out(pictures: str, split: str, data: Path, side: int) -> Held:
    """The "photos" or "scenes" of a split, `side` pixels a side."""
    if pictures == "photos":
        photos = read_photos(data, split)
        pixels = read_pixels(data, photos, side)
        made = [Picture.of("photo", one) for one in pixels]
        return Held(
            made, [photo.captions for photo in photos], [photo.grounded for photo in photos], ()
        )
    scenes = scenes_of(split)
    made = [Picture.of("scene", scene.pixels(side)) for scene in scenes]
    references = [(scene.english.text,) for scene in scenes]
    return Held(
        made, references, [(s.grounded,) for s in scenes], [s.true_sentences() for s in scenes]
    )


def evaluate_captions(
    folder: Path, data: Path, split: str, beam: int = 4, device: str = "auto"
) -> tuple[Card, list[str]]:
    """Measure a captioner on a split, "val" or "test", write the figures on its card and return it
    with the captions.

    The head that points best on "val" is noted on the card; "test" measures that head.

    Raises:
        FileNotFoundError: the photos are not in `data`.
        BackendError: the checkpoint cannot be loaded.
        InputError: "test" is asked for before "val".
    """
    card = read_card(folder / "card.json")
    model = CaptionModel.load(folder, card, choose_device(device))
    if model.network.config.layers:
        check_chosen(card, split)
    held = held_out(str(card.recipe["pictures"]), split, data, model.network.encoder_config.side)
    captions = describe(model, held.pictures, beam)
    figures: dict[str, Any] = {**caption_scores(captions, held.references), "beam": beam}
    if held.true:
        figures["true"] = 100 * float(
            np.mean([text in true for text, true in zip(captions, held.true, strict=True)])
        )
    card = replace(card, figures={**card.figures, split: figures})
    if model.network.config.layers:
        card = _with_attention(card, model, held, captions, split)
    write_card(card, folder / "card.json")
    return card, captions


def describe(model: CaptionModel, pictures: Sequence[Picture], beam: int) -> list[str]:
    """One caption a picture."""
    captions = []
    for first in range(0, len(pictures), BATCH):
        features = model.look(pictures[first : first + BATCH])
        found = model.decode(features, "greedy" if beam == 1 else "beam", beam)
        captions += [model.tokenizer.decode(one.ids)[0] for one in found]
    return captions


def _with_attention(
    card: Card, model: CaptionModel, held: Held, captions: Sequence[str], split: str
) -> Card:
    """The card with how well the attention points, of the head that points best on validation.

    The first grounded sentence of each picture is given, not the model's own, so that words and
    boxes are known. Where every true sentence is known, the model's own captions are read as well,
    as far as they are true.
    """
    config = model.network.config
    places = [(layer, head) for layer in range(config.layers) for head in range(config.heads)]
    given = _read(model, held.pictures, [sentences[0] for sentences in held.grounded])
    measured = {place: pointing_figures(_rows(given, *place)) for place in places}
    layer, head = pointing_head(card, split, measured)
    untrained = pointing_figures(
        _rows(_read(model.untrained(), given.pictures, given.sentences), layer, head)
    )
    figures = {
        **measured[layer, head],
        "pointing_untrained": untrained["pointing"],
        "mass_untrained": untrained["mass"],
        "pointing_mean_of_heads": float(np.mean([one["pointing"] for one in measured.values()])),
    }
    said = [
        (p, true[text])
        for p, text, true in zip(held.pictures, captions, held.true, strict=False)
        if text in true
    ]
    if said:
        own = pointing_figures(_rows(_read(model, *zip(*said, strict=True)), layer, head))
        figures |= {f"own_{name}": value for name, value in own.items()}
    return replace(
        card,
        recipe=noted(card.recipe, (layer, head)),
        attention={**card.attention, f"{SITE}, {split}": figures},
    )


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """Pictures, a sentence of each, and what a model attends to as it reads them.

    weights: of each picture, one array [H, Q, A] a layer. tokens: of each sentence, that of every
    word. grids: of each layer.
    """

    pictures: Sequence[Picture]
    sentences: Sequence[Grounded]
    weights: Sequence[Sequence[FloatArray]]
    tokens: Sequence[Sequence[int]]
    grids: Sequence[AreaGrid]


def _read(model: CaptionModel, pictures: Sequence[Picture], sentences: Sequence[Grounded]) -> Read:
    """Every sentence given to the model, batch by batch."""
    config, weights = model.network.config, []
    for first in range(0, len(pictures), BATCH):
        part = slice(first, first + BATCH)
        layers = model.pointing(model.look(pictures[part]), [one.text for one in sentences[part]])
        weights += list(zip(*layers, strict=True))
    grids = [config.areas(layer).grid(config.grid**2) for layer in range(config.layers)]
    return Read(
        pictures,
        sentences,
        weights,
        [model.tokenizer.of_words(one.text) for one in sentences],
        grids,
    )


def _rows(
    read: Read, layer: int, head: int
) -> Iterator[tuple[FloatArray, AreaGrid, Sequence[Box]]]:
    """Each boxed word's weights as one head has them, and its boxes."""
    for weights_L, tokens, sentence in zip(read.weights, read.tokens, read.sentences, strict=True):
        for word, boxes in sentence.boxes:
            yield weights_L[layer][head, tokens[word]], read.grids[layer], boxes
