"""The Python half of the readings on one clock: the data for the browser."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np

from areaviz.ui.components.looks import Reading, looks_data
from tests import fakes


def test_looks_data_has_a_picture_and_a_label_for_every_look() -> None:
    trace = fakes.gaze_trace(steps=3)
    data = looks_data([Reading("Glimpses", "Reads boxes.", trace, ["Unsure."])], "3", "nothing")
    (reader,) = data["readers"]
    assert len(set(reader["pictures"])) == 3 and reader["labels"] == ["3", "3", "8"]
    assert reader["sure"] == [40, 68, 95] and reader["notes"] == ["Unsure."]
    assert data["digits"] == "3" and json.dumps(data)


def test_looks_data_of_another_run_has_another_identity() -> None:
    trace = fakes.gaze_trace(steps=3)
    halved = trace.output.probabilities / np.float32(2)
    other = replace(trace, output=replace(trace.output, probabilities=halved))
    first, again, second = (
        looks_data([Reading("Glimpses", "", one)], "3", "nothing")["id"]
        for one in (trace, fakes.gaze_trace(steps=3), other)
    )
    assert first == again != second
