"""Measures of models that answer: trees against gold trees, answers about stories, hulls and tours.

Shapes: N points, K hops, M facts.
"""

from __future__ import annotations

from collections.abc import Mapping

from areaviz.analysis.measure import Measure
from areaviz.data.examples import Example
from areaviz.data.points import exact, signed_area, tour_length
from areaviz.data.text_kinds import STORIES, TREES
from areaviz.metrics.trees import bracket_scores
from areaviz.trace.points import EXTENT
from areaviz.trace.query import item_shares
from areaviz.trace.record import Trace

Measured = Mapping[str, float]

MEASURES: Mapping[str, Measure] = {
    "right": Measure("Right", "1 where the whole answer is right, 0 where it is not.", "high"),
    "bracket_f1": Measure(
        "Bracket F1",
        "Brackets with the right label around the right words: harmonic mean of the shares of those"
        " written and of those wanted, 0 to 1.",
        "high",
    ),
    "tour_ratio": Measure(
        "Length", "Length of the tour as a multiple of the shortest one; 1 is best.", "low"
    ),
    "hull_area": Measure(
        "Area", "Area of the hull as a share of the exact one; 1 is best.", "high"
    ),
    "facts_read": Measure(
        "Facts read",
        "Share of the facts that answer the question which some hop weighs most.",
        "high",
    ),
}
"""By name, in the order tables show them."""


def score_answer(kind: str, output: str, example: Example) -> Measured:
    """What an output says against right answers, of any system.

    Args:
        kind: of the example's text, `TREES` or `STORIES`.
        output: a linear tree, or an answer.
        example: has the right ones.
    """
    if kind == STORIES:
        return {"right": float(output.strip().lower() in map(str.lower, example.references))}
    scores = [bracket_scores([output], [one]) for one in example.references]
    best = max(scores, key=lambda one: one.f1)
    return {"right": best.exact, "bracket_f1": best.f1}


def is_answer(kind: str) -> bool:
    """Whether an output of such examples is right or wrong, and no text to compare word by word."""
    return kind in (TREES, STORIES)


def facts_read(trace: Trace, example: Example) -> Measured:
    """Of the gold facts of a story the share that is the heaviest of some hop; {} without any."""
    for attention in trace.maps.values():
        if trace.fields[attention.memory].kind == "facts" and example.facts:
            break
    else:
        return {}
    read = {int(item_shares(attention, hop, None)[0].argmax()) for hop in range(attention.layers)}
    return {"facts_read": len(read & set(example.facts)) / len(example.facts)}


def pointed(trace: Trace, example: Example) -> Measured:
    """The answer to points beside the exact one, which is computed; {} for other inputs.

    A hull may begin anywhere: it is compared as it is read, counter-clockwise from the leftmost.
    """
    field = trace.fields.get("points")
    if field is None:
        return {}
    points_N2 = field.anchors / EXTENT
    answer = [int(number) - 1 for number in trace.fields[trace.output.field].labels[:-1]]
    kind = trace.details["kind"]
    right = [int(one) for one in exact(kind, points_N2[None])[0] if one >= 0]
    found = {"right": float(answer == right)}
    if kind == "tour":
        found["tour_ratio"] = tour_length(points_N2, answer) / tour_length(points_N2, right)
    else:
        areas = [abs(signed_area(points_N2[one])) for one in (answer, right)]
        found["hull_area"] = areas[0] / areas[1]
    return found
