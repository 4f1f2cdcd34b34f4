"""Metrics of models that answer questions: trees, stories, hulls and tours of points, digits.

Shapes: N points, K hops, M facts, T glimpses, D boxes.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from areaviz.analysis.measure import Measure
from areaviz.measures.pointing import find_hits
from areaviz.measures.references import score_brackets
from areaviz.samples.dataset import STORIES, TREES, Example, are_digits
from areaviz.samples.reasoning import compute_signed_area, measure_tour_length, solve_exactly
from areaviz.trace.areas import FloatArray
from areaviz.trace.kinds import EXTENT
from areaviz.trace.query import item_shares
from areaviz.trace.record import Trace

Measured = Mapping[str, float]

MEASURES: Mapping[str, Measure] = {
    "right": Measure("Right", "1 if the whole answer is right, else 0.", "high"),
    "bracket_f1": Measure(
        "Bracket F1",
        "Brackets with the right label around the right words: harmonic mean of the shares of those"
        " written and of those wanted, 0 to 1.",
        "high",
    ),
    "tour_ratio": Measure(
        "Length", "Length of the tour divided by that of the shortest one. 1 is best.", "low"
    ),
    "hull_area": Measure(
        "Area", "Area of the hull divided by that of the exact one. 1 is best.", "high"
    ),
    "facts_read": Measure(
        "Facts read",
        "Share of the facts that answer the question and have the largest weight in some hop.",
        "high",
    ),
}
"""Metrics by name, in the order in which tables show them."""


def score_answer(kind: str, output: str, example: Example) -> Measured:
    """Score one output of any system against the right answers.

    Args:
        kind: the kind of the example's text, `TREES` or `STORIES`.
        output: a linearised tree, or an answer to a question.
        example: contains the right trees or answers.

    Returns:
        "right", 0 or 1, and for trees "bracket_f1", 0 to 1, against the closest right tree.
    """
    if kind == STORIES:
        return {"right": float(output.strip().lower() in map(str.lower, example.references))}
    scores = [score_brackets([output], [one]) for one in example.references]
    best = max(scores, key=lambda one: one.f1)
    return {"right": best.exact, "bracket_f1": best.f1}


def is_answer(kind: str) -> bool:
    """Return whether outputs of this kind are right or wrong, not compared word by word."""
    return kind in (TREES, STORIES)


def find_share_of_facts_read(trace: Trace, example: Example) -> Measured:
    """Return the share of gold facts that get the most attention in some hop, {} without facts."""
    for attention in trace.maps.values():
        if trace.fields[attention.memory].kind == "facts" and example.facts:
            break
    else:
        return {}
    read = {int(item_shares(attention, hop, None)[0].argmax()) for hop in range(attention.layers)}
    return {"facts_read": len(read & set(example.facts)) / len(example.facts)}


def has_digits_to_recognise(example: Example) -> bool:
    """Return whether the example is a picture of digits to be recognised."""
    return bool(example.file) and not example.text and are_digits(example.references)


def compute_glimpse_hit_rate(trace: Trace, example: Example) -> Measured:
    """Return the share of a digit classifier's glimpses that are centred on a digit.

    For attention to cells, the centre of the top cell counts. The result is {} for examples that
    are not digits and for models without glimpses or cells.
    """
    picture, places_T2 = trace.request.picture, _glimpse_centres_px(trace)
    if (
        picture is None
        or places_T2 is None
        or not (example.boxes and has_digits_to_recognise(example))
    ):
        return {}
    size = np.array([picture.width, picture.height])
    boxes_D4 = np.array([box for _, box in example.boxes])
    found_1T = find_hits((places_T2 / size)[None], boxes_D4[None])
    return {"pointing": float(found_1T.mean())}


def _glimpse_centres_px(trace: Trace) -> FloatArray | None:
    """Return the centre of each glimpse as (x, y) in pixels [T, 2], None without glimpses."""
    for site in ("glimpses", "transformer"):
        if site in trace.gazes:
            middles_T2: FloatArray = trace.gazes[site].corners[:, 0].mean(1)
            return middles_T2
    for attention in trace.maps.values():
        is_written = attention.query == trace.output.field
        if is_written and trace.fields[attention.memory].is_picture:
            chosen_T = item_shares(attention, attention.layers - 1, None).argmax(1)
            anchors_T22 = trace.fields[attention.memory].anchors[chosen_T].reshape(-1, 2, 2)
            return np.asarray(anchors_T22.mean(1))
    return None


def score_points(trace: Trace, example: Example) -> Measured:
    """Compare the answer for a set of points with the exact answer, which this function computes.

    A hull may start at any of its points. It is compared in the order in which it is written:
    counter-clockwise from the leftmost point.

    Returns:
        "right", and "tour_ratio" or "hull_area". The result is {} for other inputs.
    """
    field = trace.fields.get("points")
    if field is None:
        return {}
    points_N2 = field.anchors / EXTENT
    answer = [int(number) - 1 for number in trace.fields[trace.output.field].labels[:-1]]
    kind = trace.details["kind"]
    right = [int(one) for one in solve_exactly(kind, points_N2[None])[0] if one >= 0]
    found = {"right": float(answer == right)}
    if kind == "tour":
        found["tour_ratio"] = measure_tour_length(points_N2, answer) / measure_tour_length(
            points_N2, right
        )
    else:
        areas = [abs(compute_signed_area(points_N2[one])) for one in (answer, right)]
        found["hull_area"] = areas[0] / areas[1]
    return found
