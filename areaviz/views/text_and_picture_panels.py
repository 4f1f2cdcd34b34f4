"""Layout of the view "Text and picture": one panel per word.

From left to right, a panel shows the picture dimmed by the word's attention, the word on a line
from the picture, and lines from the word to the source words. Shapes: R runs of target items, S
runs of source items.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from areaviz.draw.labels import pluralise, truncate
from areaviz.draw.select import group_items, group_labels, group_words, name_field, select
from areaviz.draw.theme import STEPS, Drawing, ease_in_out
from areaviz.drawing.film import Film, Frame, find_film, name_unit
from areaviz.drawing.two_memories import PICTURE, TEXT, describe_both_sites, move_focus
from areaviz.trace import query
from areaviz.trace.areas import FloatArray
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus

MAX_PANELS, MAX_SOURCE_WORDS = 6, 12
"""Maximum number of words, and maximum number of source words per word."""
DIM_BRIGHTNESS = 0.4
"""Brightness without attention.

It is higher than in the film strip, because the undimmed picture is not shown next to it.
"""

SEEN, LEAVES, READ = 0.32, 0.55, 0.7
"""Positions as shares of the width: right edge of the picture, start of the lines, left edge of
the source words."""
WORD = (SEEN + LEAVES) / 2
WIDEST = 14.0
"""Width in px of a line that carries all of the attention."""
# Distance between source words in px.
_LINE = 14.0
MAX_WORD_CHARACTERS = 14
"""Maximum number of characters of a word. More would not fit on half a page."""


@dataclass(frozen=True, slots=True)
class SourceLink:
    """A source word that a word attends to, or the weaker source words as one link."""

    # First item, 0-based.
    first: int
    label: str
    # Share of the attention to the source, summed over the merged words.
    share: float
    # Whether the word is bold, with its share next to it.
    strong: bool
    # Whether this is the merged rest: the weaker words of a long sentence.
    rest: bool = False

    @property
    def text(self) -> str:
        """The label, shortened if needed, with the share of a bold word or of the merged rest."""
        label = truncate(self.label, 15)
        return f"{label} {self.share:.0%}" if self.strong or self.rest else label


@dataclass(frozen=True, slots=True, eq=False)
class WordPanel:
    """One target word and the position of its panel. All lengths are in px."""

    frame: Frame
    # Source words in the order of the source, the merged rest last.
    ties: Sequence[SourceLink]
    # Share of every source word: float32 [S].
    shares: FloatArray
    top: float
    # Height of the picture and of the source words.
    height: float

    @property
    def middle(self) -> float:
        """Vertical centre of the picture and of the word."""
        return self.top + self.height / 2

    def places(self) -> Iterator[tuple[SourceLink, float]]:
        """Yield every source word with its vertical position."""
        y = self.middle - (len(self.ties) - 1) * _LINE / 2
        for number, tie in enumerate(self.ties):
            yield tie, y + number * _LINE


@dataclass(frozen=True, slots=True, eq=False)
class WordPanels(Drawing):
    """All panels of the figure."""

    film: Film
    panels: Sequence[WordPanel]
    # First item and label of every source word.
    sources: Sequence[tuple[int, str]]

    @property
    def height(self) -> float:
        """Lower edge of the last panel."""
        return self.panels[-1].top + self.panels[-1].height


def lay_out_panels(trace: Trace, focus: Focus) -> WordPanels:
    """Lay out panels for the focused words, or for the first words that are long enough.

    With `focus.unit` "word", items are merged into words.
    """
    chosen, drawn = (
        select(trace, move_focus(focus, TEXT)),
        find_film(trace, move_focus(focus, PICTURE)),
    )
    marked = [frame for frame in drawn.frames if frame.marked]
    frames = choose_frames(marked or drawn.frames, chosen.focused)
    targets = group_items(chosen.query, focus.unit)
    sources = group_words(chosen.memory, focus.unit)
    shares_QN = query.item_shares(chosen.attention, chosen.layer, chosen.head)
    shares_RS = query.merge_items(shares_QN, targets, sources)
    row_of = {start: row for row, (start, _) in enumerate(targets)}
    labels = group_labels(chosen.memory, sources)
    named = list(zip([start for start, _ in sources], labels, strict=True))
    # With few panels, each picture can be larger.
    height = {
        1: 220.0,
        2: 170.0,
        3: 140.0,
    }.get(len(frames), 112.0)
    height = max(height, _LINE * min(len(named), MAX_SOURCE_WORDS))
    found = []
    for number, frame in enumerate(frames):
        shares_S = shares_RS[row_of[frame.first]]
        top = number * (height + 16.0)
        found.append(
            WordPanel(
                frame,
                make_source_links(shares_S, named),
                shares_S,
                top,
                height,
            )
        )
    unit = name_unit(chosen.query, focus.unit)
    note = "brightness: attention to the picture; lines: to the source, full width at 100%"
    missing = len(marked or drawn.frames) - len(frames)
    if missing:
        note += f"; {pluralise(missing, unit)} left out"
        note += "" if chosen.focused else ", short ones first"
    name = f"{name_field(chosen.query)} {unit}"
    return WordPanels(
        title=f"What each {name} looks at in the text and in the picture, {chosen.head_words}",
        note=note,
        caption=(
            f"{describe_both_sites(trace, focus)} · brightness: {DIM_BRIGHTNESS:.0%} without"
            f" attention, full in each {unit}'s own largest cell"
        ),
        film=drawn,
        panels=found,
        sources=named,
    )


def choose_frames(frames: Sequence[Frame], focused: bool) -> Sequence[Frame]:
    """Choose at most `MAX_PANELS` words to draw.

    They are the first focused words. Without focused words, words with letters are preferred, and
    among them words of at least four characters.
    """
    if focused:
        return frames[:MAX_PANELS]
    spoken = [frame for frame in frames if any(map(str.isalnum, frame.label))] or frames
    # Words of up to three letters are mostly articles and prepositions.
    first = sorted(spoken, key=lambda frame: len(frame.label) < 4)[:MAX_PANELS]
    return sorted(first, key=lambda frame: frame.first)


def make_source_links(shares_S: FloatArray, named: Sequence[tuple[int, str]]) -> list[SourceLink]:
    """Return one link per source word of a short sentence.

    For a longer sentence, return links to the strongest words and one link to all remaining words.
    """
    kept = len(named) if len(named) <= MAX_SOURCE_WORDS else MAX_SOURCE_WORDS - 1
    strongest = np.argsort(-shares_S, kind="stable")[:kept]
    top = float(shares_S.max(initial=0))
    found = []
    for number in sorted(strongest.tolist()):
        first, label = named[number]
        share = float(shares_S[number])
        # Write shares of at least 10 % next to the word, and the largest share in any case.
        found.append(SourceLink(first, label, share, share >= min(top, 0.1) > 0))
    if kept < len(named):
        left = 1 - sum(tie.share for tie in found) if top else 0.0
        others = f"{len(named) - kept} others"
        found.append(
            SourceLink(
                len(named),
                others,
                max(left, 0.0),
                strong=False,
                rest=True,
            )
        )
    return found


def compute_curve(start: float, end: float) -> tuple[FloatArray, FloatArray]:
    """Return the curve from a word at height `start` to a source word at height `end`.

    Returns:
        x as shares of the width, and y in px.
    """
    x = LEAVES + (0.69 - LEAVES) * STEPS
    return x.astype(np.float32), ease_in_out(start, end)
