"""Functions that views of a translation with a picture share. It attends to text and picture.

Shapes: H heads, Q queries.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from areaviz.draw.select import fits_map, fits_text
from areaviz.draw.view import figure_caption
from areaviz.drawing.film import fits_film
from areaviz.trace.areas import FloatArray
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus

TEXT, PICTURE = "encoder-decoder", "encoder-decoder picture"
"""The two sites whose context vectors are added (Arslan et al. 2018, Eq. 5)."""


def move_focus(focus: Focus, site: str) -> Focus:
    """Return a focus on another site with its queries. Focused memory items are dropped."""
    return replace(
        focus, site=site, side="query", items=focus.items if focus.side == "query" else ()
    )


def fits_both(trace: Trace, focus: Focus) -> bool:
    """Return whether the focus is on one of the sites, and words attend to text and picture."""
    return (
        focus.site in (TEXT, PICTURE)
        and fits_map(trace, focus)
        and fits_text(trace, move_focus(focus, TEXT))
        and fits_film(trace, move_focus(focus, PICTURE))
        and trace.maps[TEXT].query == trace.maps[PICTURE].query
    )


def fits_strengths(trace: Trace, focus: Focus) -> bool:
    """Return whether `fits_both` is true and the trace has the lengths of both context vectors."""
    if not fits_both(trace, focus):
        return False
    text, picture = trace.maps[TEXT].strength, trace.maps[PICTURE].strength
    return text is not None and picture is not None and text.shape == picture.shape


def compute_text_shares(trace: Trace, layer: int) -> FloatArray:
    """Return the text's share of the lengths of both context vectors: float32 [H, Q], 0..1.

    The share is NaN if both lengths are 0.
    """
    text, picture = trace.maps[TEXT].strength, trace.maps[PICTURE].strength
    assert text is not None and picture is not None
    text_HQ = text[layer]
    total_HQ = text_HQ + picture[layer]
    shares_HQ: FloatArray = np.full_like(total_HQ, np.nan)
    np.divide(text_HQ, total_HQ, out=shares_HQ, where=total_HQ > 0)
    return shares_HQ


def describe_both_sites(trace: Trace, focus: Focus) -> str:
    """Return one line that names the model, the decoding, and layer and head of both sites."""
    text, picture = (figure_caption(trace, move_focus(focus, site)) for site in (TEXT, PICTURE))
    return f"{text} · {picture.partition(' · ')[2]}"
