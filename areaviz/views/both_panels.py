"""The panels of text and picture: for a few words, the film's frame and the shares of source words.

Across a panel stand the picture as the word sees it, the word on a line to it, and lines on to the
source's words. Shapes: R runs of target items, S runs of source items.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from areaviz.drawing.axes import STEPS, eased
from areaviz.drawing.film import Film, Frame, film, unit_name
from areaviz.drawing.labels import clip, counted
from areaviz.drawing.select import field_name, group_labels, groups, select, word_groups
from areaviz.drawing.theme import Drawing
from areaviz.drawing.two_memories import PICTURE, TEXT, both_caption, turned
from areaviz.trace import query
from areaviz.trace.record import FloatArray, Trace
from areaviz.trace.request import Focus

MOST, SOURCES = 6, 12
"""How many words, and how many of the source's words for each, are drawn at most."""
DIM = 0.4
"""Brightness without attention: more than the film strip's, which has the picture itself beside."""

SEEN, LEAVES, READ = 0.32, 0.55, 0.7
"""In shares of the width: the picture's end, where lines begin, and where source words begin."""
WORD = (SEEN + LEAVES) / 2
WIDEST = 14.0
"""px: a line that stands for all attention."""
# px: from one source word to the next.
_LINE = 14.0
CUT = 14
"""A word is cut to so many characters, for which there is room on half a page."""


@dataclass(frozen=True, slots=True)
class Tie:
    """Source words that a word attends to."""

    # The first item, 0-based.
    first: int
    label: str
    # Of all these words together.
    share: float
    # Whether the words stand out, with their share beside the label.
    strong: bool
    # Whether these are the weaker words of a long sentence.
    rest: bool = False

    @property
    def text(self) -> str:
        """The label, cut to its room, and the share where it is written."""
        label = clip(self.label, 15)
        return f"{label} {self.share:.0%}" if self.strong or self.rest else label


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """One target word and where its panel stands; all lengths are in px."""

    frame: Frame
    # In the order of the source, the rest last.
    ties: Sequence[Tie]
    # Of every source word: float32 [S].
    shares: FloatArray
    top: float
    # The room of its picture and of its source words.
    height: float

    @property
    def middle(self) -> float:
        """Where the picture's middle and the word stand."""
        return self.top + self.height / 2

    def places(self) -> Iterator[tuple[Tie, float]]:
        """Every source word and where it stands."""
        y = self.middle - (len(self.ties) - 1) * _LINE / 2
        for number, tie in enumerate(self.ties):
            yield tie, y + number * _LINE


@dataclass(frozen=True, slots=True, eq=False)
class Panels(Drawing):
    """All words that are drawn."""

    film: Film
    panels: Sequence[Panel]
    # The first item and the label of every source word.
    sources: Sequence[tuple[int, str]]

    @property
    def height(self) -> float:
        """Where the last panel ends."""
        return self.panels[-1].top + self.panels[-1].height


def panels(trace: Trace, focus: Focus) -> Panels:
    """The focused words, or the first words of some length.

    With `focus.unit` "word" items are joined to words.
    """
    chosen, drawn = select(trace, turned(focus, TEXT)), film(trace, turned(focus, PICTURE))
    marked = [frame for frame in drawn.frames if frame.marked]
    frames = chosen_frames(marked or drawn.frames, chosen.focused)
    targets = groups(chosen.query, focus.unit)
    sources = word_groups(chosen.memory, focus.unit)
    shares_QN = query.item_shares(chosen.attention, chosen.layer, chosen.head)
    shares_RS = query.merge_items(shares_QN, targets, sources)
    row_of = {start: row for row, (start, _) in enumerate(targets)}
    labels = group_labels(chosen.memory, sources)
    named = list(zip([start for start, _ in sources], labels, strict=True))
    # Few panels get larger pictures.
    height = {
        1: 220.0,
        2: 170.0,
        3: 140.0,
    }.get(len(frames), 112.0)
    height = max(height, _LINE * min(len(named), SOURCES))
    found = []
    for number, frame in enumerate(frames):
        shares_S = shares_RS[row_of[frame.first]]
        top = number * (height + 16.0)
        found.append(
            Panel(
                frame,
                ties(shares_S, named),
                shares_S,
                top,
                height,
            )
        )
    unit = unit_name(chosen.query, focus.unit)
    note = "brightness: attention to the picture; lines: to the source, full width at 100%"
    missing = len(marked or drawn.frames) - len(frames)
    if missing:
        note += f"; {counted(missing, unit)} left out"
        note += "" if chosen.focused else ", short ones first"
    name = f"{field_name(chosen.query)} {unit}"
    return Panels(
        title=f"What each {name} looks at in the text and in the picture, {chosen.head_words}",
        note=note,
        caption=(
            f"{both_caption(trace, focus)} · brightness: {DIM:.0%} without attention, full in each"
            f" {unit}'s own largest cell"
        ),
        film=drawn,
        panels=found,
        sources=named,
    )


def chosen_frames(frames: Sequence[Frame], focused: bool) -> Sequence[Frame]:
    """At most MOST: focused ones in order; else those with letters, long words first."""
    if focused:
        return frames[:MOST]
    spoken = [frame for frame in frames if any(map(str.isalnum, frame.label))] or frames
    # Words of three letters are mostly articles and prepositions.
    first = sorted(spoken, key=lambda frame: len(frame.label) < 4)[:MOST]
    return sorted(first, key=lambda frame: frame.first)


def ties(shares_S: FloatArray, named: Sequence[tuple[int, str]]) -> list[Tie]:
    """Every source word of a short sentence; of a longer one the strongest, and the rest as one."""
    kept = len(named) if len(named) <= SOURCES else SOURCES - 1
    strongest = np.argsort(-shares_S, kind="stable")[:kept]
    top = float(shares_S.max(initial=0))
    found = []
    for number in sorted(strongest.tolist()):
        first, label = named[number]
        share = float(shares_S[number])
        # A tenth is written beside its word, and the largest share always is.
        found.append(Tie(first, label, share, share >= min(top, 0.1) > 0))
    if kept < len(named):
        left = 1 - sum(tie.share for tie in found) if top else 0.0
        others = f"{len(named) - kept} others"
        found.append(
            Tie(
                len(named),
                others,
                max(left, 0.0),
                strong=False,
                rest=True,
            )
        )
    return found


def curve(start: float, end: float) -> tuple[FloatArray, FloatArray]:
    """A line from its word to a source word `end` px down: x in shares of the width, and y."""
    x = LEAVES + (0.69 - LEAVES) * STEPS
    return x.astype(np.float32), eased(start, end)
