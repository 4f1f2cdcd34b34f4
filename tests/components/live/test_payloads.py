"""The ribbon's payload in JavaScript and in Python, made from the same random maps."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from areaviz.live.build import collect_constants
from areaviz.page.content import MOST_AREAS
from areaviz.trace.areas import AreaGrid
from areaviz.trace.record import AttentionMap, Trace
from areaviz.trace.request import Focus
from areaviz.views.grid.grid import make_grid_payload
from areaviz.views.looks.looks import make_looks_payload
from areaviz.views.ribbon.ribbon import make_ribbon_payload
from tests import fakes
from tests.components.live.node import run_node

TEXTS = (
    ("A small dog runs.", "Ein kleiner Hund rennt."),
    ("x", "ja"),
    ("two  blanks, 狗 and a wonderful_word", "ein sehr langes Wort: Donaudampfschiff"),
)


def plain(trace: Trace, site: str, layer: int, given: dict[str, Any]) -> dict[str, Any]:
    """Return a trace as the plain values of the engine's traces."""
    maps, fields = {}, {}
    for name, attention in trace.maps.items():
        areas = attention.grid
        grid = [areas.height, areas.width, areas.max_height, areas.max_width]
        weights = np.ascontiguousarray(attention.weights, np.float32)
        layers, heads, queries, _ = weights.shape
        maps[name] = {
            "site": name,
            "query": attention.query,
            "memory": attention.memory,
            "layers": layers,
            "heads": heads,
            "queries": queries,
            "grid": grid,
            "weights": base64.b64encode(weights.tobytes()).decode(),
            "normalisation": attention.normalisation,
            "chosen": None if attention.chosen is None else attention.chosen.ravel().tolist(),
        }
    for name, field in trace.fields.items():
        anchors = field.anchors.tolist()
        fields[name] = {
            "kind": field.kind,
            "raw": field.raw,
            "labels": list(field.labels),
            "anchors": anchors,
        }
    request: dict[str, Any] = {"method": "greedy", "beam": 4, "target": None, "changes": ""}
    request["model"] = trace.request.model
    one = trace.request.picture
    if one is not None:
        request["picture"] = {"width": one.width, "height": one.height}
    output = [{"probability": likely} for likely in trace.output.probabilities.tolist()]
    gazes = {}
    for name, gaze in trace.gazes.items():
        corners, shape = gaze.corners.ravel().tolist(), gaze.seen.shape[:3]
        gazes[name] = {"corners": corners, "shape": shape}
    made = {"maps": maps, "fields": fields, "request": request, "output": output}
    made |= {"gazes": gazes, "details": dict(trace.details)}
    return {"constants": given, "trace": made, "site": site, "layer": layer}


def assert_equal_arrays(found: dict[str, Any], expected: dict[str, Any]) -> None:
    """Check arrays; rests are sums of next to nothing, and a last bit may differ."""
    assert found["arrays"].keys() == expected["arrays"].keys()
    for name, values in expected["arrays"].items():
        own = found["arrays"][name]
        assert own["bytes"] == values.itemsize, name
        numbers = np.array(own["values"]).reshape(values.shape)
        # Half a thousandth of the stored scale for rests, and one step for all other weights.
        is_share = name.endswith(("weight", "left", "share")) or name == "average"
        allowed = 200 if name.endswith("_rest") else int(is_share)
        if f"{name}_weight" in expected["arrays"] and name != "densest":
            seen = expected["arrays"][f"{name}_weight"] > 0
            assert np.array_equal(numbers[seen], values[seen]), name
        else:
            assert np.abs(numbers - values.astype(np.int64)).max(initial=0) <= allowed, name


def assert_holds(found: Any, expected: Any) -> None:
    """Check that the browser's header has every entry of Python's, except the digest.

    The browser may know more: a ribbon ignores the entries that it does not know.
    """
    if isinstance(expected, dict):
        for name, value in expected.items():
            if name != "id":
                assert_holds(found[name], value)
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_holds(one, other)
    else:
        assert found == expected


@pytest.mark.parametrize(("source", "target"), TEXTS)
@pytest.mark.parametrize("area_size", [1, 5])
def test_payloads_of_random_maps_are_equal(source: str, target: str, area_size: int) -> None:
    trace = fakes.trace(source, target, area_size=area_size)
    asked, expected = [], []
    for site in trace.maps:
        for layer in range(2):
            asked.append(plain(trace, site, layer, collect_constants(trace)))
            expected.append(make_ribbon_payload(trace, Focus(site, layer), MOST_AREAS))
    for found, wanted in zip(run_node("make_payloads.mjs", asked), expected, strict=True):
        assert_equal_arrays(found, wanted)
        assert_holds(found["header"], json.loads(json.dumps(wanted["header"])))


def test_payload_of_many_rows_has_few_entries_of_8_bits() -> None:
    trace = _wide_trace(heads=8, items=24)
    given = collect_constants(trace) | {"roomy": 100}
    (found,) = run_node("make_payloads.mjs", [plain(trace, "encoder self", 0, given)])
    assert found["header"]["keep"] == {"area": 3, "several": 1, "query": 2}
    assert found["arrays"]["area_weight"]["bytes"] == 1
    assert "area_rest" not in found["arrays"]


@pytest.mark.parametrize(("area_size", "hard"), [(1, False), (1, True), (3, False)])
@pytest.mark.parametrize("site", ["encoder-decoder", "encoder self"])
def test_payloads_of_rectangles_are_equal(site: str, area_size: int, hard: bool) -> None:
    trace = fakes.caption_trace(area_size=area_size, hard=hard)
    (found,) = run_node("make_payloads.mjs", [plain(trace, site, 1, collect_constants(trace))])
    expected = make_grid_payload(trace, Focus(site, 1))
    # The page has the picture already, and a digest of it would say nothing there.
    expected["arrays"].pop("picture")
    expected["header"]["picture"].pop("digest")
    assert_equal_arrays(found, expected)
    assert_holds(found["header"], json.loads(json.dumps(expected["header"])))


@pytest.mark.parametrize(("site", "steps", "scales"), [("glimpses", 3, 2), ("transformer", 1, 1)])
def test_payloads_of_looks_are_equal(site: str, steps: int, scales: int) -> None:
    trace = fakes.gaze_trace(site, steps, scales)
    (found,) = run_node("make_payloads.mjs", [plain(trace, site, 0, collect_constants(trace))])
    expected = make_looks_payload(trace, Focus(site))
    expected["header"].pop("id")
    assert found["header"].pop("items") == [steps - 1]
    assert found == expected


def _wide_trace(heads: int, items: int) -> Trace:
    trace = fakes.trace("a" * (items - 1), "b")
    field = trace.fields["source"]
    rng = np.random.default_rng(1)
    grid = AreaGrid(1, len(field), 1, 3)
    weights = rng.random((1, heads, len(field), grid.count), np.float32)
    weights /= weights.sum(-1, keepdims=True)
    site = "encoder self"
    return replace(trace, maps={site: AttentionMap(site, "source", "source", grid, weights)})
