"""Pictures of a trace. To add one: write a file that ends in `VIEW = View(...)` and list it here."""

from areaviz.views import (
    alignment,
    coverage,
    film,
    glimpse_labels,
    glimpses,
    lines,
    overview,
    probabilities,
    pyramid,
    retina,
    sizes,
    transformer,
)
from areaviz.views.base import View

PICTURES = (film, glimpses, transformer, retina, glimpse_labels)
TEXTS = (pyramid, coverage, alignment, lines, overview, sizes, probabilities)
VIEWS: dict[str, View] = {module.VIEW.name: module.VIEW for module in (*PICTURES, *TEXTS)}
"""Every view by its name, in the order the pages offer them."""
