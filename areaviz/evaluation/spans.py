"""Comparison of how well the areas of a model and of its untrained network fit the words of a text.

The untrained network reads the trained network's output, so both have the same queries.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from areaviz.evaluation.heads import (
    TracedModel,
    convert_figures,
    get_figures_of_head,
    measure_heads,
)
from areaviz.measures.spans import MEASURES, measure_spans
from areaviz.trace.query import format_given_output, is_one_text
from areaviz.trace.record import Trace
from areaviz.trace.request import Request

Place = tuple[int, int]
"""Layer and head, counted from 0."""
COMPARED_MEASURES = (
    "multi_share",
    "area_size",
    "entropy",
    "entropy_normalised",
    *(f"{counted}_{measure}" for counted in ("weighted", "multi") for measure in MEASURES),
)
"""Figures over all heads that also have a value for the untrained network (_untrained)."""
BESIDE_OF_HEAD = ("multi_share", "long_exact", "long_exact_lift")
"""Figures of a single head that also have a value for the untrained network (_untrained)."""


def compare_spans(model: TracedModel, requests: Sequence[Request]) -> dict[str, dict[str, float]]:
    """Measure the spans of a model and of its untrained network at each site.

    The figures are those of `areaviz.measures.spans.measure_spans`. The figures of
    `COMPARED_MEASURES` have a second value with the suffix _untrained.
    """
    given: list[Request] = []

    def written() -> Iterator[Trace]:
        for request in requests:
            trace = model.trace([request])[0]
            given.append(_make_given_request(trace))
            yield trace

    trained = measure_spans(written())
    blind = model.make_untrained()
    untrained = measure_spans(blind.trace([request])[0] for request in given)
    found = {}
    for site, figures in trained.items():
        before = untrained.get(site, {})
        beside = {f"{name}_untrained": before[name] for name in COMPARED_MEASURES if name in before}
        found[site] = {**figures, **beside}
    return found


def _make_given_request(trace: Trace) -> Request:
    """Return a request with the output of a trace as its target.

    A language model needs no target, because it only reads its text.
    """
    if is_one_text(trace):
        return trace.request
    return replace(trace.request, target=format_given_output(trace))


def measure_heads_at_places(
    model: TracedModel, requests: Sequence[Request], places: Mapping[str, Place | None]
) -> dict[str, dict[str, Any]]:
    """Return the figures of one head at each site, some of them also for the untrained network.

    A site without a head has only the figure multi_share, which is 0.

    Args:
        model: The trained model.
        requests: The examples.
        places: The head of each site, or None for a site without one.
    """
    trained = measure_heads(model, requests)
    untrained = measure_heads(model.make_untrained(), requests) if any(places.values()) else {}
    found: dict[str, dict[str, Any]] = {}
    for site, place in places.items():
        if place is None:
            found[site] = {"multi_share": 0.0}
            continue
        before = get_figures_of_head(convert_figures(untrained[site]), place)
        found[site] = get_figures_of_head(convert_figures(trained[site]), place)
        for name in BESIDE_OF_HEAD:
            if name in before:
                found[site][f"{name}_untrained"] = before[name]
    return found
