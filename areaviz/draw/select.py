"""Selection of a focus from a trace: sites and their names, map, layer, heads and queries.

Read `select` and `FocusedMap` first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

import numpy as np

from areaviz.draw.labels import escape_controls, show_invisibles, truncate
from areaviz.trace.areas import Area, AreaGrid, FloatArray, format_area, format_span
from areaviz.trace.derived import (
    AS_AREAS,
    BEST,
    SUMS,
    WAYS,
    split_attributed_site,
    split_best_site,
    split_derived_site,
)
from areaviz.trace.kinds import find_kind_of_field, has_text_positions
from areaviz.trace.query import SAME_TEXT, find_words, is_one_text, top_areas
from areaviz.trace.record import AttentionMap, Field, Trace
from areaviz.trace.request import RATE, Focus

# Sites of a trace: their order on pages and their names for users.


CANVAS = "canvas"
"""The site of the picture that a network writes on, which is its input."""
_FIRST = ("encoder-decoder picture", "encoder-decoder")
# Sites with attention to one of several pictures, tiles or frames, or to the patches of one.
_NUMBERED = re.compile(r"(.+) (picture|patches) (\d+)")
TEXT_SITES = {
    "encoder-decoder": "Translation to source",
    "encoder-decoder picture": "Translation to picture",
    "encoder self": "Within the source",
    "decoder self": "Within the translation",
}
"""Names of sites if the trace has a source text, with or without a picture."""
PICTURE_SITES = {
    "encoder-decoder": "Words to picture",
    "encoder-decoder picture": "Words to picture",
    "encoder self": "Within the picture",
    "decoder self": "Within the sentence",
    "glimpses": "Glimpses",
    "context": "Coarse look",
    "without context": "Glimpses without it",
    "transformer": "Sampling grid",
    "class token": "Class token to picture",
    "pooling": "Pooling latents to picture",
    "attention": "Weights",
    "hops": "Question to facts",
    "pointer": "Answer to points",
}
"""Names of sites if the trace has no source text."""
ONE_TEXT = {"decoder self": "Within the text"}
"""Names of sites if input and output are parts of one text, as in a language model."""
# Names of sites if both texts were given and none was written.
_READ_SITES = {"encoder-decoder": "Target to source", "decoder self": "Within the target"}
# Nouns for a layer of sites where "layer" is not used.
_LAYERS = {"hops": "hop"}
# Suffixes of derived maps, which differ from the model's own attention.
_DERIVED = {AS_AREAS: ", as areas", SUMS: ", area sums"}


def list_sites(trace: Trace) -> list[str]:
    """Return the sites of a trace: from output to input first, then other maps, then gazes.

    Derived and attribution maps follow the site that they belong to.
    """
    bases = list(dict.fromkeys(map(_get_base_site, trace.maps)))
    order = [site for site in bases if site.startswith(f"{_FIRST[0]} ")]
    order += [site for site in _FIRST if site in bases]
    order += [site for site in bases if site not in order]
    found = [site for base in order for site in trace.maps if _get_base_site(site) == base]
    # Leave out the canvas, which is the input of a network and not attention.
    return found + [site for site in trace.gazes if site != CANVAS]


def list_model_sites(trace: Trace) -> list[str]:
    """Return the sites of a trace without best alignments, which are selections of other maps."""
    return [site for site in list_sites(trace) if not site.endswith(BEST)]


def get_layer_noun(site: str) -> str:
    """Return the noun for a layer of a site, in lower case."""
    return _LAYERS.get(_get_base_site(site), "layer")


def name_site(trace: Trace, site: str) -> str:
    """Return the name of a site, with a suffix if the map was derived or is an attribution."""
    site, attributed = split_attributed_site(site)
    site, derived = split_derived_site(site)
    site, best = split_best_site(site)
    names = TEXT_SITES if "source" in trace.fields else PICTURE_SITES
    if "source" in trace.fields and "history" not in trace.fields:
        names = names | _READ_SITES
    if is_one_text(trace):
        names = names | ONE_TEXT
    for field in trace.fields.values():
        names = {**names, **find_kind_of_field(field).sites}
    aligned = ", best alignment" if best else ""
    by = f", by {WAYS[attributed]}" if attributed else ""
    return _name_base_site(trace, site, names) + _DERIVED.get(derived, "") + by + aligned


def _name_base_site(trace: Trace, site: str, names: Mapping[str, str]) -> str:
    """Return the name of a site, with the number of its picture if there are several."""
    if site == "encoder-decoder" and "pictures" in trace.fields:
        return "Words to all pictures"
    numbered = _NUMBERED.fullmatch(site)
    if numbered is None:
        return names.get(site, site)
    base, part, number = numbered.groups()
    if part == "patches":
        return f"{PICTURE_SITES.get(base, base)} {number}, patches"
    return f"{PICTURE_SITES.get(base, base)} {number}"


def _get_base_site(site: str) -> str:
    """Return the site that a map belongs to, without its derivation or attribution."""
    return split_best_site(split_derived_site(split_attributed_site(site)[0])[0])[0]


# Selection of a focus from a trace: map, fields, layer, heads and queries, and their names.


Runs = Sequence[tuple[int, int]]
"""Runs of items that are drawn as one, each as (start, end). The end is exclusive."""
_NAMES = {
    "source": "source",
    "target": "output",
    "history": "output so far",
    "pictures": "row of pictures",
}


@dataclass(frozen=True, slots=True, eq=False)
class Words(Field):
    """A text whose items are whole words, see `areaviz.draw.view`."""


def get_noun(field: Field) -> str:
    """Return the noun for the items of a field: "word" or "item"."""
    return "word" if isinstance(field, Words) else "item"


@dataclass(frozen=True, slots=True, eq=False)
class FocusedMap:
    """The attention that a focus selects."""

    attention: AttentionMap
    query: Field
    memory: Field
    layer: int
    # The focused head, or None for all heads together.
    head: int | None
    # The focused queries, or all queries if none is focused or the focus is on memory items.
    queries: tuple[int, ...]
    # Whether queries are focused.
    focused: bool

    @property
    def heads(self) -> range:
        """The heads to draw, 0-based: the focused head alone, or all heads."""
        return list_heads(self.attention, self.head)

    @property
    def subject(self) -> str:
        """Description of the queries whose attention is drawn, not HTML-escaped."""
        name = name_field(self.query)
        if not self.focused:
            return f"Mean over all {len(self.query)} {name} {get_noun(self.query)}s"
        quoted = quote_items(self.query, self.queries)
        return (
            f"{name.capitalize()} {describe_positions(self.queries, get_noun(self.query))} {quoted}"
        )

    @property
    def head_words(self) -> str:
        """Description of the drawn heads."""
        heads = self.attention.heads
        if heads == 1:
            return "the only head"
        return f"mean of {heads} heads" if self.head is None else f"head {self.head + 1}"

    def weights(self, queries: slice | list[int]) -> FloatArray:
        """Return area weights averaged over the given queries and the drawn heads: float32 [A]."""
        weights_HQA = self.attention.weights[self.layer, self.heads.start : self.heads.stop]
        mean_A: FloatArray = weights_HQA[:, queries].mean((0, 1))
        return mean_A


def fits_map(trace: Trace, focus: Focus) -> bool:
    """Return whether the trace has the map, layer, head and items of the focus."""
    attention = trace.maps.get(focus.site)
    if attention is None or not attention.weights.size:
        return False
    field = trace.fields[attention.query if focus.side == "query" else attention.memory]
    return (
        0 <= focus.layer < attention.layers
        and (focus.head is None or 0 <= focus.head < attention.heads)
        and has_items(focus, len(field))
    )


def has_items(focus: Focus, count: int) -> bool:
    """Return whether all focused items are below `count`."""
    return all(0 <= item < count for item in focus.items)


def fits_text(trace: Trace, focus: Focus) -> bool:
    """Return whether `fits_map` is true and both query and memory are texts."""
    if not fits_map(trace, focus):
        return False
    attention = trace.maps[focus.site]
    return trace.fields[attention.query].is_text and trace.fields[attention.memory].is_text


def fits_spans(trace: Trace, focus: Focus) -> bool:
    """Return whether `fits_map` is true, and query and memory are parts of texts in one row."""
    if not fits_map(trace, focus):
        return False
    attention = trace.maps[focus.site]
    is_row = attention.grid.height == 1
    return is_row and all(
        has_text_positions(trace.fields[n]) for n in (attention.query, attention.memory)
    )


def select(trace: Trace, focus: Focus) -> FocusedMap:
    """Return the part of `trace` that `focus` selects."""
    attention = trace.maps[focus.site]
    query, memory = get_sides(trace, focus.site)
    focused = bool(focus.items) and focus.side == "query"
    queries = sorted(set(focus.items)) if focused else range(len(query))
    return FocusedMap(attention, query, memory, focus.layer, focus.head, tuple(queries), focused)


def list_heads(attention: AttentionMap, head: int | None) -> range:
    """Return the focused head alone, or all heads, 0-based."""
    return range(attention.heads) if head is None else range(head, head + 1)


def get_sides(trace: Trace, site: str) -> tuple[Field, Field]:
    """Return the query field and the memory field of a site, with the names that users see."""
    attention = trace.maps[site]
    return get_display_field(trace, attention.query), get_display_field(trace, attention.memory)


def get_display_field(trace: Trace, name: str) -> Field:
    """Return a field with the name that users see.

    A language model has one text, which is called "text". The text before each item is called "text
    so far".
    """
    field = trace.fields[name]
    # Decoders of external models attend from the text itself, also to a picture.
    is_whole = any(attention.query == "history" for attention in trace.maps.values())
    if name not in SAME_TEXT or not (is_whole or is_one_text(trace)):
        return field
    is_before = name == "history" and not is_whole
    return replace(field, name="text so far" if is_before else "text")


def name_field(field: Field) -> str:
    """Return the name of a field for users."""
    return _NAMES.get(field.name, field.name)


def list_visible_labels(field: Field) -> tuple[str, ...]:
    """Return the labels of a field's items with invisible characters made visible."""
    return tuple(map(show_invisibles, field.labels))


def group_items(field: Field, unit: str) -> Runs:
    """Return the runs of single items, or the runs of words if the unit is "word"."""
    if unit == "word" and field.is_text:
        return find_words(field)
    return [(item, item + 1) for item in range(len(field))]


def group_words(field: Field, unit: str) -> Runs:
    """Return the runs of `group_items` with spaces joined to the next word, so no row is blank."""
    found: list[tuple[int, int]] = []
    blank_from = None
    for start, end in group_items(field, unit):
        is_blank = unit == "word" and "".join(field.labels[start:end]).isspace()
        # A space before a symbol, such as the end symbol, stays on its own.
        if is_blank and end < len(field) and field.anchors[end, 0] < field.anchors[end, 1]:
            blank_from = start
            continue
        found.append((start if blank_from is None else blank_from, end))
        blank_from = None
    return found


def group_labels(field: Field, runs: Runs) -> tuple[str, ...]:
    """Return the visible labels of runs of items, without spaces around a word."""
    labels = []
    for start, end in runs:
        text = "".join(field.labels[start:end])
        if end - start > 1:
            text = text.strip() or text
        labels.append(show_invisibles(text))
    return tuple(labels)


def list_spoken_words(field: Field) -> list[tuple[int, int]]:
    """Return the words of a text as runs of items, without runs that represent no text."""
    return [run for run in group_words(field, "word") if get_word_text(field, run)]


def get_word_text(field: Field, run: tuple[int, int]) -> str:
    """Return the text of a word without the spaces around it."""
    start, end = run
    return field.raw[field.anchors[start, 0] : field.anchors[end - 1, 1]].strip()


def match_words(one: Field, other: Field) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return the words that occur in two texts in the same order, as pairs of runs of items."""
    first, second = list_spoken_words(one), list_spoken_words(other)
    texts = (
        [get_word_text(one, run) for run in first],
        [get_word_text(other, run) for run in second],
    )
    found: list[tuple[tuple[int, int], tuple[int, int]]] = []
    for begin, place, size in SequenceMatcher(None, *texts, autojunk=False).get_matching_blocks():
        found += zip(first[begin : begin + size], second[place : place + size], strict=True)
    return found


def match_characters(one: Field, other: Field) -> list[tuple[int, int, int]]:
    """Return the characters of the words that occur in two texts in the same order.

    Returns:
        For each word, its start and end in `one`, and its start in `other`.
    """
    found = []
    for run, place in match_words(one, other):
        starts = []
        for field, (start, end) in ((one, run), (other, place)):
            text = field.raw[field.anchors[start, 0] : field.anchors[end - 1, 1]]
            blanks = len(text) - len(text.lstrip())
            starts.append(int(field.anchors[start, 0]) + blanks)
        length = len(get_word_text(one, run))
        found.append((starts[0], starts[0] + length, starts[1]))
    return found


def find_counterparts(one: Field, other: Field, items: Sequence[int]) -> tuple[int, ...]:
    """Return the items of `other` that match the given items of `one`.

    Items match if they contain the same characters of words that both texts share.
    """
    found: set[int] = set()
    starts, ends = other.anchors.T
    for begin, end, place in match_characters(one, other):
        for item in items:
            first, last = one.anchors[item].tolist()
            first, last = max(first, begin) + place - begin, min(last, end) + place - begin
            if first < last:
                found.update(np.flatnonzero((starts < last) & (ends > first)).tolist())
    return tuple(sorted(found))


def quote_items(field: Field, items: Sequence[int], length: int = 40) -> str:
    """Return items of a text in quotation marks, cut to `length` characters.

    A gap between two items becomes a space.
    """
    text, last = "", None
    for item in items:
        start, end = field.anchors[item].tolist()
        if last is not None and last < start:
            text += " "
        text += show_invisibles(field.labels[item])
        last = end
    return f"“{truncate(text, length)}”"


def describe_area(memory: Field, grid: AreaGrid, area: Area) -> str:
    """Return an area as a quotation, as labels, or as rows and columns of a picture's cells."""
    words = describe_items(memory, grid.items_of(area))
    if memory.is_text:
        return f"{words} ({format_span(area)})"
    return words or format_area(area)


def describe_items(field: Field, items: Sequence[int]) -> str:
    """Return items as a quotation, as seconds or as labels, or "" for cells of a picture."""
    if field.is_text:
        return quote_items(field, items)
    if field.kind == "sound":
        return describe_moments(field, items)
    named = find_kind_of_field(field).named
    return ", ".join(named.format(escape_controls(field.labels[item])) for item in items if named)


def describe_moments(field: Field, items: Sequence[int]) -> str:
    """Return the seconds that items of a sound cover, such as "0.48 to 1.00 s"."""
    seconds_M2 = field.anchors / RATE
    runs = [
        (seconds_M2[start, 0], seconds_M2[end - 1, 1]) for start, end in group_neighbours(items)
    ]
    return ", ".join(f"{start:.2f} to {end:.2f} s" for start, end in runs)


def find_top_span(
    attention: AttentionMap, layer: int, head: int | None, query: int
) -> tuple[tuple[int, int], float]:
    """Return a query's top area as (start, end) with its weight, or zeros without an area."""
    found = top_areas(attention, layer, head, query, k=1)
    if not found:
        return (0, 0), 0.0
    area = found[0].area
    return (area.left, area.left + area.width), found[0].weight


def find_touched_runs(span: tuple[int, int], runs: Runs) -> tuple[int, int]:
    """Return the first and the end index (exclusive) of the runs that a span touches, or (0, 0)."""
    left, right = span
    touched = [n for n, (start, end) in enumerate(runs) if start < right and left < end]
    return (touched[0], touched[-1] + 1) if touched else (0, 0)


def group_neighbours(items: Sequence[int]) -> list[tuple[int, int]]:
    """Group consecutive items into runs (start, end). The end is exclusive."""
    runs: list[tuple[int, int]] = []
    for item in items:
        if runs and runs[-1][1] == item:
            runs[-1] = (runs[-1][0], item + 1)
        else:
            runs.append((item, item + 1))
    return runs


def describe_positions(items: Sequence[int], noun: str = "item") -> str:
    """Return the positions of items, counted from 1, such as "item 3" or "items 3-5, 9"."""
    runs = [
        str(end) if end - start == 1 else f"{start + 1}-{end}"
        for start, end in group_neighbours(items)
    ]
    text = ", ".join(runs[:4]) + (" and more" if len(runs) > 4 else "")
    return f"{noun if len(items) == 1 else noun + 's'} {text}"
