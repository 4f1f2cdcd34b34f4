"""The registry of models by family. Each class loads checkpoints and turns requests into traces."""

from collections.abc import Mapping
from pathlib import Path

from areaviz.extensions import ExtensibleRegistry
from areaviz.models.base import Family
from areaviz.models.digit_reader import DIGIT_NETWORKS, DigitReader
from areaviz.models.generation import GENERATION_NETWORKS, GenerationModel, LanguageModel
from areaviz.models.points import PointingModel
from areaviz.models.stories import AnsweringModel

_OURS: Mapping[str, Family] = {
    **dict.fromkeys(GENERATION_NETWORKS, GenerationModel),
    **dict.fromkeys(DIGIT_NETWORKS, DigitReader),
    **dict.fromkeys(("text decoder", "recurrent text decoder"), LanguageModel),
    "pointer": PointingModel,
    "memory": AnsweringModel,
}


def _describe_family_problem(thing: object) -> str:
    return "" if callable(getattr(thing, "load", None)) else "has no function load"


def _describe_folder_problem(thing: object) -> str:
    return "" if isinstance(thing, Path) and thing.is_dir() else "is not a folder"


MODELS: Mapping[str, Family] = ExtensibleRegistry("models", _OURS, _describe_family_problem)
"""All families by name: first the families of this package, then those of other packages."""
FOLDERS: Mapping[str, Path] = ExtensibleRegistry("checkpoints", {}, _describe_folder_problem)
"""Folders of checkpoints that other packages provide, by the name of the entry."""
