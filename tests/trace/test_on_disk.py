"""Stored traces whose weights stay on disk.

They equal traces in memory, and nothing large is unpacked before it is checked.
"""

from __future__ import annotations

import io
import tracemalloc
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

import areaviz
from areaviz.trace import file as codec
from areaviz.trace.arrays import open_npz
from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.file import UPLOADED, open_trace
from areaviz.trace.record import LayeredWeights, Trace
from areaviz.trace.request import Focus
from areaviz.views.views import VIEWS
from tests import fakes
from tests.faults.files import repacked
from tests.faults.uploads import lying_arrays, zeros_trace
from tests.trace.strategies import SOME, traces
from tests.trace.test_arrays import weights
from tests.trace.test_arrays_file import saved
from tests.trace.test_codec import assert_equal

WEIGHTS = "map.encoder-decoder.weights.npy"


def opened(content: bytes, **options: object) -> Trace:
    return open_trace(io.BytesIO(content), **options)  # type: ignore[arg-type]


@SOME
@given(traces())
def test_opened_trace_equals_stored_trace(trace: Trace) -> None:
    found = opened(codec.trace_to_bytes(trace))
    assert all(isinstance(one.weights, LayeredWeights) for one in found.maps.values())
    assert_equal(trace, found)
    assert (
        codec.trace_to_bytes(found) == codec.trace_to_bytes(trace)
        and found.nbytes < trace.nbytes
        or not trace.maps
    )


def test_half_precision_and_every_view_work_from_disk() -> None:
    whole = codec.trace_from_bytes(codec.trace_to_bytes(fakes.trace(), half=True))
    found = opened(codec.trace_to_bytes(fakes.trace(), half=True))
    assert_equal(whole, found)
    assert codec.trace_to_bytes(found, half=True) == codec.trace_to_bytes(whole, half=True)
    focus = Focus("encoder-decoder", 1, 2, "query", (2,))
    for name, view in VIEWS.items():
        if view.fits(whole, focus):
            assert view.fits(found, focus), name
            assert view.figure(found, focus).to_json() == view.figure(whole, focus).to_json(), name


def test_weights_are_never_in_memory_as_whole() -> None:
    content = zeros_trace(12, 4, 512, 512)
    tracemalloc.start()
    try:
        found = opened(content)
        np.asarray(found.maps["encoder-decoder"].weights[7, 2])
        assert tracemalloc.get_traced_memory()[1] < 25 << 20
    finally:
        tracemalloc.stop()


def small(**limits: int) -> object:
    return replace(UPLOADED, **limits)


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"layer": 2000}, 'A layer of "[a-z -]+" takes .* MiB, but the limit is .* Use fewer'),
        (
            {"areas": 20},
            'The memory of "[a-z -]+" has .* areas, but the limit is 20. Use fewer items',
        ),
        ({"rows": 10}, "heads of .* queries, .* rows, but the limit is 10"),
        ({"weights": 1 << 16}, "The attention takes .*, but the limit is"),
        ({"maps": 2}, "has 3 maps, but the limit is 2"),
        ({"items": 5}, "items, but the limit is 5. Make a trace of a shorter text"),
        ({"beside": 100}, "All but the attention takes"),
    ],
)
def test_too_large_entry_is_refused_before_writing(limits: dict[str, int], said: str) -> None:
    asked: list[int] = []

    def reserve(size: int) -> Callable[[], None]:
        asked.append(size)
        return lambda: None

    with pytest.raises(InputError, match=said):
        opened(codec.trace_to_bytes(fakes.trace()), room=small(**limits), reserve=reserve)
    assert not asked or "items" in limits, "items are known when the document was read"


def test_disk_space_is_reserved_before_unpacking() -> None:
    def full(size: int) -> object:
        raise BackendError(f"no room for {size}")

    trace = fakes.trace()
    size = sum(one.weights.nbytes for one in trace.maps.values())
    with pytest.raises(BackendError, match=f"no room for {size}"):
        opened(codec.trace_to_bytes(trace), reserve=full)
    array = weights(2, 3, 4, 5)
    with pytest.raises(BackendError, match=f"no room for {array.size * 4}"):
        open_npz(io.BytesIO(saved(weights=array)), reserve=full)  # type: ignore[arg-type]


@pytest.mark.parametrize("change", ["nan", "below", "sum"])
def test_rows_not_summing_to_one_are_refused(change: str) -> None:
    trace = fakes.trace(layers=2)
    broken = trace.maps["encoder-decoder"].weights.copy()
    broken[1, 3, -1] = {"nan": np.nan, "below": -0.5, "sum": 0.9}[change]
    file = io.BytesIO()
    np.lib.format.write_array(file, broken, version=(1, 0))
    with pytest.raises(InputError, match="damaged .*encoder-decoder.*(below 0|neither 1 nor 0)"):
        opened(repacked(codec.trace_to_bytes(trace), {WEIGHTS: file.getvalue()}))


def test_entry_larger_than_its_header_uses_no_memory() -> None:
    content = lying_arrays(megabytes=200)
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match="damaged or incomplete"):
            open_npz(io.BytesIO(content))
        assert tracemalloc.get_traced_memory()[1] < 2 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.longdouble])
def test_arrays_of_any_type_match_in_memory_reading(order: str, kind: type) -> None:
    array = np.asarray(weights(2, 3, 40, 30), dtype=kind, order=order)  # type: ignore[call-overload]
    found = open_npz(io.BytesIO(saved(True, weights=array)), area_size=4)
    assert_equal(areaviz.from_arrays(array, area_size=4), found)


def test_error_names_the_position_of_broken_row() -> None:
    array = weights(2, 3, 400, 500)
    array[1, 2, 399] *= 2
    with pytest.raises(InputError, match="at layer 2, head 3, query 400 sum to 2"):
        open_npz(io.BytesIO(saved(weights=array)))
