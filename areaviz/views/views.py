"""The registries of all views of a trace (`VIEWS`) and of all components (`KINDS`).

To add a view, make it with `view(...)` and list it here.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from areaviz.draw import comparison, matrix, overview, probabilities, spans
from areaviz.draw.select import fits_spans
from areaviz.draw.view import Download, View, make_word_view
from areaviz.extensions import ExtensibleRegistry
from areaviz.texts.catalogue import message
from areaviz.trace.query import find_words
from areaviz.trace.record import Field, Trace
from areaviz.trace.request import Focus
from areaviz.views import lines, text_and_picture
from areaviz.views.facts import facts
from areaviz.views.film import film
from areaviz.views.grid.grid import GRID_TAKEAWAY, fits_grid, make_grid_payload
from areaviz.views.looks import glimpses, looks, transformer
from areaviz.views.message import SITE
from areaviz.views.points import points
from areaviz.views.ribbon import ribbon
from areaviz.views.sound import sound
from areaviz.views.sound.sound import make_hearing_payload
from areaviz.views.strip import strip
from areaviz.views.strip.strip import make_strip_payload
from areaviz.views.tree import tree
from areaviz.views.tree.tree import make_tree_payload

# Views: figures of a trace.
#
# To add a view, make it with `VIEW = view(...)` and list it here. `VIEWS` maps names to views, and
# other packages look up views there. `draw/charts.py` and the differences of `draw/comparison.py`
# are figures that are not views of one trace.


TEXTS = (
    make_word_view(spans.PYRAMID, spans=True),
    make_word_view(matrix.COVERAGE, spans=True),
    matrix.ALIGNMENT,
    make_word_view(lines.VIEW),
    make_word_view(overview.HEAD_OVERVIEW, spans=True),
    make_word_view(spans.SIZE_SHARES, spans=True),
    probabilities.PROBABILITIES,
)
"""Views of attention from text to text."""
_ALL = (
    facts.VIEW,
    points.VIEW,
    sound.VIEW,
    strip.VIEW,
    tree.VIEW,
    text_and_picture.TEXT_AND_PICTURE,
    text_and_picture.BALANCE,
    film.VIEW,
    film.PLAYBACK,
    glimpses.GLIMPSE_PATH,
    transformer.VIEW,
    glimpses.GLIMPSE_PATCHES,
    glimpses.COARSE_LOOK,
    glimpses.GLIMPSE_LABELS,
    *TEXTS,
    comparison.BESIDE_ATTRIBUTION,
)


def _problem(thing: object) -> str:
    return "" if isinstance(thing, View) else "is not a View"


VIEWS: Mapping[str, View] = ExtensibleRegistry(
    "views", {view.name: view for view in _ALL}, _problem
)
"""Every view by name, in the order of the pages: built-in views, then those of other packages."""
PAIRS: dict[str, Callable[[Trace], View]] = {"change": probabilities.make_probability_change_view}
"""Views that compare a run with an earlier run, as functions that take the earlier trace."""


# The components that draw attention in the browser, each with its data and its figure for print.
#
# A component is a script in `areaviz/views` and an entry of `KINDS`. The app and exported
# pages choose the component of a map here.


Message = Mapping[str, Any]
"""A header of plain values, and arrays. `message.serialise_message` serialises them."""
Fits = Callable[[Trace, Focus], bool]
Items = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Kind:
    """A component that draws attention.

    Args:
        heading: the heading above it in a page.
        fits: function that returns whether the component can show a site.
        message: function that returns the data of a site and layer. Its last argument is the
            maximum number of areas per query and head.
        first: function that returns the items of the query to show first.
        takeaway: its figure for print and its table, or None to use the first view that fits.
        how_to_read: an explanation of the drawing, or "" if the component explains itself.
        is_whole: whether it shows all layers together.
    """

    heading: str
    fits: Fits
    message: Callable[[Trace, Focus, int], Message]
    first: Callable[[Trace, Focus], Items]
    takeaway: Download | None
    how_to_read: str = ""
    is_whole: bool = False


def find_kind(trace: Trace, site: str) -> str:
    """Return the key of `KINDS` for the component that can show a site, or "" if none can."""
    focus = Focus(site)
    if site not in trace.maps and site not in trace.gazes:
        return ""
    return next((name for name, kind in KINDS.items() if kind.fits(trace, focus)), "")


def choose_attending_word(trace: Trace, focus: Focus) -> Items:
    """Return the items of the longest word that attends, or by default the first item."""
    attention = trace.maps[focus.site]
    field = trace.fields[attention.query]
    # Select something even if the output has no words.
    first = (0,) if field.is_text and len(field) else ()
    # Words before a picture in the input do not attend to it.
    weights_HQA = attention.weights[focus.layer]
    attending = set(np.flatnonzero(np.asarray(weights_HQA).any(axis=(0, 2))).tolist())
    return find_longest_word(field, attending) or find_longest_word(field) or first


def find_longest_word(field: Field, allowed: Container[int] | None = None) -> Items:
    """Return the items of a text's longest word without surrounding punctuation.

    Return the first of several equally long words, and () if the field is not text or has no words.

    Args:
        field: the text.
        allowed: indices of items. The word must contain at least one of them. None allows all.
    """
    longest: Items = ()
    length = 0
    for start, end in find_words(field) if field.is_text else ():
        texts = [field.raw[first:last] for first, last in field.anchors[start:end].tolist()]
        lettered = [item for item, text in enumerate(texts) if any(map(str.isalnum, text))]
        is_allowed = allowed is None or any(item in allowed for item in range(start, end))
        if lettered and is_allowed:
            trimmed = range(lettered[0], lettered[-1] + 1)
            size = sum(len(texts[item]) for item in trimmed)
            if size > length:
                longest = tuple(start + item for item in trimmed)
                length = size
    return longest


def _is_tree(trace: Trace, focus: Focus) -> bool:
    return focus.site == SITE and VIEWS["tree"].fits(trace, focus)


def _choose_nothing(trace: Trace, focus: Focus) -> Items:
    """Return no items, because the component chooses what it shows first."""
    return ()


KINDS: Mapping[str, Kind] = {
    "looks": Kind(
        message("Where it looked, look by look"),
        looks.fits_looks,
        lambda trace, focus, _: looks.make_looks_payload(trace, focus),
        lambda trace, focus: (len(trace.gazes[focus.site].seen) - 1,),
        None,
    ),
    "grid": Kind(
        message("Attention to the picture"),
        fits_grid,
        make_grid_payload,
        choose_attending_word,
        GRID_TAKEAWAY,
        GRID_TAKEAWAY.how_to_read,
    ),
    "strip": Kind(
        message("The clip, word by word"),
        VIEWS["watching"].fits,
        lambda trace, focus, _: make_strip_payload(trace, focus),
        _choose_nothing,
        VIEWS["watching"],
    ),
    "hearing": Kind(
        message("Attention to the sound"),
        VIEWS["listening"].fits,
        lambda trace, focus, _: make_hearing_payload(trace, focus),
        _choose_nothing,
        VIEWS["listening"],
    ),
    "tree": Kind(
        message("The tree, bracket by bracket"),
        _is_tree,
        lambda trace, focus, _: make_tree_payload(trace, focus),
        lambda trace, focus: (tree.choose_first_step(make_tree_payload(trace, focus)["header"]),),
        VIEWS["tree"],
    ),
    "points": Kind(
        message("The answer, step by step"),
        VIEWS["points"].fits,
        lambda trace, focus, _: points.make_points_payload(trace, focus),
        lambda trace, focus: (points.choose_first_step(trace),),
        VIEWS["points"],
    ),
    "hops": Kind(
        message("The facts, hop by hop"),
        VIEWS["facts"].fits,
        lambda trace, focus, _: facts.make_hops_payload(trace, focus),
        _choose_nothing,
        VIEWS["facts"],
        is_whole=True,
    ),
    "ribbon": Kind(
        message("Attention to the text"),
        fits_spans,
        ribbon.make_ribbon_payload,
        choose_attending_word,
        ribbon.RIBBON_TAKEAWAY,
        ribbon.RIBBON_TAKEAWAY.how_to_read,
    ),
}
"""The components by name, in their order on a page. Pictures and sounds come before texts.

If several components fit a site, the first of them shows it.
"""
