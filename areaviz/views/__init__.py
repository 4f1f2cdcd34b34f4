"""Views: figures of a trace.

To add a view, write a module that ends in `VIEW = view(...)` and list it here. `VIEWS` maps names
to views, and other packages look up views there. `charts`, `difference` and `look` draw figures
that are not views of one trace.
"""

from collections.abc import Callable, Mapping

from areaviz.draw import comparison, matrix, overview, probabilities, spans
from areaviz.draw.view import View, make_word_view
from areaviz.extensions import ExtensibleRegistry
from areaviz.trace.record import Trace
from areaviz.views import (
    bipartite_lines,
    clip_film_strip,
    fact_hops,
    film,
    glimpse_labels,
    glimpse_patches,
    glimpses,
    points,
    sampling_grid,
    sound_alignment,
    text_and_picture,
    text_picture_balance,
    tree,
)

TEXTS = (
    make_word_view(spans.PYRAMID, spans=True),
    make_word_view(matrix.COVERAGE, spans=True),
    matrix.ALIGNMENT,
    make_word_view(bipartite_lines.VIEW),
    make_word_view(overview.HEAD_OVERVIEW, spans=True),
    make_word_view(spans.SIZE_SHARES, spans=True),
    probabilities.PROBABILITIES,
)
"""Views of attention from text to text."""
_ALL = (
    fact_hops.VIEW,
    points.VIEW,
    sound_alignment.VIEW,
    clip_film_strip.VIEW,
    tree.VIEW,
    text_and_picture.VIEW,
    text_picture_balance.VIEW,
    film.VIEW,
    film.PLAYBACK,
    glimpses.VIEW,
    sampling_grid.VIEW,
    glimpse_patches.VIEW,
    glimpse_patches.COARSE_LOOK,
    glimpse_labels.VIEW,
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
