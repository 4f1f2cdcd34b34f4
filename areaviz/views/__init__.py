"""Pictures of a trace. To add one: write a file that ends in `VIEW = view(...)` and list it here.

`VIEWS` is the door: every view by its name. `charts`, `difference` and `look` draw what is no view
of one trace at a focus.
"""

from collections.abc import Callable, Mapping

from areaviz.drawing.base import View
from areaviz.drawing.worded import over_words
from areaviz.trace.extensions import Joined
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
"""Those that fit attention from text to text."""
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


VIEWS: Mapping[str, View] = Joined("views", {view.name: view for view in _ALL}, _problem)
"""Every view by its name, in the order the pages offer them: ours, then other packages'."""
PAIRS: dict[str, Callable[[Trace], View]] = {"change": probabilities.against}
"""Views of a run beside another one: given that other trace, a view."""
