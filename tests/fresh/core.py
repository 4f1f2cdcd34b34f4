"""Make a trace without PyTorch. `tests.try_wheel` runs this where only the wheel is installed."""

import sys
from importlib.util import find_spec

import numpy as np

import areaviz
from areaviz.samples.paths import IS_CLONE

assert find_spec("torch") is None and find_spec("streamlit") is None
assert not IS_CLONE, "the package of a clone was imported"

scores = np.random.default_rng(0).normal(size=(2, 3, 4, 4))
weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
trace = areaviz.from_arrays(weights, memory=("attention", "looks", "at", "areas"), area_size=2)
areaviz.save(trace, "arrays.npz")
loaded = areaviz.load("arrays.npz")

attention = loaded.maps["attention sums"]
assert areaviz.top_areas(attention, 0, 0, 3, 1)[0].weight > 0
assert areaviz.coverage(attention, 0, 0).shape[-1] == 4
areaviz.export(loaded, "exported.html")
shown = areaviz.show(loaded)
assert {*shown._repr_mimebundle_()} == {"text/plain", "text/html", "image/png"}

try:
    areaviz.attend("some/model", "A small dog runs.")
except ImportError as error:
    assert "areaviz[torch]" in str(error), error
else:
    sys.exit("attend ran without PyTorch")
assert sys.modules.get("torch") is None
