"""A digit reader and held-out digits in, the figures of its card out."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from areaviz.data.digit_scenes import compose
from areaviz.data.mnist import read_digits
from areaviz.evaluation.measure import Measured, Options
from areaviz.models.digits import DigitReader

SEED = 0


def evaluate_digits(model: DigitReader, data: Path, split: str, _: Options) -> Measured:
    """Measure a reader on "val" or "test".

    Its looks are measured beside looks at random places, looks at another picture, and those of the
    same network before it was trained.
    """
    digits, labels = read_digits(data, split)
    rng = np.random.default_rng(SEED)
    scenes = compose(str(model.card.config["kind"]), digits, labels, rng)
    looks, untrained = model.figures(scenes), model.untrained().figures(scenes)
    figures = {"loss": looks.pop("loss"), "error": looks.pop("error")}
    blind = model.blind_figures(scenes)
    before = {f"{name}_untrained": untrained[name] for name in looks}
    attention = {f"looks, {split}": {**looks, **blind, **before}} if looks else {}
    return Measured({**figures, "pictures": len(scenes.pictures)}, attention)
