"""Messages to the components in the browser, and the layer and item that they first show.

Read `make_payload` first.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from areaviz.draw.select import name_field
from areaviz.draw.view import ALL, figure_caption
from areaviz.trace.areas import AreaGrid, FloatArray, IntArray, Ranked, rank_areas
from areaviz.trace.query import find_words
from areaviz.trace.record import AttentionMap, Field, Trace
from areaviz.trace.request import Focus

# Choice of the layer and item that a component first shows. Areas of several items come first.
#
# Shapes: H heads, Q queries, A areas.


SITE = "encoder-decoder"
OPENS_AT = "opens at item"
"""Key in `Trace.details` for the index of the output item that ribbons and grids first show."""
Scores = npt.NDArray[np.float64]


def choose_first_focus(trace: Trace, site: str = SITE) -> Focus:
    """Choose the layer and query to show first: the word whose heads show the heaviest spans.

    A head shows a span if its top area has several items. If the top areas of all heads are single
    items, as with mean keys, the word with the heaviest span is chosen. If all areas are single
    items, the word with the heaviest item is chosen.
    """
    attention, query = trace.maps[site], trace.fields[trace.maps[site].query]
    words_Q = _find_words(query)
    for score, areas in _SCORES:
        best: tuple[float, int, int] | None = None
        for layer in range(attention.layers):
            scores_Q = np.where(words_Q, score(attention.weights[layer], attention.grid), 0)
            item = int(scores_Q.argmax()) if scores_Q.size else 0
            if scores_Q.size and scores_Q[item] > (best[0] if best else 0):
                best = float(scores_Q[item]), layer, item
        if best:
            return Focus(site, best[1], items=(best[2],), areas=areas)
    return Focus(site)


def choose_first_item(attention: AttentionMap, layer: int, query: Field) -> tuple[int, ...]:
    """Choose the query that a site and layer first show, by the rule of `choose_first_focus`.

    Returns:
        The index of one query, or () if there is no attention. If a text has no words, any item can
        be chosen.
    """
    words_Q = _find_words(query)
    for mask in (words_Q, np.ones_like(words_Q)):
        for score, _ in _SCORES:
            scores_Q = np.where(mask, score(attention.weights[layer], attention.grid), 0)
            if scores_Q.size and scores_Q.max() > 0:
                return (int(scores_Q.argmax()),)
    return ()


def choose_opening_items(trace: Trace, attention: AttentionMap, layer: int) -> tuple[int, ...]:
    """Return the items that a ribbon or grid first shows, by default those of `choose_first_item`.

    A trace can name another item in its details. It may come from an untrusted file, so a name that
    is not the index of an item is ignored.
    """
    query, named = trace.fields[attention.query], trace.details.get(OPENS_AT, "")
    is_item = named.isascii() and named.isdecimal() and len(named) < 6 and int(named) < len(query)
    if is_item and attention.query == trace.output.field:
        return (int(named),)
    return choose_first_item(attention, layer, query)


def _find_words(query: Field) -> npt.NDArray[np.bool_]:
    """Return for each item whether it is a word or a part of one, bool [Q].

    If most words are one item each, only whole words count. A component shows a word of several
    items by the mean over its items, which is less clear.
    """
    letters_Q = np.array([label.strip().isalpha() for label in query.labels], bool)
    if not query.is_text:
        return letters_Q
    runs = find_words(query)
    whole = [start for start, end in runs if end == start + 1]
    whole_Q = letters_Q & np.isin(np.arange(len(letters_Q)), whole)
    return whole_Q if 2 * whole_Q.sum() > len(runs) else letters_Q


def _score_by_heads(weights_HQA: FloatArray, grid: AreaGrid) -> Scores:
    """Return the sum of the weights of the heads' top areas, counting only areas of several items.

    The result is float64 [Q].
    """
    several_A = grid.sizes() > 1
    total_Q = np.zeros(weights_HQA.shape[1])
    for weights_QA in weights_HQA:
        top_Q = weights_QA.argmax(-1)
        weight_Q = np.take_along_axis(weights_QA, top_Q[:, None], -1)[:, 0]
        total_Q += np.where(several_A[top_Q], weight_Q, 0)
    return total_Q


def _score_by_spans(weights_HQA: FloatArray, grid: AreaGrid) -> Scores:
    """Return the weight of the heaviest area of several items, as a mean over heads, [Q]."""
    return _find_heaviest(weights_HQA, grid.sizes() > 1)


def _score_by_items(weights_HQA: FloatArray, grid: AreaGrid) -> Scores:
    """Return the weight of the heaviest area, as a mean over heads, [Q]."""
    return _find_heaviest(weights_HQA, grid.sizes() > 0)


def _find_heaviest(weights_HQA: FloatArray, chosen_A: npt.NDArray[np.bool_]) -> Scores:
    mean_QA = weights_HQA.mean(0)[:, chosen_A]
    heaviest_Q: Scores = mean_QA.max(-1, initial=0).astype(np.float64)
    return heaviest_Q


_SCORES = ((_score_by_heads, "any"), (_score_by_spans, "several"), (_score_by_items, "any"))
"""Functions that score queries, the preferred one first, each with the value of `Focus.areas`."""


# Messages for the components in the browser: a header of plain values, and arrays.
#
# Shapes: H heads, Q queries, A areas, K kept, C candidates, R rows.


Arrays = Mapping[str, npt.NDArray[Any]]


def make_payload(
    trace: Trace, focus: Focus, arrays: Arrays, lit: Mapping[str, object], **own: object
) -> dict[str, Any]:
    """Return the header and arrays of a ribbon or grid. `header["id"]` is a digest of both.

    Args:
        trace: the trace.
        focus: names the site and layer.
        arrays: data of the focused site and layer.
        lit: settings of the areas that light up: their number, their maximum overlap, and the query
            items to show while users neither point at nor select an item.
        own: further entries of the header, specific to the ribbon or the grid.
    """
    attention = trace.maps[focus.site]
    grid, kinds = attention.grid, ("area", "several", "query", "item")
    whole = figure_caption(trace, replace(focus, head=None))
    before, after = whole.rsplit(ALL, 1) if attention.heads > 1 else (whole, "")
    header = {
        "heads": attention.heads,
        "grid": [grid.height, grid.width, grid.max_height, grid.max_width],
        "lit": lit,
        # The sentence above a component begins with "To write" for output, and otherwise with
        # "For".
        "written": attention.query == trace.output.field,
        "keep": {name: arrays[name].shape[-1] for name in kinds if name in arrays},
        **own,
        # The browser writes the selected heads between these parts if there are several heads.
        "caption": [before, after],
    }
    digest = hashlib.sha256(serialise_message(header, arrays)).hexdigest()[:16]
    return {"header": {"id": digest, **header}, "arrays": arrays}


def serialise_payload(made: Mapping[str, Any], **more: object) -> bytes:
    """Serialise a payload with further header entries."""
    return serialise_message({**made["header"], **more}, made["arrays"])


def serialise_message(header: Mapping[str, Any], arrays: Arrays) -> bytes:
    """Serialise a message: the length of the header (uint32), the header (JSON), and the arrays.

    Each array starts at a multiple of 8 bytes. The serialised header has an additional entry
    `arrays`. It maps the name of an array to its bytes per element, its offset from the end of the
    header, and its number of elements. All numbers are little-endian and unsigned.
    """
    places: dict[str, list[int]] = {}
    chunks: list[bytes] = []
    offset = 0
    for name, values in arrays.items():
        places[name] = [values.itemsize, offset, values.size]
        data = values.astype(values.dtype.newbyteorder("<"), copy=False).tobytes()
        chunks += [data, bytes(-len(data) % 8)]
        offset += len(data) + len(chunks[-1])
    text = json.dumps({**header, "arrays": places}, ensure_ascii=False, separators=(",", ":"))
    # A lone surrogate is replaced by one character, so offsets into the text stay valid.
    head = text.encode("utf-8", "replace")
    head += b" " * (-(len(head) + 4) % 8)
    return b"".join([len(head).to_bytes(4, "little"), head, *chunks])


def make_title(field: Field) -> str:
    """Return the title of a field to show above its items."""
    return name_field(field).capitalize()


def make_text_arrays(field: Field) -> dict[str, npt.NDArray[Any]]:
    """Return the positions of a text's items and words.

    Returns:
        `start` and `end` [N] of every item in characters, and `word` with the first item of every
        word.
    """
    most = max(len(field.raw), len(field)) + 1
    firsts = np.array([start for start, _ in find_words(field)], dtype=np.int64)
    return {
        "start": shrink_integers(field.anchors[:, 0], most),
        "end": shrink_integers(field.anchors[:, 1], most),
        "word": shrink_integers(firsts, most),
    }


def quantise(values: FloatArray, dtype: type[np.unsignedinteger[Any]]) -> npt.NDArray[Any]:
    """Quantise weights 0..1 on a square-root scale: weight = (stored / maximum of the type)^2.

    The scale distinguishes small weights. Eight bits are exact to 0.8 percentage points near 1 and
    to 0.04 percentage points near 0.01.
    """
    stored: npt.NDArray[Any] = np.rint(np.sqrt(np.clip(values, 0, 1)) * np.iinfo(dtype).max)
    return stored.astype(dtype)


def shrink_integers(values: IntArray, largest: int) -> npt.NDArray[Any]:
    """Return whole numbers as uint16, or as uint32 if `largest` is too large for uint16."""
    return values.astype(np.uint16 if largest < 1 << 16 else np.uint32)


def choose_sent_areas(
    weights_HQA: FloatArray,
    grid: AreaGrid,
    wanted: Sequence[tuple[int, float]],
    kept: int,
    min_size: int = 1,
) -> Ranked:
    """Choose the areas of every query to send to the browser.

    They are the top areas at each overlap that users can choose, followed by the heaviest others.

    Args:
        weights_HQA: weights of the grid's areas.
        grid: the areas.
        wanted: pairs of a number of areas and their maximum overlap, the default overlap first.
        kept: maximum number of areas per query.
        min_size: areas with fewer items are left out.

    Returns:
        Indices and weights [H, Q, K]. If a query has fewer than K areas, both are 0 after the last.
    """
    found = []
    for count, overlap in wanted:
        found.append(rank_areas(weights_HQA, grid, min(count, kept), overlap, min_size))
    first = found[0]
    if len(wanted) == 1 and kept <= wanted[0][0]:
        return Ranked(np.maximum(first.index, 0), first.weight)
    index_HQC = np.concatenate([each.index for each in found], -1)
    small_A = grid.sizes() < min_size
    index, weight = [], []
    # Process one head at a time, because all heads would need as much memory as the weights.
    for weights_QA, index_QC in zip(weights_HQA, index_HQC, strict=True):
        counted_QA = np.where(small_A, 0, weights_QA) if min_size > 1 else weights_QA
        ranked = _with_heaviest(counted_QA, index_QC, kept)
        index.append(ranked.index)
        weight.append(ranked.weight)
    return Ranked(np.stack(index), np.stack(weight))


def _with_heaviest(weights_RA: FloatArray, index_RC: IntArray, kept: int) -> Ranked:
    """Return the distinct candidates of every row, followed by its heaviest other areas.

    Args:
        weights_RA: weights of the areas.
        index_RC: indices of the candidates, or -1 for none.
        kept: maximum number of areas per row.
    """
    most = min(kept, weights_RA.shape[-1])
    heaviest = np.argpartition(-weights_RA, most - 1)[..., :most]
    order = (-np.take_along_axis(weights_RA, heaviest, -1)).argsort(-1)
    ordered = np.take_along_axis(heaviest, order, -1)
    return _take_first_distinct(weights_RA, np.concatenate([index_RC, ordered], -1), most)


def _take_first_distinct(weights_RA: FloatArray, index_RC: IntArray, kept: int) -> Ranked:
    """Return the first `kept` distinct indices of every row, with their weights."""
    by_index = index_RC.argsort(-1, kind="stable")
    ordered = np.take_along_axis(index_RC, by_index, -1)
    again = ordered < 0
    again[..., 1:] |= ordered[..., 1:] == ordered[..., :-1]
    again_RC = np.empty_like(again)
    np.put_along_axis(again_RC, by_index, again, -1)
    # A stable sort of False before True keeps the order of the distinct indices.
    places = again_RC.argsort(-1, kind="stable")[..., :kept]
    index = np.maximum(np.take_along_axis(index_RC, places, -1), 0)
    weight = np.take_along_axis(weights_RA, index, -1)
    return Ranked(index, np.where(np.take_along_axis(again_RC, places, -1), 0, weight))
