"""The choice, on validation, of the display, layer and head that a page shows first.

Top areas, which the softmax chose, are shown if a head has multi-item top areas. In a translator's
cross-attention, this is the head whose multi-item areas contain the linked word most often, among
those that have such areas often. At other sites, one head must depend on its query more than the
untrained network, and its top areas must have several items often enough (`has_enough_spans`).
Elsewhere the top area is a single item, and a page shows the attention that items receive:

- In a translator's cross-attention: the item with most coverage or the densest area, in the layer
and head (or mean head of a layer) that agrees best with words linked by hand.
- In a captioner: coverage, in the head that points best.
- At other sites: coverage, in the head that depends most on its query.

Shapes: L layers, H heads, Q queries, N items, A areas.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from areaviz.cards.card import Opening
from areaviz.evaluation.links import choose_phrase_head, count_linked, iterate_given_traces
from areaviz.measures.heads import WANTED
from areaviz.measures.spans import find_word_runs
from areaviz.metrics.link_accuracy import SITE
from areaviz.models.generation import GenerationModel
from areaviz.samples.dataset import Dataset, Example
from areaviz.trace import query
from areaviz.trace.record import AttentionMap, Trace

Place = tuple[int, int | None]
"""Layer and head, counted from 0. None is the mean of the layer's heads."""
Rated = tuple[str, Place]
"""A display (a key of `READINGS`) at a place."""
Figures = Mapping[str, Any]
Spans = npt.NDArray[np.int64]
"""Start and end item of one span per query: [Q, 2]."""
AT_LEAST = 0.2
"""Smallest share of queries with a multi-item top area, at sites that `WANTED` does not name."""


def choose_openings(heads: Mapping[str, Figures]) -> dict[str, Opening]:
    """Return how pages first show every measured site, as far as its heads determine it."""
    found = {}
    for site, figures in heads.items():
        depends_LH = np.array(figures["dependence"])
        shares_LH = np.where(has_enough_spans(figures, site), np.array(figures["multi_share"]), 0.0)
        if shares_LH.any():
            found[site] = Opening("heaviest", *_find_largest(shares_LH))
        else:
            found[site] = Opening("coverage", *_find_largest(depends_LH))
    return found


def make_pointing_opening(figures: Figures, place: tuple[int, int]) -> Opening:
    """Return how pages first show a picture, given the layer and head (from 0) that points best."""
    reading = "heaviest" if has_enough_spans(figures, "picture")[place] else "coverage"
    return Opening(reading, *place, pointing_head=place)


def choose_linked_opening(model: GenerationModel, figures: Figures, linked: Dataset) -> Opening:
    """Return how pages first show a translator's cross-attention.

    Args:
        model: The translator.
        figures: Figures of its heads at this site.
        linked: Validation sentences with links.
    """
    if has_enough_spans(figures, SITE).any():
        spans_LH = count_linked(model, linked).figures()["span"]
        place = choose_phrase_head(figures, spans_LH)
        assert place is not None
        shown, phrases = place
        # Several heads of the layer show areas, each in its own colour, so the page shows all
        # heads.
        is_alone = int(has_enough_spans(figures, SITE)[shown].sum()) == 1
        return Opening("heaviest", shown, phrases if is_alone else None)
    agrees = measure_agreement(model, linked)
    others = [rated for rated in agrees if rated[0] != "heaviest"]
    reading, (layer, head) = max(others, key=lambda rated: agrees[rated])
    return Opening(reading, layer, head)


def has_enough_spans(figures: Figures, site: str) -> npt.NDArray[np.bool_]:
    """Return whether each head has multi-item top areas often enough: [L, H].

    Heads count only if they depend on their query more than the untrained network.
    """
    wanted, _ = WANTED.get(site, (AT_LEAST, 0.0))
    depends_LH = np.array(figures["dependence"]) > figures["dependence_untrained"]
    found: npt.NDArray[np.bool_] = depends_LH & (np.array(figures["multi_share"]) >= wanted)
    return found


def measure_agreement(model: GenerationModel, linked: Dataset) -> dict[Rated, float]:
    """Return how well each display agrees with linked words at every place, 0 to 1.

    The value is the mean F1 overlap over every item of a written word with a link. F1 is twice the
    number of items that are both shown and in linked words, divided by the sum of both numbers.
    """
    sums: dict[Rated, float] = {}
    count = 0
    for trace, example in zip(iterate_given_traces(model, linked), linked.examples, strict=True):
        wanted_QN = _find_linked_items(trace, example)
        rows = np.flatnonzero(wanted_QN.any(-1))
        count += len(rows)
        attention = trace.maps[SITE]
        for layer in range(attention.layers):
            for head in (*range(attention.heads), None):
                for reading, spans_Q2 in _find_shown_spans(attention, layer, head).items():
                    rated = (reading, (layer, head))
                    total = _compute_f1(spans_Q2[rows], wanted_QN[rows]).sum()
                    sums[rated] = sums.get(rated, 0.0) + float(total)
    return {rated: total / max(1, count) for rated, total in sums.items()}


def _find_linked_items(trace: Trace, example: Example) -> npt.NDArray[np.bool_]:
    """Return which items belong to words linked with each written item's word: bool [Q, N]."""
    attention = trace.maps[SITE]
    target, source = trace.fields[attention.query], trace.fields[attention.memory]
    targets, sources = find_word_runs(target), find_word_runs(source)
    wanted_QN = np.zeros((len(target), len(source)), dtype=bool)
    for i, j in example.sure | example.possible:
        if i < len(sources) and j < len(targets):
            wanted_QN[slice(*targets[j]), slice(*sources[i])] = True
    return wanted_QN


def _find_shown_spans(attention: AttentionMap, layer: int, head: int | None) -> dict[str, Spans]:
    """Return the span that each display shows for every query. An item is a span of one item."""
    shares_QN = query.item_shares(attention, layer, head)
    item_Q = shares_QN.argmax(-1)
    found = {"coverage": np.stack([item_Q, item_Q + 1], 1)}
    densest = query.densest_areas(attention, layer, head)
    found["densest"] = np.array(
        [(one.area.left, one.area.left + one.area.width) if one else (0, 0) for one in densest]
    )
    if head is not None:
        _, left_A, _, width_A = attention.grid.table().T
        top_Q = attention.weights[layer, head].argmax(-1)
        found["heaviest"] = np.stack([left_A[top_Q], left_A[top_Q] + width_A[top_Q]], 1)
    return found


def _compute_f1(spans_Q2: Spans, wanted_QN: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """Return the F1 overlap of each span with the wanted items, 0 to 1: [Q]."""
    item_N = np.arange(wanted_QN.shape[1])
    shown_QN = (spans_Q2[:, :1] <= item_N) & (item_N < spans_Q2[:, 1:])
    both_Q = (shown_QN & wanted_QN).sum(-1)
    overlap: npt.NDArray[np.float64] = 2 * both_Q / (shown_QN.sum(-1) + wanted_QN.sum(-1))
    return overlap


def _find_largest(values_LH: npt.NDArray[np.floating]) -> tuple[int, int]:
    """Return the layer and head of the largest value, counted from 0."""
    layer, head = np.unravel_index(values_LH.argmax(), values_LH.shape)
    return int(layer), int(head)
