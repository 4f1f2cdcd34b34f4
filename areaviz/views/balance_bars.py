"""What the balance is made of: of every word, the shares of its context that came from the text and
the picture.

Shapes: H heads, Q queries, R runs of queries, M marks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from areaviz.drawing import theme
from areaviz.drawing.film_frames import unit_name
from areaviz.drawing.select import name, select
from areaviz.drawing.two_memories import TEXT, doubly_caption, text_shares, turned
from areaviz.trace.query import merge_items
from areaviz.trace.record import FloatArray, Trace
from areaviz.trace.request import Focus
from areaviz.views.alignment import run_labels, runs

MEASURED = "length of each context vector, before they are added (Eq. 5), share of their sum"
_SIDES = (("text", theme.ACCENT), ("picture", theme.SECOND))
_PITCH, BROAD, _TALLEST = 26.0, 0.62, 900.0
"""px from one word to the next, which share of that its bar takes up, and how tall the bars get
together.
"""
_FAINT = 0.4
"""Opacity of the words that are not focused."""
_MARKED = 40
"""Up to this many words have a mark for every head and their numbers in words."""


@dataclass(frozen=True, slots=True, eq=False)
class Balance:
    """The text's share of every word, NaN where neither context has any length; the picture has the
    rest.

    heads: float32 [H, R]. drawn: float32 [R], of the focused head, or the mean of the heads'
    shares. marked: the heads that get marks. chosen: the focused words, all where none is.
    """

    positions: tuple[int, ...]
    labels: tuple[str, ...]
    heads: FloatArray
    drawn: FloatArray
    marked: range
    chosen: tuple[bool, ...]
    title: str
    note: str
    caption: str

    @property
    def height(self) -> float:
        """How many px the bars take up together."""
        return float(np.clip(_PITCH * len(self.labels), 2 * _PITCH, _TALLEST))

    @property
    def opacity(self) -> list[float]:
        """Focused words stand out."""
        return [1.0 if chosen else _FAINT for chosen in self.chosen]

    def bars(self) -> tuple[tuple[str, str, FloatArray, FloatArray], ...]:
        """Name, colour, beginnings and lengths of the bars of the text and of the picture."""
        text = np.nan_to_num(self.drawn)
        rest = np.nan_to_num(1 - self.drawn)
        return tuple(
            (*side, *bar)
            for side, bar in zip(_SIDES, ((0 * text, text), (text, rest)), strict=True)
        )

    def marks(self) -> tuple[FloatArray, FloatArray, list[int]]:
        """Share, row and head of every mark; within a bar the first head is on top."""
        head_M, row_M = (axis.ravel() for axis in np.indices((len(self.marked), len(self.labels))))
        down_M = row_M + BROAD * ((head_M + 0.5) / max(len(self.marked), 1) - 0.5)
        return self.heads[self.marked].ravel(), down_M.astype(np.float32), head_M.tolist()

    def numbers(self) -> list[str]:
        """Both shares of every word in per cent, a dash where there are none; nothing where bars
        are too many.
        """
        if len(self.labels) > _MARKED:
            return [""] * len(self.labels)
        return [
            "–" if np.isnan(text) else f"{text:.0%} · {1 - text:.0%}"
            for text in self.drawn.tolist()
        ]


def balance(trace: Trace, focus: Focus) -> Balance:
    """The shares of every produced item; with `focus.unit` "word" the mean over the items of a
    word.
    """
    chosen = select(trace, turned(focus, TEXT))
    parts = runs(chosen.query, focus.unit)
    heads_HR = merge_items(text_shares(trace, chosen.layer).T, parts).T
    drawn_R = mean(heads_HR) if chosen.head is None else heads_HR[chosen.head]
    marked = chosen.heads if len(chosen.heads) > 1 and len(parts) <= _MARKED else range(0)
    many, unit = len(chosen.heads), f"{name(chosen.query)} {unit_name(chosen.query, focus.unit)}"
    who = f"mean of the shares of {many} heads" if many > 1 else chosen.head_words
    note = MEASURED + ("; dots: single heads, the first on top" if marked else "")
    title = f"Where the context of each {unit} comes from, {who}"
    focused = tuple(any(start <= q < end for q in chosen.queries) for start, end in parts)
    positions = tuple(start for start, _ in parts)
    labels, whole = run_labels(chosen.query, parts), doubly_caption(trace, focus)
    return Balance(positions, labels, heads_HR, drawn_R, marked, focused, title, note, whole)


def mean(shares_HR: FloatArray) -> FloatArray:
    """The mean of the heads that have a share: float32 [R], NaN where none has."""
    known_HR = ~np.isnan(shares_HR)
    count_R = known_HR.sum(0)
    total_R = np.where(known_HR, shares_HR, 0).sum(0, dtype=np.float32)
    mean_R: FloatArray = np.divide(
        total_R, count_R, out=np.full_like(total_R, np.nan), where=count_R > 0
    )
    return mean_R
