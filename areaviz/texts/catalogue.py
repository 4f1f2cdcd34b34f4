"""The catalogue: every text by its English wording, in the language of the reader.

English is written in the code, as gettext does. The other languages are PO files of this folder. A
text that a file lacks stays English. Tests compare the files with the texts in code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files

from areaviz.texts.pseudo import pseudo_text

ENGLISH, GERMAN = "en", "de"
LANGUAGES: Mapping[str, str] = {ENGLISH: "English", GERMAN: "Deutsch"}
"""The languages that readers can choose, with their names in these languages."""
PSEUDO, PSEUDO_RIGHT_TO_LEFT = "en-XA", "ar-XB"
"""Languages that only tests ask for: longer English with accents, read from the left or the right.

The codes are those of Unicode's pseudo-locales.
"""
KNOWN = (*LANGUAGES, PSEUDO, PSEUDO_RIGHT_TO_LEFT)
DECIMAL_MARKS: Mapping[str, str] = {GERMAN: ","}
"""The decimal marks that are not a point."""


def message(english: str) -> str:
    """Return a text unchanged, and mark it as one of the catalogue that is translated later."""
    return english


def translated(english: str, language: str, **values: object) -> str:
    """Return a text of the catalogue in a language, with the values of its placeholders.

    Args:
        english: the English text, with placeholders such as `{count}`.
        language: one of `KNOWN`.
        values: the values of all placeholders. Without any, braces stay as they are.
    """
    text = translations(language).get(english, english)
    return text.format(**values) if values else text


def decimal(number: str, language: str) -> str:
    """Return a number written in English with the decimal mark of a language."""
    return number.replace(".", DECIMAL_MARKS.get(language, "."))


def known_language(code: str | None) -> str:
    """Return the language for a code such as "de-AT"; English if it is not in the catalogue."""
    code = code or ENGLISH
    if code in KNOWN:
        return code
    base = code.partition("-")[0].lower()
    return base if base in LANGUAGES else ENGLISH


def is_right_to_left(language: str) -> bool:
    """Return whether a language is written from right to left."""
    return language == PSEUDO_RIGHT_TO_LEFT


@lru_cache(maxsize=len(KNOWN))
def translations(language: str) -> Mapping[str, str]:
    """Return the translations of a language by their English texts; English has none."""
    if language == ENGLISH:
        return {}
    if language in (PSEUDO, PSEUDO_RIGHT_TO_LEFT):
        return {english: pseudo_text(english) for english in translations(GERMAN)}
    return read_po(files("areaviz.texts").joinpath(f"{language}.po").read_text("utf-8"))


def read_po(text: str) -> dict[str, str]:
    """Return the translations in a PO file by their messages, without the header.

    The strings of a PO file are strings of JSON. Contexts and plural forms are not used here.
    """
    found: dict[str, str] = {}
    entry = {"msgid": "", "msgstr": ""}
    part = ""
    for line in [*text.splitlines(), 'msgid ""']:
        keyword, _, string = line.partition(" ")
        if keyword == "msgid":
            found[entry["msgid"]] = entry["msgstr"]
            entry = {"msgid": "", "msgstr": ""}
        if keyword in entry:
            part = keyword
            entry[part] = json.loads(string)
        elif line.startswith('"'):
            entry[part] += json.loads(line)
    del found[""]
    return found
