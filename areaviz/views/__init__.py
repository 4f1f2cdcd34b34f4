"""Pictures of a trace. To add one: write a file that ends in `VIEW = View(...)` and
list it here.
"""

from collections.abc import Callable

from areaviz.drawing.base import View
from areaviz.trace.record import Trace
from areaviz.views import (
    alignment,
    balance,
    both,
    change,
    context,
    coverage,
    film,
    glimpse_labels,
    glimpses,
    lines,
    overview,
    playback,
    probabilities,
    pyramid,
    retina,
    sizes,
    transformer,
)

DOUBLY = (both, balance)
PICTURES = (film, playback, glimpses, transformer, retina, context, glimpse_labels)
TEXTS = (pyramid, coverage, alignment, lines, overview, sizes, probabilities)
VIEWS: dict[str, View] = {module.VIEW.name: module.VIEW for module in (*DOUBLY, *PICTURES, *TEXTS)}
"""Every view by its name, in the order the pages offer them."""
PAIRS: dict[str, Callable[[Trace], View]] = {"change": change.against}
"""Views of a run beside another one: given that other trace, a view."""
