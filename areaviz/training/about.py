"""Texts on the data and the limits of a model for its card, read from `about.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

TEXTS = "about.toml"


@dataclass(frozen=True, slots=True)
class TrainingTexts:
    """The texts of one training."""

    # Texts by name: "name", "train", "valid", "test", "licence" and, if people labelled the data,
    # "gold".
    data: Mapping[str, str]
    limits: str
    # The licence of the weights.
    licence: str
    # The beginning of the model's title, or "" for none.
    title: str = ""
    # The limits of a model that translates with these pictures, or "" for other data.
    translated: str = ""


def read_training_texts(name: str, **values: object) -> TrainingTexts:
    """Return the texts of a training.

    Args:
        name: A section of `about.toml`.
        **values: The values that the texts name in braces.

    Raises:
        KeyError: There is no such section, or a value is missing.
    """
    sections = tomllib.loads((files("areaviz.training") / TEXTS).read_text("utf-8"))
    section = sections[name]
    data = {key: text.format(**values) for key, text in section.pop("data").items()}
    return TrainingTexts(data, section.pop("limits").format(**values), **section)
