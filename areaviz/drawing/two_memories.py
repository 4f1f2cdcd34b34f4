"""What views of a translation with a picture share: the text and the picture that one word attends
to at once.

Shapes: H heads, Q queries.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from areaviz.drawing.base import caption
from areaviz.drawing.film_frames import film_fits
from areaviz.drawing.select import fits, fits_text
from areaviz.trace.record import AttentionMap, FloatArray, Trace
from areaviz.trace.request import Focus

TEXT, PICTURE = "encoder-decoder", "encoder-decoder picture"
"""The two sites whose contexts are added (Arslan et al. 2018, Eq. 5)."""


def turned(focus: Focus, site: str) -> Focus:
    """The same queries at another site; items of a memory belong to their own site and are left
    out.
    """
    return replace(
        focus, site=site, side="query", items=focus.items if focus.side == "query" else ()
    )


def doubly_fits(trace: Trace, focus: Focus) -> bool:
    """Whether the focus is on one of the two sites, and the same words attend to a text and to a
    picture.
    """
    if focus.site not in (TEXT, PICTURE) or not fits(trace, focus):
        return False
    if not (fits_text(trace, turned(focus, TEXT)) and film_fits(trace, turned(focus, PICTURE))):
        return False
    return trace.maps[TEXT].query == trace.maps[PICTURE].query


def strengths_fit(trace: Trace, focus: Focus) -> bool:
    """The same, where the trace has the lengths of both contexts, head by head."""
    if not doubly_fits(trace, focus):
        return False
    text, picture = (trace.maps[site].strength for site in (TEXT, PICTURE))
    return text is not None and picture is not None and text.shape == picture.shape


def text_shares(trace: Trace, layer: int) -> FloatArray:
    """The text's share of the two contexts' lengths: float32 [H, Q], 0..1, NaN where neither has
    any length.
    """
    text_HQ, picture_HQ = (_strength(trace.maps[site], layer) for site in (TEXT, PICTURE))
    total_HQ = text_HQ + picture_HQ
    shares_HQ: FloatArray = np.divide(
        text_HQ, total_HQ, out=np.full_like(total_HQ, np.nan), where=total_HQ > 0
    )
    return shares_HQ


def doubly_caption(trace: Trace, focus: Focus) -> str:
    """One line that names model and decoding, and both sites with layer, head and normalisation."""
    text, picture = (caption(trace, turned(focus, site)) for site in (TEXT, PICTURE))
    return f"{text} · {picture.partition(' · ')[2]}"


def _strength(attention: AttentionMap, layer: int) -> FloatArray:
    assert attention.strength is not None
    lengths: FloatArray = attention.strength[layer]
    return lengths
