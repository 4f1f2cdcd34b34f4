"""Pseudo-translation: English that stays readable but shows what is not translated or clipped."""

from __future__ import annotations

import re
import string

_PLAIN = string.ascii_letters
_ACCENTED = "áƀćďéƒĝĥíĵķĺɱńóþɋŕšťúṽŵẋýžÁɃĆĎÉƑĜĤÍĴĶĹṀŃÓÞɊŔŠŤÚṼŴẊÝŽ"
_ACCENTS = str.maketrans(_PLAIN, _ACCENTED)
_KEPT = re.compile(r"(\{\w+\}|\]\([^)]*\)|`[^`]*`)")
"""What a translation keeps as it is: placeholders, the targets of links, and code."""
LONGER = 0.3
"""How much longer the text gets: German and French are up to a third longer than English."""


def pseudo_text(english: str) -> str:
    """Return a text with accents on all letters, between brackets, and longer by a third."""
    parts = _KEPT.split(english)
    accented = [part if place % 2 else part.translate(_ACCENTS) for place, part in enumerate(parts)]
    lead = english[: len(english) - len(english.lstrip())]
    trail = english[len(english.rstrip()) :]
    longer = "·" * round(LONGER * len(english))
    return f"{lead}⟦{''.join(accented).strip()}{longer}⟧{trail}"
