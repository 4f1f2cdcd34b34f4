"""Sites of a trace: their order on pages and their names for users."""

from __future__ import annotations

import re
from collections.abc import Mapping

from areaviz.trace.derived import (
    AS_AREAS,
    BEST,
    SUMS,
    WAYS,
    split_attributed_site,
    split_best_site,
    split_derived_site,
)
from areaviz.trace.kinds import find_kind_of_field
from areaviz.trace.query import is_one_text
from areaviz.trace.record import Trace

CANVAS = "canvas"
"""The site of the picture that a network writes on, which is its input."""
_FIRST = ("encoder-decoder picture", "encoder-decoder")
# Sites with attention to one of several pictures, tiles or frames, or to the patches of one.
_NUMBERED = re.compile(r"(.+) (picture|patches) (\d+)")
TEXT_SITES = {
    "encoder-decoder": "Translation to source",
    "encoder-decoder picture": "Translation to picture",
    "encoder self": "Within the source",
    "decoder self": "Within the translation",
}
"""Names of sites if the trace has a source text, with or without a picture."""
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
    "pooling": "Pooling latents to picture",
    "attention": "Weights",
    "hops": "Question to facts",
    "pointer": "Answer to points",
}
"""Names of sites if the trace has no source text."""
ONE_TEXT = {"decoder self": "Within the text"}
"""Names of sites if input and output are parts of one text, as in a language model."""
# Names of sites if both texts were given and none was written.
_READ_SITES = {"encoder-decoder": "Target to source", "decoder self": "Within the target"}
# Nouns for a layer of sites where "layer" is not used.
_LAYERS = {"hops": "hop"}
# Suffixes of derived maps, which differ from the model's own attention.
_DERIVED = {AS_AREAS: ", as areas", SUMS: ", area sums"}


def list_sites(trace: Trace) -> list[str]:
    """Return the sites of a trace: from output to input first, then other maps, then gazes.

    Derived and attribution maps follow the site that they belong to.
    """
    bases = list(dict.fromkeys(map(_get_base_site, trace.maps)))
    order = [site for site in bases if site.startswith(f"{_FIRST[0]} ")]
    order += [site for site in _FIRST if site in bases]
    order += [site for site in bases if site not in order]
    found = [site for base in order for site in trace.maps if _get_base_site(site) == base]
    # Leave out the canvas, which is the input of a network and not attention.
    return found + [site for site in trace.gazes if site != CANVAS]


def list_model_sites(trace: Trace) -> list[str]:
    """Return the sites of a trace without best alignments, which are selections of other maps."""
    return [site for site in list_sites(trace) if not site.endswith(BEST)]


def get_layer_noun(site: str) -> str:
    """Return the noun for a layer of a site, in lower case."""
    return _LAYERS.get(_get_base_site(site), "layer")


def name_site(trace: Trace, site: str) -> str:
    """Return the name of a site, with a suffix if the map was derived or is an attribution."""
    site, attributed = split_attributed_site(site)
    site, derived = split_derived_site(site)
    site, best = split_best_site(site)
    names = TEXT_SITES if "source" in trace.fields else PICTURE_SITES
    if "source" in trace.fields and "history" not in trace.fields:
        names = names | _READ_SITES
    if is_one_text(trace):
        names = names | ONE_TEXT
    for field in trace.fields.values():
        names = {**names, **find_kind_of_field(field).sites}
    aligned = ", best alignment" if best else ""
    by = f", by {WAYS[attributed]}" if attributed else ""
    return _name_base_site(trace, site, names) + _DERIVED.get(derived, "") + by + aligned


def _name_base_site(trace: Trace, site: str, names: Mapping[str, str]) -> str:
    """Return the name of a site, with the number of its picture if there are several."""
    if site == "encoder-decoder" and "pictures" in trace.fields:
        return "Words to all pictures"
    numbered = _NUMBERED.fullmatch(site)
    if numbered is None:
        return names.get(site, site)
    base, part, number = numbered.groups()
    if part == "patches":
        return f"{PICTURE_SITES.get(base, base)} {number}, patches"
    return f"{PICTURE_SITES.get(base, base)} {number}"


def _get_base_site(site: str) -> str:
    """Return the site that a map belongs to, without its derivation or attribution."""
    return split_best_site(split_derived_site(split_attributed_site(site)[0])[0])[0]
