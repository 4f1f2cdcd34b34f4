"""What the view of text and picture is made of: for a few words, the film's frame and the shares of
the source words.

Shapes: R runs of target items, S runs of source items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from areaviz.drawing.film_frames import Film, Frame, film, unit_name
from areaviz.drawing.labels import clip
from areaviz.drawing.select import groups, name, select
from areaviz.drawing.two_memories import PICTURE, TEXT, doubly_caption, turned
from areaviz.trace import query
from areaviz.trace.record import FloatArray, Trace
from areaviz.trace.request import Focus
from areaviz.views.alignment import run_labels, runs

MOST, SOURCES = 6, 12
"""How many words, and how many of the source's words for each, are drawn at most."""
LONG = 4
"""Words of fewer letters are mostly articles and prepositions, and stand back where there are too
many words.
"""
TOLD = 0.1
"""From this share on it is written beside its source word; the largest one always is."""

DIM = 0.4
"""Brightness without attention: more than the film strip's, as the picture itself does not stand
beside it.
"""
_NOTE = "brightness: attention to the picture; lines: to the source, full width at 100%"


@dataclass(frozen=True, slots=True)
class Tie:
    """Source words that a word attends to: the first item (0-based), how many there are, and their
    share together.

    told: whether it stands out, with its share beside the label. rest: these are the weaker words
    of a long sentence.
    """

    first: int
    label: str
    share: float
    told: bool
    rest: bool = False

    @property
    def text(self) -> str:
        """The label, cut to its room, and the share where it is told."""
        return clip(self.label, 15) + (f" {self.share:.0%}" if self.told or self.rest else "")


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """One target word. ties: in the order of the source, the rest last. shares: float32 [S], of
    every source word.
    """

    frame: Frame
    ties: tuple[Tie, ...]
    shares: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Panels:
    """All words that are drawn. sources: the first item and the label of every source word."""

    film: Film
    panels: tuple[Panel, ...]
    sources: tuple[tuple[int, str], ...]
    title: str
    note: str
    caption: str

    @property
    def rows(self) -> int:
        """How many lines of source words the fullest panel has."""
        return max((len(panel.ties) for panel in self.panels), default=0)


def panels(trace: Trace, focus: Focus) -> Panels:
    """The focused words, or the first words of some length; `focus.unit` "word" joins items to
    words.
    """
    chosen, drawn = select(trace, turned(focus, TEXT)), film(trace, turned(focus, PICTURE))
    frames = chosen_frames(drawn.frames, chosen.focused)
    targets, sources = groups(chosen.query, focus.unit), runs(chosen.memory, focus.unit)
    shares_QN = query.item_shares(chosen.attention, chosen.layer, chosen.head)
    shares_RS = query.merge_items(shares_QN, targets, sources)
    places = {start: run for run, (start, _) in enumerate(targets)}
    named = tuple(
        zip((start for start, _ in sources), run_labels(chosen.memory, sources), strict=True)
    )
    shown = (shares_RS[places[frame.first]] for frame in frames)
    parts = tuple(
        Panel(frame, ties(row_S, named), row_S) for frame, row_S in zip(frames, shown, strict=True)
    )
    unit, left = unit_name(chosen.query, focus.unit), len(drawn.frames) - len(frames)
    out = f"; {left} {unit}{'s' * (left > 1)} left out" + (
        "" if chosen.focused else ", short ones first"
    )
    title = (
        f"What each {name(chosen.query)} {unit} looks at in the text and in the picture,"
        f" {chosen.head_words}"
    )
    scale = (
        f"brightness: {DIM:.0%} without attention, full at {drawn.top:.1%} in a cell, the same for"
        f" every {unit}"
    )
    whole = f"{doubly_caption(trace, focus)} · {scale}"
    return Panels(drawn, parts, named, title, _NOTE + out * (left > 0), whole)


def chosen_frames(frames: Sequence[Frame], focused: bool) -> tuple[Frame, ...]:
    """At most MOST: focused ones in order; else those that say something, long words before short
    ones.
    """
    if focused:
        return tuple(frames[:MOST])
    spoken = [frame for frame in frames if any(map(str.isalnum, frame.label))] or list(frames)
    first = sorted(spoken, key=lambda frame: len(frame.label) < LONG)[:MOST]
    return tuple(sorted(first, key=lambda frame: frame.first))


def ties(shares_S: FloatArray, named: Sequence[tuple[int, str]]) -> tuple[Tie, ...]:
    """Every source word of a short sentence; of a longer one the SOURCES - 1 strongest, and the
    rest as one.
    """
    strongest = np.argsort(-shares_S, kind="stable")
    kept = sorted(
        strongest.tolist() if len(named) <= SOURCES else strongest[: SOURCES - 1].tolist()
    )
    top = float(shares_S.max(initial=0))
    found = [(named[s], float(shares_S[s])) for s in kept]
    listed = [
        Tie(first, label, share, share >= min(top, TOLD) > 0) for (first, label), share in found
    ]
    if len(kept) == len(named):
        return tuple(listed)
    left = 1 - sum(tie.share for tie in listed) if top else 0.0
    return (
        *listed,
        Tie(len(named), f"{len(named) - len(kept)} others", max(left, 0.0), told=False, rest=True),
    )
