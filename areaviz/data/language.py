"""Whether a text reads as German rather than English, told by its commonest words alone."""

from __future__ import annotations

import re

_WORD = re.compile(r"[a-zäöüß]+")
_GERMAN = """
    aber auf aus bei das dem den der des die durch ein eine einem einen einer eines er es für hat
    hinter ich ihr im in ist ja mit nach neben nicht oder sich sie sind steht trägt über um und
    unter vom von vor was wer wie wir zu zum zur zwei zwischen drei
"""
_ENGLISH = """
    a across an and are as at by for from has he his her i in into is it its man near of on one or
    over she that the their they three to two under up was we were while who with woman you
"""
LEAST = 2
"""Words that only German has before anything is said of a text."""


def reads_as_german(text: str) -> bool:
    """Whether a text has more of the commonest German words than of the English ones.

    Words of both languages count for neither. A word with an umlaut or ß counts as a German one.
    """
    known_german, known_english = set(_GERMAN.split()), set(_ENGLISH.split())
    german = english = 0
    for word in _WORD.findall(text.lower()):
        is_german = word in known_german or not word.isascii()
        is_english = word in known_english
        german += is_german and not is_english
        english += is_english and not is_german
    return german >= LEAST and german > english
