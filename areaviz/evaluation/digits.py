"""Evaluation of digit classifiers on held-out digits, for the figures of their cards."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from areaviz.data.mnist import read_digits
from areaviz.evaluation.heads import measure_heads_for_card
from areaviz.evaluation.measure import Measured, Options
from areaviz.models.digit_reader import DigitReader
from areaviz.samples.digits import compose_scenes
from areaviz.trace.request import Picture, Request

SEED = 0


def evaluate_digits(model: DigitReader, data: Path, split: str, options: Options) -> Measured:
    """Measure a digit classifier on "val" or "test".

    Its glimpses are compared with glimpses at random places, glimpses at another picture, and
    glimpses of the untrained network.
    untrained network.
    """
    digits, labels = read_digits(data, split)
    rng = np.random.default_rng(SEED)
    scenes = compose_scenes(str(model.card.config["kind"]), digits, labels, rng)
    looks, untrained = model.measure(scenes), model.make_untrained().measure(scenes)
    figures = {"loss": looks.pop("loss"), "error": looks.pop("error")}
    blind = model.measure_baselines(scenes)
    before = {f"{name}_untrained": untrained[name] for name in looks}
    attention = {f"looks, {split}": {**looks, **blind, **before}} if looks else {}
    heads: Mapping[str, Mapping[str, Any]] = {}
    if split == "val":
        pictures = scenes.pictures[: options.traces]
        heads = measure_heads_for_card(model, [_make_request(model, pixels) for pixels in pictures])
    if not options.outputs:
        return Measured({}, attention, heads=heads)
    return Measured({**figures, "pictures": len(scenes.pictures)}, attention, heads=heads)


def _make_request(model: DigitReader, pixels_SS: npt.NDArray[np.uint8]) -> Request:
    """Return a request for one picture of drawn digits, light on dark."""
    grey_SSC = np.repeat(pixels_SS[..., None], 3, axis=-1)
    return Request(model.card.name, "", picture=Picture.of("digits", grey_SSC))
