"""Marks, the gold annotations of an example: word links, boxes in a picture, facts of a story.

The marks of one kind are one cell of a table or one line of a file. Errors name that place.
"""

from __future__ import annotations

import re

from areaviz.data.examples import Links
from areaviz.data.grounding import Box
from areaviz.trace.errors import InputError, shorten

MAX_MARKS = 500
"""Maximum number of links, boxes or facts per example. A sentence of 40 words rarely has more than
60 links.
"""
LINK = re.compile(r"(\d{1,4})([-p])(\d{1,4})")
"""A link in Pharaoh format: "3-4" is sure, "3p4" is possible."""


def read_facts(where: str, line: str) -> tuple[int, ...]:
    """Return the facts of a story, written as "3 6" from 1, as numbers from 0.

    Raises:
        InputError: A part is not a number from 1 to 9,999, or there are too many facts.
    """
    parts = _clean_marks(where, "facts", line.split(maxsplit=MAX_MARKS))
    for part in parts:
        if not re.fullmatch(r"[1-9]\d{0,3}", part):
            raise InputError(
                f'{where} has the fact "{shorten(part)}". Name facts by their numbers from 1, such'
                " as 3 6."
            )
    return tuple(int(part) - 1 for part in parts)


def read_links(where: str, line: str, first: int = 0) -> tuple[Links, Links]:
    """Return the sure links and all possible links, (source word, target word) from 0.

    Args:
        where: Place of the links for error messages, such as "Line 3".
        line: The links, such as "0-0 1p2".
        first: Number of the first word, 0 or 1.

    Raises:
        InputError: A part is not a link, a word number is below `first`, or there are too many
            links.
    """
    sure, possible = set(), set()
    for part in _clean_marks(where, "links", line.split(maxsplit=MAX_MARKS)):
        found = LINK.fullmatch(part)
        if not found:
            raise InputError(
                f'{where} has the link "{shorten(part)}". Write links as pairs such as 3-4 (sure)'
                " or 3p4 (possible)."
            )
        link = (int(found[1]) - first, int(found[3]) - first)
        if min(link) < 0:
            raise InputError(
                f'{where} has the link "{part}", but the links of this file count from {first}.'
                " Count all of them from 0 or all of them from 1."
            )
        possible.add(link)
        if found[2] == "-":
            sure.add(link)
    return frozenset(sure), frozenset(possible)


def read_boxes(where: str, line: str) -> tuple[tuple[str, Box], ...]:
    """Return words with boxes, from "dog 0.1 0.2 0.5 0.9; ball 0.6 0.7 0.8 0.9".

    The numbers are the left, top, right and bottom edge as shares of the picture.

    Raises:
        InputError: A part is not a box, or there are too many boxes.
    """
    found = []
    for part in _clean_marks(where, "boxes", line.split(";", MAX_MARKS + 1)):
        word, *numbers = part.split()
        try:
            left, top, right, bottom = map(float, numbers)
        except ValueError:
            left = top = right = bottom = 0.0
        if not (0 <= left < right <= 1 and 0 <= top < bottom <= 1):
            raise InputError(
                f'{where} has the box "{shorten(part.strip())}". A box is a word and four shares of'
                " the picture, 0 to 1: left, top, right, bottom."
            )
        found.append((word.lower(), (left, top, right, bottom)))
    return tuple(found)


def _clean_marks(where: str, what: str, parts: list[str]) -> list[str]:
    """Return the marks of an example without blank marks.

    Raises:
        InputError: There are more than `MAX_MARKS` marks.
    """
    marks = [part for part in parts if part.strip()]
    if len(marks) > MAX_MARKS:
        raise InputError(
            f"{where} has more than {MAX_MARKS} {what}, which is the limit. Remove some of them."
        )
    return marks
