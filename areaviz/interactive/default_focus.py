"""Choice of the layer and item that a component first shows. Areas of several items come first.

Shapes: H heads, Q queries, A areas.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from areaviz.trace.areas import AreaGrid, FloatArray
from areaviz.trace.query import find_words
from areaviz.trace.record import AttentionMap, Field, Trace
from areaviz.trace.request import Focus

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
