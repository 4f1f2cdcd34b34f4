"""The texts of the questions in the reader's language, and numbers with its decimal separator."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files
from typing import Any

from areaviz.lessons.ask.question_parts import Texts
from areaviz.texts.catalogue import ENGLISH, LANGUAGES, pseudo_translate, use_decimal_mark

_POINT = re.compile(r"(?<=\d)\.(?=\d)")


def load_texts(name: str, language: str = ENGLISH) -> Texts:
    """Return the texts in a TOML file of `texts`, or of the folder of a language in it.

    Args:
        name: the name of the file without its extension.
        language: one of `catalogue.KNOWN`.
    """
    folder = files("areaviz.learn").joinpath("texts")
    if language in LANGUAGES and language != ENGLISH:
        folder = folder.joinpath(language)
    texts = tomllib.loads(folder.joinpath(f"{name}.toml").read_text("utf-8"))
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
