"""A digit reader and held-out digits in, the figures of its card out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from areaviz.cards.card import Card, read_card, write_card
from areaviz.data.digit_scenes import compose
from areaviz.data.mnist import read_digits
from areaviz.models.device import choose_device
from areaviz.models.digits import DigitReader

SEED = 0


def evaluate_digits(folder: Path, data: Path, split: str, device: str = "auto") -> Card:
    """Measure a reader on a split, "val" or "test", write the figures on its card and return it.

    The looks are measured beside looks at random places, looks at another picture, and those of the
    same network before it was trained.

    Raises:
        FileNotFoundError: the digits are not in `data`.
        BackendError: the checkpoint cannot be loaded.
    """
    card = read_card(folder / "card.json")
    model = DigitReader.load(folder, card, choose_device(device))
    scenes = compose(
        str(card.config["kind"]), *read_digits(data, split), np.random.default_rng(SEED)
    )
    figures, untrained = model.figures(scenes), model.untrained().figures(scenes)
    task = {name: figures.pop(name) for name in ("loss", "error")}
    looks = {
        **figures,
        **model.blind_figures(scenes),
        **{f"{name}_untrained": untrained[name] for name in figures},
    }
    card = replace(
        card,
        figures={**card.figures, split: {**task, "pictures": len(scenes.pictures)}},
        attention={**card.attention, **({f"looks, {split}": looks} if looks else {})},
    )
    write_card(card, folder / "card.json")
    return card
