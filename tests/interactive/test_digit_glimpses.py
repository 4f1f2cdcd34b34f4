"""The looks of a digit reader as data for the browser."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from areaviz.trace.request import Focus
from areaviz.views.looks.looks import (
    LOOK_DESCRIPTIONS,
    DigitReading,
    make_looks_payload,
    make_readings_payload,
)
from tests import fakes


def test_looks_payload_has_every_look_with_its_label() -> None:
    trace = fakes.gaze_trace(steps=3, scales=2)
    header = make_looks_payload(trace, Focus("glimpses"))["header"]
    (reader,) = header["readers"]
    picture, gaze = trace.request.picture, trace.gazes["glimpses"]
    assert picture is not None
    assert reader["size"] == [picture.width, picture.height]
    assert np.allclose(reader["corners"], gaze.corners, atol=0.051)
    assert reader["labels"] == list(trace.fields["target"].labels)
    assert reader["sure"] == [round(100 * one) for one in trace.output.probabilities.tolist()]
    assert reader["what"] == LOOK_DESCRIPTIONS["glimpses"]


def test_looks_payload_has_an_id_that_changes_with_the_places() -> None:
    one, other = fakes.gaze_trace(steps=3), fakes.gaze_trace(steps=2)
    first = make_looks_payload(one, Focus("glimpses"))["header"]["id"]
    assert first == make_looks_payload(one, Focus("glimpses"))["header"]["id"]
    assert first != make_looks_payload(other, Focus("glimpses"))["header"]["id"]


def test_payload_of_readings_has_a_picture_and_a_label_for_every_look() -> None:
    trace = fakes.gaze_trace(steps=3)
    data = make_readings_payload(
        [DigitReading("Glimpses", "Reads boxes.", trace, ["Unsure."])], "3"
    )
    (reader,) = data["header"]["readers"]
    assert len(set(reader["pictures"])) == 3 and reader["labels"] == ["3", "3", "8"]
    assert reader["sure"] == [40, 68, 95] and reader["notes"] == ["Unsure."]
    assert data["header"]["digits"] == "3"


def test_payload_of_another_run_has_another_id() -> None:
    trace = fakes.gaze_trace(steps=3)
    halved = trace.output.probabilities / np.float32(2)
    other = replace(trace, output=replace(trace.output, probabilities=halved))
    first, again, second = (
        make_readings_payload([DigitReading("Glimpses", "", one)], "3")["header"]["id"]
        for one in (trace, fakes.gaze_trace(steps=3), other)
    )
    assert first == again != second
