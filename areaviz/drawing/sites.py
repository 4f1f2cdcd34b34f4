"""The sites of a trace: in which order they are offered, and what a reader knows them by."""

from __future__ import annotations

from areaviz.drawing.gazes import CANVAS
from areaviz.trace.derived import AS_AREAS, SUMS, base_site
from areaviz.trace.record import Trace

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
    "class token": "Class token to picture",
    "attention": "Weights",
}
"""What they are called where a picture is all there is."""
UNWRITTEN_SITES = {"encoder-decoder": "Target to source", "decoder self": "Within the target"}
"""What they are called where two texts were given and none was written."""
DERIVED = {AS_AREAS: ", as areas", SUMS: ", area sums"}
"""How they are called where the model itself attended otherwise."""


def sites(trace: Trace) -> list[str]:
    """The attention sites of a trace, those from output to input first, then the gazes that chose a
    place.
    """
    first = [site for name in FIRST_SITES for site in trace.maps if base_site(site)[0] == name]
    looks = [site for site in trace.gazes if site != CANVAS]
    return [*first, *(site for site in trace.maps if site not in first), *looks]


def site_name(trace: Trace, site: str) -> str:
    """A site in words, and how it was derived where the model itself attended otherwise."""
    site, ending = base_site(site)
    names = TEXT_SITES if "source" in trace.fields else PICTURE_SITES
    if "source" in trace.fields and "history" not in trace.fields:
        names = names | UNWRITTEN_SITES
    return names.get(site, site) + DERIVED.get(ending, "")
