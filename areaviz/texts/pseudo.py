"""Pseudo-translation: English with accents, which shows untranslated and clipped texts."""

from __future__ import annotations

import re
import string

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
