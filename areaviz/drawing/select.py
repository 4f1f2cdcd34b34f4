"""What a focus picks out of a trace: its map, fields, layer, heads and queries. Every view starts
here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from areaviz.drawing.labels import clip, visible
from areaviz.trace.query import words
from areaviz.trace.record import AttentionMap, Field, FloatArray, Trace
from areaviz.trace.request import Focus

NAMES = {"source": "source", "target": "output", "history": "output so far"}
"""What the fields of a translation are called in front of a reader."""


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """The focused part of a trace.

    heads: the focused head alone, or all. queries: the focused queries; all of them when none is
    focused or when the focus is on memory items. focused: whether queries are focused.
    """

    attention: AttentionMap
    query: Field
    memory: Field
    layer: int
    head: int | None
    queries: tuple[int, ...]
    focused: bool

    @property
    def heads(self) -> range:
        """The heads to draw, 0-based."""
        return range(self.attention.heads) if self.head is None else range(self.head, self.head + 1)

    @property
    def subject(self) -> str:
        """Whose attention is drawn, in words, markup unescaped."""
        if not self.focused:
            return f"Mean over all {len(self.query)} {name(self.query)} items"
        return (
            f"{name(self.query).capitalize()} {positions(self.queries)}"
            f" {quote(self.query, self.queries)}"
        )

    @property
    def head_words(self) -> str:
        """Which head is drawn, in words."""
        if self.head is None:
            return (
                "the only head"
                if self.attention.heads == 1
                else f"mean of {self.attention.heads} heads"
            )
        return f"head {self.head + 1}"

    def mean_weights(self) -> FloatArray:
        """Area weights averaged over the chosen heads and queries: float32 [A]."""
        weights_HQA = self.attention.weights[self.layer, self.heads.start : self.heads.stop]
        mean_A: FloatArray = weights_HQA[:, list(self.queries)].mean((0, 1))
        return mean_A


def fits(trace: Trace, focus: Focus) -> bool:
    """Whether the focus names a map, layer, head and items that this trace has."""
    attention = trace.maps.get(focus.site)
    if attention is None or not attention.weights.size:
        return False
    pointed_at = trace.fields[attention.query if focus.side == "query" else attention.memory]
    return (
        0 <= focus.layer < attention.layers
        and (focus.head is None or 0 <= focus.head < attention.heads)
        and all(0 <= item < len(pointed_at) for item in focus.items)
    )


def fits_text(trace: Trace, focus: Focus) -> bool:
    """The same, where both sides are text: for views that lay items out in a row."""
    if not fits(trace, focus):
        return False
    attention = trace.maps[focus.site]
    return trace.fields[attention.query].kind == trace.fields[attention.memory].kind == "text"


def select(trace: Trace, focus: Focus) -> Selection:
    """The part of `trace` that `focus` looks at."""
    attention = trace.maps[focus.site]
    query, memory = trace.fields[attention.query], trace.fields[attention.memory]
    focused = bool(focus.items) and focus.side == "query"
    queries = tuple(sorted(set(focus.items))) if focused else tuple(range(len(query)))
    return Selection(attention, query, memory, focus.layer, focus.head, queries, focused)


def name(field: Field) -> str:
    """What a field is called in front of a reader."""
    return NAMES.get(field.name, field.name)


def groups(field: Field, unit: str) -> list[tuple[int, int]]:
    """The items of a field one by one, or those of a text in runs of a word each, as
    (start, end).
    """
    by_word = unit == "word" and field.kind == "text"
    return words(field) if by_word else [(item, item + 1) for item in range(len(field))]


def shown(field: Field) -> tuple[str, ...]:
    """What the items of a field show, everything invisible made visible."""
    return tuple(map(visible, field.labels))


def quote(field: Field, items: Sequence[int], length: int = 40) -> str:
    """Items of a text as one quotation cut to `length` characters, with a blank where the text goes
    on between them.
    """
    starts, ends = field.anchors[list(items)].T.tolist()
    apart = [k > 0 and ends[k - 1] < start for k, start in enumerate(starts)]
    pieces = (
        " " * gap + visible(field.labels[item]) for gap, item in zip(apart, items, strict=True)
    )
    return f"“{clip(''.join(pieces), length)}”"


def positions(items: Sequence[int]) -> str:
    """Items counted from 1, runs joined: "item 3", "items 3-5, 9"."""
    starts = [i for k, i in enumerate(items) if k == 0 or items[k - 1] != i - 1]
    ends = [i for k, i in enumerate(items) if k == len(items) - 1 or items[k + 1] != i + 1]
    runs = [str(a + 1) if a == b else f"{a + 1}-{b + 1}" for a, b in zip(starts, ends, strict=True)]
    text = ", ".join(runs[:4]) + (" and more" if len(runs) > 4 else "")
    return f"{'item' if len(items) == 1 else 'items'} {text}"
