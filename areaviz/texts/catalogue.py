"""The translations of the texts that readers see, and pseudo-translation for tests.

Call `translate` for a text, and `message` to mark one that is translated later.
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files

# Pseudo-translation: English with accents, which shows untranslated and clipped texts.


_PLAIN = string.ascii_letters
_ACCENTED = "áƀćďéƒĝĥíĵķĺɱńóþɋŕšťúṽŵẋýžÁɃĆĎÉƑĜĤÍĴĶĹṀŃÓÞɊŔŠŤÚṼŴẊÝŽ"
_ACCENTS = str.maketrans(_PLAIN, _ACCENTED)
_KEPT = re.compile(r"(\{\w+\}|\]\([^)]*\)|`[^`]*`)")
"""The parts of a text that a translation must not change: placeholders, link targets and code."""
LONGER = 0.3
"""Share by which a text gets longer. German and French texts are up to a third longer."""


def pseudo_translate(english: str) -> str:
    """Return a text with accents on all letters, in brackets, and longer by `LONGER`."""
    parts = _KEPT.split(english)
    accented = [part if place % 2 else part.translate(_ACCENTS) for place, part in enumerate(parts)]
    lead = english[: len(english) - len(english.lstrip())]
    trail = english[len(english.rstrip()) :]
    longer = "·" * round(LONGER * len(english))
    return f"{lead}⟦{''.join(accented).strip()}{longer}⟧{trail}"


# The catalogue: translations of the texts that readers see, by their English wording.
#
# English texts are in the code, as in gettext. The other languages are PO files in this folder. A
# text without a translation stays English. Tests compare the PO files with the texts in the code.


ENGLISH, GERMAN = "en", "de"
LANGUAGES: Mapping[str, str] = {ENGLISH: "English", GERMAN: "Deutsch"}
"""The languages that readers can choose, with their names in these languages."""
PSEUDO, PSEUDO_RIGHT_TO_LEFT = "en-XA", "ar-XB"
"""Languages for tests: longer English with accents, written from the left or from the right.

The codes are those of Unicode's pseudo-locales.
"""
KNOWN = (*LANGUAGES, PSEUDO, PSEUDO_RIGHT_TO_LEFT)
DECIMAL_MARKS: Mapping[str, str] = {GERMAN: ","}
"""The decimal separators of languages that do not use a point."""


def message(english: str) -> str:
    """Return the text unchanged. The call marks it as a text of the catalogue."""
    return english


def translate(english: str, language: str, **values: object) -> str:
    """Return the translation of a text, with values for its placeholders.

    Args:
        english: the English text, with placeholders such as `{count}`.
        language: one of `KNOWN`.
        values: the values of all placeholders. Without values, braces are not changed.
    """
    text = load_translations(language).get(english, english)
    return text.format(**values) if values else text


def use_decimal_mark(number: str, language: str) -> str:
    """Return an English number, such as "0.5", with the decimal separator of a language."""
    return number.replace(".", DECIMAL_MARKS.get(language, "."))


def find_language(code: str | None) -> str:
    """Return the language for a code such as "de-AT", or English for an unknown code."""
    code = code or ENGLISH
    if code in KNOWN:
        return code
    base = code.partition("-")[0].lower()
    return base if base in LANGUAGES else ENGLISH


def is_right_to_left(language: str) -> bool:
    """Return whether a language is written from right to left."""
    return language == PSEUDO_RIGHT_TO_LEFT


@lru_cache(maxsize=len(KNOWN))
def load_translations(language: str) -> Mapping[str, str]:
    """Return the translations into a language by their English texts, or {} for English."""
    if language == ENGLISH:
        return {}
    if language in (PSEUDO, PSEUDO_RIGHT_TO_LEFT):
        return {english: pseudo_translate(english) for english in load_translations(GERMAN)}
    return read_po(files("areaviz.texts").joinpath(f"{language}.po").read_text("utf-8"))


def read_po(text: str) -> dict[str, str]:
    """Return the translations in a PO file by their English texts, without the header.

    Strings in a PO file have the syntax of JSON strings. Contexts and plural forms do not occur.
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
