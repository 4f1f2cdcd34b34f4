"""A translator that looks and held-out pictures in, the figures of its card out: with the picture
and without it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from areaviz.cards.card import Card, read_card, write_card
from areaviz.data.scenes import Scene
from areaviz.evaluation.picture_attention import with_attention
from areaviz.evaluation.picture_pairs import read_picture_pairs
from areaviz.evaluation.pointing_head import check_chosen
from areaviz.evaluation.scene_words import KINDS, asked_words, right_words
from areaviz.metrics.translation import translation_scores
from areaviz.models.device import choose_device
from areaviz.models.picture_translation import PictureTranslator
from areaviz.trace.picture import Picture

CONDITIONS = ("", "_without", "_blank", "_wrong")
"""With the true picture, without any, with a grey one, and with that of the next example."""


def evaluate_picture_translation(
    folder: Path, data: Path, split: str, beam: int = 4, device: str = "auto"
) -> tuple[Card, list[str]]:
    """Measure a translator that looks on "val" or "test", write its card and return it with the
    translations.

    Each figure is taken with the true picture, and again without one, with a grey one and with a
    wrong one.

    Raises:
        FileNotFoundError: the photos are not in `data`.
        BackendError: the checkpoint cannot be loaded.
        InputError: "test" is asked for before "val".
    """
    card = read_card(folder / "card.json")
    model = PictureTranslator.load(folder, card, choose_device(device))
    if card.recipe["pictures"] == "scenes":
        check_chosen(card, split)
    held = read_picture_pairs(
        str(card.recipe["pictures"]), split, data, model.network.encoder_config.side
    )
    seen = conditions(held.pictures)
    written = {
        name: model.translate(held.sources, pictures, beam) for name, pictures in seen.items()
    }
    figures: dict[str, float | int | str] = {
        **translation_scores(written[""], held.targets),
        "beam": beam,
    }
    for name in CONDITIONS[1:]:
        figures[f"bleu{name}"] = translation_scores(written[name], held.targets)["bleu"]
    if held.scenes:
        figures |= _told(model, held.scenes, seen, beam)
    card = replace(card, figures={**card.figures, split: figures})
    card = with_attention(card, model, held, split)
    write_card(card, folder / "card.json")
    return card, written[""]


def conditions(pictures: Sequence[Picture]) -> Mapping[str, Sequence[Picture] | None]:
    """What is seen with each example, in each of the conditions."""
    grey = Picture.of("grey", np.full((8, 8, 3), 128, np.uint8))
    return {
        "": pictures,
        "_without": None,
        "_blank": [grey] * len(pictures),
        "_wrong": [*pictures[1:], pictures[0]],
    }


def _told(
    model: PictureTranslator,
    scenes: Sequence[Scene],
    seen: Mapping[str, Sequence[Picture] | None],
    beam: int,
) -> dict[str, float | int]:
    """How often the word that only the picture tells is right, in each condition, with how many
    sentences.
    """
    figures: dict[str, float | int] = {}
    for kind in KINDS:
        asked = asked_words(scenes, kind)
        for name, pictures in seen.items():
            part = None if pictures is None else [pictures[one.number] for one in asked]
            figures[f"{kind}{name}"] = right_words(
                model.translate([one.source for one in asked], part, beam), asked
            )
        figures[f"{kind}_sentences"] = len(asked)
    return figures
