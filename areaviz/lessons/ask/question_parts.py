"""The data of a question for the browser, and functions that several questions share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from areaviz.trace.record import Field

Texts = Mapping[str, Any]
"""The texts of a question by their names in its TOML file."""


@dataclass(frozen=True, slots=True)
class QuestionData:
    """A question with its answer.

    Args:
        numbers: the data of the picture, including the right answer.
        words: the values of the placeholders in the texts.
        deep: the data of the explanation behind "Go deeper".
    """

    numbers: dict[str, Any]
    words: dict[str, Any]
    deep: dict[str, Any] = field(default_factory=dict)


def make_bar(name: str, share: float, digits: int) -> list[Any]:
    """Return a bar for the browser: its name, its length and its number as text."""
    return [name, share, f"{share:.{digits}f}"]


def to_percent(share: float) -> int:
    """Return a share as a whole percentage."""
    return round(100 * share)


def list_word_items(read: Field) -> list[list[int]]:
    """Return the indices of the items of every word in a text.

    A punctuation mark, or the end-of-sequence token, counts as a word.
    """
    found: list[list[int]] = []
    for item, label in enumerate(read.labels):
        joins = item > 0 and read.anchors[item][0] == read.anchors[item - 1][1]
        if joins and label.isalnum() and read.labels[item - 1].isalnum():
            found[-1].append(item)
        else:
            found.append([item])
    return found


def list_word_texts(read: Field) -> list[str]:
    """Return the text of every word in `list_word_items`."""
    return ["".join(read.labels[item] for item in items) for items in list_word_items(read)]
