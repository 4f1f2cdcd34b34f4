"""Views: figures of a trace.

To add a view, write a module that ends in `VIEW = view(...)` and list it here. `VIEWS` maps names
to views, and other packages start from it. `charts`, `difference` and `look` draw figures that are
not a view of one trace at one focus.
"""

from collections.abc import Callable, Mapping

from areaviz.drawing.base import View
from areaviz.drawing.worded import over_words
from areaviz.extensions import ExtensibleRegistry
from areaviz.trace.record import Trace
from areaviz.views import (
    balance,
    beside,
    both,
    facts,
    film,
    glimpse_labels,
    glimpses,
    lines,
    listening,
    matrices,
    overview,
    points,
    probabilities,
    pyramid,
    retina,
    sizes,
    transformer,
    tree,
    watching,
)

TEXTS = (
    over_words(pyramid.VIEW, spans=True),
    over_words(matrices.COVERAGE, spans=True),
    matrices.ALIGNMENT,
    over_words(lines.VIEW),
    over_words(overview.VIEW, spans=True),
    over_words(sizes.VIEW, spans=True),
    probabilities.VIEW,
)
"""Views of attention from text to text."""
_ALL = (
    facts.VIEW,
    points.VIEW,
    listening.VIEW,
    watching.VIEW,
    tree.VIEW,
    both.VIEW,
    balance.VIEW,
    film.VIEW,
    film.PLAYBACK,
    glimpses.VIEW,
    transformer.VIEW,
    retina.VIEW,
    retina.COARSE_LOOK,
    glimpse_labels.VIEW,
    *TEXTS,
    beside.VIEW,
)


def _problem(thing: object) -> str:
    return "" if isinstance(thing, View) else "is no View"


VIEWS: Mapping[str, View] = ExtensibleRegistry(
    "views", {view.name: view for view in _ALL}, _problem
)
"""Every view by name, in the order of the pages: built-in views, then those of other packages."""
PAIRS: dict[str, Callable[[Trace], View]] = {"change": probabilities.probability_change_view}
"""Views that compare a run with an earlier one, as functions from the earlier trace to a view."""
