"""Pictures of a trace. To add one: write a file that ends in `VIEW = View(...)` and list it here."""

from areaviz.views import (
    alignment,
    balance,
    both,
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
from areaviz.views.base import View

DOUBLY = (both, balance)
PICTURES = (film, playback, glimpses, transformer, retina, context, glimpse_labels)
TEXTS = (pyramid, coverage, alignment, lines, overview, sizes, probabilities)
VIEWS: dict[str, View] = {module.VIEW.name: module.VIEW for module in (*DOUBLY, *PICTURES, *TEXTS)}
"""Every view by its name, in the order the pages offer them."""
