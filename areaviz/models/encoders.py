"""The encoders of pictures, by kind. To add one: a class like these, and a line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from areaviz.models.resnet import ResNet152
from areaviz.models.vision import EncoderConfig, GridEncoder, PictureEncoder

ENCODERS: Mapping[str, Callable[[EncoderConfig], GridEncoder]] = {
    "small": PictureEncoder,
    "resnet152": ResNet152,
}


def picture_encoder(options: Mapping[str, Any], grid: int) -> GridEncoder:
    """The encoder of these options of `EncoderConfig`, which gives one grid unless they name
    others.
    """
    config = EncoderConfig(**{"grids": (grid,), **options})
    return ENCODERS[config.kind](config)
