"""Positions of items as text: runs as ranges, counted from 1, such as "3-7,12"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from areaviz.trace.errors import InputError
from areaviz.trace.limits import MAX_POSITION, shown

_ITEMS = re.compile(r"[0-9]{1,5}(-[0-9]{1,5})?(,[0-9]{1,5}(-[0-9]{1,5})?)*")


def packed(items: Sequence[int]) -> str:
    """Runs of following items as ranges, in the order given: (2, 3, 4, 11) is "3-5,12"."""
    runs = [
        [item for _, item in group]
        for _, group in groupby(enumerate(items), lambda pair: pair[1] - pair[0])
    ]
    return ",".join(
        f"{run[0] + 1}" if len(run) == 1 else f"{run[0] + 1}-{run[-1] + 1}" for run in runs
    )


def unpacked(text: str, name: str = "items") -> Iterator[int]:
    """The items of "3-5,12"; nothing larger than `MAX_POSITION` is ever unrolled.

    Raises:
        InputError: it is no list of positions, or there are too many.
    """
    if text and not _ITEMS.fullmatch(text):
        raise InputError(
            f'"{name}" is "{shown(text)}" but must be positions such as 3-7,12; mend or remove it.'
        )
    left = MAX_POSITION
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        start, stop = int(first), int(last or first)
        left -= stop - start + 1
        if not 1 <= start <= stop <= MAX_POSITION or left < 0:
            raise InputError(
                f'"{name}" has "{part}" but positions rise, from 1 to {MAX_POSITION:,}; mend or'
                " remove it."
            )
        yield from range(start - 1, stop)
