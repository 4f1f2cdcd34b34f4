"""The data of a question for the browser, and its texts in the user's language."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from areaviz.texts.catalogue import ENGLISH, LANGUAGES, pseudo_translate, use_decimal_mark
from areaviz.trace.record import Field

# The data of a question for the browser, and functions that several questions share.


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


# The texts of the questions in the reader's language, and numbers with its decimal separator.


_POINT = re.compile(r"(?<=\d)\.(?=\d)")


def load_texts(name: str, language: str = ENGLISH) -> Texts:
    """Return the texts of a section in the file of a language, such as `texts/en.toml`.

    Args:
        name: the name of a question, "index" or "frame".
        language: one of `catalogue.KNOWN`.
    """
    file = f"{language if language in LANGUAGES else ENGLISH}.toml"
    path = files("areaviz.learn").joinpath("texts", file)
    texts = tomllib.loads(path.read_text("utf-8"))[name]
    return (
        texts
        if language in LANGUAGES
        else {key: _pseudo_translate(text) for key, text in texts.items()}
    )


def with_decimal_marks(value: Any, language: str) -> Any:
    """Return values for JSON with the decimal separator of a language in all texts."""
    if isinstance(value, str):
        return _POINT.sub(lambda found: use_decimal_mark(found[0], language), value)
    if isinstance(value, list | tuple):
        return [with_decimal_marks(one, language) for one in value]
    if isinstance(value, dict):
        return {name: with_decimal_marks(one, language) for name, one in value.items()}
    return value


def _pseudo_translate(text: Any) -> Any:
    return (
        [pseudo_translate(one) for one in text]
        if isinstance(text, list)
        else pseudo_translate(text)
    )
