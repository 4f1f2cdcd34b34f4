"""Pictures of a trace. To add one: write a file that ends in `VIEW = View(...)` and list it here."""

from areaviz.views import alignment, coverage, lines, overview, probabilities, pyramid, sizes
from areaviz.views.base import View

VIEWS: dict[str, View] = {
    module.VIEW.name: module.VIEW for module in (pyramid, coverage, alignment, lines, overview, sizes, probabilities)
}
"""Every view by its name, in the order the pages offer them."""
