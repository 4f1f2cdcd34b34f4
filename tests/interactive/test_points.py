"""Data of points in the browser, and the step that it opens with."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from areaviz.trace.record import Output
from areaviz.trace.request import Focus
from areaviz.views.points.points import choose_first_step, make_points_payload
from tests.views.test_reasoning import points_trace


def test_payload_has_the_answer_and_the_weights() -> None:
    header = make_points_payload(points_trace(), Focus("pointer"))["header"]
    assert header["points"][1] == [1000, 0] and header["chosen"] == [0, 1, 2, 0]
    assert header["exact"] == [0, 1, 2, 3, 0]
    assert header["weights"][1] == [0.1, 0.6, 0.1, 0.1, 0.1]
    unknown = make_points_payload(points_trace(""), Focus("pointer"))["header"]
    assert unknown["exact"] == [] and unknown["kind"] == "" and unknown["sizes"] == []


@pytest.mark.parametrize(
    "details",
    [
        {"kind": "hull", "area": "95", "exact area": "100"},
        {"kind": "tour", "length": "95", "shortest": "100"},
    ],
)
def test_payload_has_the_sizes_of_both_answers(details: dict[str, str]) -> None:
    trace = points_trace()
    trace = replace(trace, details={**trace.details, **details})
    header = make_points_payload(trace, Focus("pointer"))["header"]
    assert header["kind"] == details["kind"] and header["sizes"] == [95, 100]


@pytest.mark.parametrize(
    ("sure", "expected"), [([0.9, 1, 0.6, 1], 2), ([1, 1, 1, 0.995], 2), ([0.3, 0.5, 1, 1], 0)]
)
def test_first_step_is_the_least_sure(sure: list[float], expected: int) -> None:
    output = Output("target", np.array(sure, np.float32), ((("1", 0.6),),) * 4)
    assert choose_first_step(replace(points_trace(), output=output)) == expected
