"""Models that are no longer included, with their successors and their figures.

Links, stored analyses and requests that name such a model get its successor. Targets of other
models that refer to it still use its figures as limits.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class FormerModel:
    """A model that was removed.

    Args:
        successor: Name of the model that opens in its place.
        commit: The last commit that contains the model.
        figures: Test set -> metric -> value, as on its card.
    """

    successor: str
    commit: str
    figures: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


FORMER_MODELS: Mapping[str, FormerModel] = {
    "photo-teller-none": FormerModel(
        "photo-teller-soft",
        "ddfdaca9",
        {"val": {"cider_d": 0.24031}, "test": {"cider_d": 0.22566, "bleu_4": 11.42038}},
    ),
    "photo-teller-hard": FormerModel(
        "photo-teller-soft",
        "ddfdaca9",
        {"val": {"cider_d": 0.27228}, "test": {"cider_d": 0.26411, "bleu_4": 13.05515}},
    ),
    "photo-captions-convolution": FormerModel(
        "photo-captions-regular",
        "28777085",
        {"val": {"cider_d": 0.47354}, "test": {"cider_d": 0.48943, "bleu_4": 20.51845}},
    ),
}
"""The removed models by name."""


def find_successor(name: str, available: Container[str]) -> str:
    """Return the model to use for `name`: its successor if `name` was removed, else `name`."""
    former = FORMER_MODELS.get(name)
    if former is None or name in available or former.successor not in available:
        return name
    return former.successor


def describe_replacement(name: str, successor: str) -> str:
    """Return a sentence for users that names the successor of a removed model."""
    return f"The model {name} is no longer included. You see its successor, {successor}."


def describe_replacements(names: Iterable[str], available: Container[str]) -> list[str]:
    """Return a sentence for each of `names` that was removed and has a successor."""
    found = []
    for name in names:
        successor = find_successor(name, available)
        if successor != name:
            found.append(describe_replacement(name, successor))
    return found
