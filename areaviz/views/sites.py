"""The sites of a trace: in which order they are offered, and what a reader knows them by."""

from __future__ import annotations

from areaviz.trace.record import Trace
from areaviz.views.gazes import CANVAS

FIRST_SITES = ("encoder-decoder picture", "encoder-decoder")
TEXT_SITES = {
    "encoder-decoder": "Translation to source",
    "encoder-decoder picture": "Translation to picture",
    "encoder self": "Within the source",
    "decoder self": "Within the translation",
}
"""What the sites of a model are called that has a source text, with or without a picture."""
PICTURE_SITES = {
    "encoder-decoder": "Words to picture",
    "encoder-decoder picture": "Words to picture",
    "encoder self": "Within the picture",
    "decoder self": "Within the sentence",
    "glimpses": "Glimpses",
    "context": "Coarse look",
    "without context": "Glimpses without it",
    "transformer": "Sampling grid",
}
"""What they are called where a picture is all there is."""


def sites(trace: Trace) -> list[str]:
    """The attention sites of a trace, those from output to input first, then the gazes that chose a place."""
    first = [site for site in FIRST_SITES if site in trace.maps]
    looks = [site for site in trace.gazes if site != CANVAS]
    return [*first, *(site for site in trace.maps if site not in first), *looks]


def site_name(trace: Trace, site: str) -> str:
    """A site in words."""
    names = TEXT_SITES if "source" in trace.fields else PICTURE_SITES
    return names.get(site, site)
