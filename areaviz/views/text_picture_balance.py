"""Balance view: the shares of each word's context that come from the text and from the picture.

Shapes: H heads, Q queries, R runs of queries, M marks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from areaviz.draw.labels import Ticks
from areaviz.draw.marks import Axis, Bars, Key, Mark, Panel, Plot, Points, Rule, Stroke, Texts
from areaviz.draw.pictures import CASING
from areaviz.draw.select import group_labels, group_words, name_field, select
from areaviz.draw.theme import ACCENT, EDGE, SECOND, Drawing
from areaviz.draw.view import Table, view_of_marks
from areaviz.drawing.film import name_unit
from areaviz.drawing.two_memories import (
    TEXT,
    compute_text_shares,
    describe_both_sites,
    fits_strengths,
    move_focus,
)
from areaviz.trace.areas import FloatArray
from areaviz.trace.query import merge_items
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus

MEASURE_NOTE = "length of each context vector, before they are added (Eq. 5), share of their sum"
# Distance from one word to the next in px, and the share of it that a bar fills.
_PITCH, _BROAD = 26.0, 0.62
# Maximum number of words with a mark for every head and with written percentages.
_MARKED = 40
_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Balance(Drawing):
    """The text's share of every word's context, or NaN if both contexts have length zero.

    The picture's share is 1 minus the text's share.
    """

    # First item of each word, 0-based.
    positions: tuple[int, ...]
    labels: tuple[str, ...]
    # Share per head and word: float32 [H, R].
    heads: FloatArray
    # Share per word of the focused head, or the mean over heads: float32 [R].
    drawn: FloatArray
    # The heads that get marks.
    marked: range
    # Whether each word is focused. All are True if no word is focused.
    chosen: tuple[bool, ...]

    @property
    def height(self) -> float:
        """Height of all bars together, in px."""
        return float(np.clip(_PITCH * len(self.labels), 2 * _PITCH, 900.0))

    @property
    def opacity(self) -> list[float]:
        """Opacity of each word's bars: focused words are opaque."""
        return [1.0 if chosen else 0.4 for chosen in self.chosen]

    def bars(self) -> tuple[tuple[str, str, FloatArray, FloatArray], ...]:
        """Return the name, colour, starts and lengths of the text bars and of the picture bars."""
        text, rest = np.nan_to_num(self.drawn), np.nan_to_num(1 - self.drawn)
        return (
            ("text", ACCENT, 0 * text, text),
            ("picture", SECOND, text, rest),
        )

    def marks(self) -> tuple[FloatArray, FloatArray, list[int]]:
        """Return the share, row position and head of every mark.

        Within a bar, the first head is at the top.
        """
        heads = len(self.marked)
        head_M, row_M = (axis.ravel() for axis in np.indices((heads, len(self.labels))))
        down_M = row_M + _BROAD * ((head_M + 0.5) / max(heads, 1) - 0.5)
        return self.heads[self.marked].ravel(), down_M.astype(np.float32), head_M.tolist()

    def numbers(self) -> list[str]:
        """Return both shares of every word as text.

        Returns:
            Percentages such as "60% · 40%", "–" where the share is unknown, or empty strings if
            there are too many words to label.
        """
        if len(self.labels) > _MARKED:
            return [""] * len(self.labels)
        texts = [f"{share:.0%} · {1 - share:.0%}" for share in self.drawn.tolist()]
        missing = np.isnan(self.drawn)
        return ["–" if absent else text for text, absent in zip(texts, missing, strict=True)]


def compute_balance(trace: Trace, focus: Focus) -> Balance:
    """Compute the text's share for every produced item.

    With `focus.unit` "word", the share of a word is the mean over its items.
    """
    chosen = select(trace, move_focus(focus, TEXT))
    runs, heads = group_words(chosen.query, focus.unit), chosen.heads
    heads_HR = merge_items(compute_text_shares(trace, chosen.layer).T, runs).T
    unit = f"{name_field(chosen.query)} {name_unit(chosen.query, focus.unit)}"
    several = len(heads) > 1
    who = f"mean of the shares of {len(heads)} heads" if several else chosen.head_words
    marked = heads if several and len(runs) <= _MARKED else range(0)
    queries = set(chosen.queries)
    return Balance(
        title=f"Where the context of each {unit} comes from, {who}",
        note=f"{MEASURE_NOTE}; dots: single heads, the first on top" if marked else MEASURE_NOTE,
        caption=describe_both_sites(trace, focus),
        positions=tuple(start for start, _ in runs),
        labels=group_labels(chosen.query, runs),
        heads=heads_HR,
        drawn=average_over_heads(heads_HR) if chosen.head is None else heads_HR[chosen.head],
        marked=marked,
        chosen=tuple(not queries.isdisjoint(range(*run)) for run in runs),
    )


def average_over_heads(shares_HR: FloatArray) -> FloatArray:
    """Return the mean over the heads that have a share: float32 [R], or NaN without such heads."""
    known_HR = ~np.isnan(shares_HR)
    count_R = known_HR.sum(0)
    total_R = np.where(known_HR, shares_HR, 0).sum(0, dtype=np.float32)
    mean_R: FloatArray = np.full_like(total_R, np.nan)
    np.divide(total_R, count_R, out=mean_R, where=count_R > 0)
    return mean_R


def plot(drawn: Balance) -> Plot:
    """Draw one bar per word, with the text's share on the left and the picture's on the right."""
    count = len(drawn.labels)
    rows = list(range(count))
    marks: list[Mark] = []
    for side, colour, base, length in drawn.bars():
        hovers = []
        for label, share in zip(drawn.labels, length.tolist(), strict=True):
            hovers.append(f"{label}\n{share:.1%} from the {side}")
        bars = Bars(
            rows,
            length,
            colour,
            _BROAD,
            base,
            opacity=drawn.opacity,
            is_upright=False,
            hovers=hovers,
            name=f"from the {side}",
        )
        marks.append(bars)
    marks.append(_make_dots(drawn))
    marks.append(Texts([1.005] * count, rows, drawn.numbers(), side="middle right"))
    marks.append(Rule(0.5, Stroke(EDGE, (1, 0.6), "dot")))
    shares = Ticks(_SHARES, tuple(f"{share:.0%}" for share in _SHARES))
    panel = Panel(
        marks=marks,
        across=Axis(ends=(0, 1.14), print_ends=(0, 1.09), ticks=shares),
        down=Axis(ends=(count - 0.5, -0.5), labels=drawn.labels),
    )
    return Plot(
        drawing=drawn,
        panels=[panel],
        height=(drawn.height, drawn.height / 96),
        above=30,
        below=30,
        key=Key("above"),
    )


def _make_dots(drawn: Balance) -> Points:
    """Draw one dot per head, with a dark edge that makes it visible on both colours."""
    share_M, down_M, heads = drawn.marks()
    texts = []
    for head, share in zip(heads, share_M.tolist(), strict=True):
        texts.append(f"head {head + 1}: {share:.1%} from the text")
    edge = Stroke(CASING, (1, 0.6))
    return Points(
        share_M,
        down_M,
        (5, 2.65),
        "#FFFFFF",
        edge,
        hovers=texts,
    )


def tabulate(drawn: Balance) -> Table:
    """Return a table with a row per word: both drawn shares, and the text's share in every head.

    Unknown shares are NaN.
    """
    heads = [f"text, head {head + 1}" for head in range(len(drawn.heads))]
    rows = []
    for row, share in enumerate(drawn.drawn.tolist()):
        # Compute the picture's share in the float32 precision of the text's share.
        rest = float(1 - drawn.drawn[row])
        own = drawn.heads[:, row].tolist()
        rows.append((drawn.positions[row] + 1, drawn.labels[row], share, rest, *own))
    return Table(("position", "item", "text", "picture", *heads), rows)


VIEW = view_of_marks(
    "balance",
    "Text or picture",
    "Does a word's context come from the text or from the picture?",
    fits_strengths,
    compute_balance,
    plot,
    tabulate,
    how_to_read=(
        "One bar per word: how much of its context came from the sentence and how much from"
        " the picture. A long picture part marks a word that the model took from the picture."
    ),
)
