"""The looks of a digit reader as data for the browser."""

from __future__ import annotations

import numpy as np

from areaviz.interactive.looks import WHAT, looks_payload
from areaviz.trace.request import Focus
from tests import fakes


def test_looks_payload_has_every_look_with_its_label() -> None:
    trace = fakes.gaze_trace(steps=3, scales=2)
    header = looks_payload(trace, Focus("glimpses"))["header"]
    (reader,) = header["readers"]
    picture, gaze = trace.request.picture, trace.gazes["glimpses"]
    assert picture is not None
    assert reader["size"] == [picture.width, picture.height]
    assert np.allclose(reader["corners"], gaze.corners, atol=0.051)
    assert reader["labels"] == list(trace.fields["target"].labels)
    assert reader["sure"] == [round(100 * one) for one in trace.output.probabilities.tolist()]
    assert reader["what"] == WHAT["glimpses"]
    assert header["look"] == 2


def test_looks_payload_has_an_id_that_changes_with_the_places() -> None:
    one, other = fakes.gaze_trace(steps=3), fakes.gaze_trace(steps=2)
    first = looks_payload(one, Focus("glimpses"))["header"]["id"]
    assert first == looks_payload(one, Focus("glimpses"))["header"]["id"]
    assert first != looks_payload(other, Focus("glimpses"))["header"]["id"]
