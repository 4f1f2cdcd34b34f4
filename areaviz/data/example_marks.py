"""What a row of a set marks in its example: links of words, boxes in a picture, facts of a story.

Each is one cell of a table, or a line of a file; refusals name the row.
"""

from __future__ import annotations

import re

from areaviz.data.examples import Links
from areaviz.data.grounding import Box
from areaviz.trace.errors import InputError
from areaviz.trace.limits import shown

MAX_MARKS = 500
"""Links of an example, boxes and facts; a sentence of 40 words seldom has more than 60 links."""
_LINK = re.compile(r"(\d{1,4})([-p])(\d{1,4})")


def read_facts(where: str, line: str) -> tuple[int, ...]:
    """Facts of a story, "3 6", counted from 1."""
    parts = _marks(where, "facts", line.split(maxsplit=MAX_MARKS))
    for part in parts:
        if not re.fullmatch(r"[1-9]\d{0,3}", part):
            raise InputError(
                f'{where} has the fact "{shown(part)}"; facts are named by their numbers, from 1,'
                " such as 3 6."
            )
    return tuple(int(part) - 1 for part in parts)


def read_links(where: str, line: str) -> tuple[Links, Links]:
    """Sure and possible links."""
    sure, possible = set(), set()
    for part in _marks(where, "links", line.split(maxsplit=MAX_MARKS)):
        found = _LINK.fullmatch(part)
        if not found:
            raise InputError(
                f'{where} has the link "{shown(part)}"; links are pairs such as 3-4 (sure) or 3p4'
                " (possible)."
            )
        link = (int(found[1]), int(found[3]))
        possible.add(link)
        if found[2] == "-":
            sure.add(link)
    return frozenset(sure), frozenset(possible)


def read_boxes(where: str, line: str) -> tuple[tuple[str, Box], ...]:
    """Words with boxes, "dog 0.1 0.2 0.5 0.9; ball 0.6 0.7 0.8 0.9": left, top, right, bottom."""
    found = []
    for part in _marks(where, "boxes", line.split(";", MAX_MARKS + 1)):
        word, *numbers = part.split()
        try:
            left, top, right, bottom = map(float, numbers)
        except ValueError:
            left = top = right = bottom = 0.0
        if not (0 <= left < right <= 1 and 0 <= top < bottom <= 1):
            raise InputError(
                f'{where} has the box "{shown(part.strip())}"; a box is a word and four shares of'
                " the picture, 0 to 1: left, top, right, bottom."
            )
        found.append((word.lower(), (left, top, right, bottom)))
    return tuple(found)


def _marks(where: str, what: str, parts: list[str]) -> list[str]:
    """The links or boxes of an example, without blank ones; InputError where there are too many."""
    marks = [part for part in parts if part.strip()]
    if len(marks) > MAX_MARKS:
        raise InputError(
            f"{where} has more than the {MAX_MARKS} {what} that are possible; remove some of them."
        )
    return marks
