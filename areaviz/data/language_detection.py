"""Detection of German texts among English ones, by the most frequent words of both languages."""

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
MIN_WORDS = 2
"""Minimum number of German words in a text that counts as German."""


def is_probably_german(text: str) -> bool:
    """Return whether a text has at least `MIN_WORDS` German words, and more German than English.

    Only frequent words count, and words of both languages are ignored. Any word with a letter ä, ö,
    ü or ß counts as German.
    """
    known_german, known_english = set(_GERMAN.split()), set(_ENGLISH.split())
    german = english = 0
    for word in _WORD.findall(text.lower()):
        is_german = word in known_german or not word.isascii()
        is_english = word in known_english
        german += is_german and not is_english
        english += is_english and not is_german
    return german >= MIN_WORDS and german > english
