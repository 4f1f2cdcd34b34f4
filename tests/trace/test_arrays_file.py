"""npz files of raw arrays: NumPy's own files are read, and no file is trusted."""

from __future__ import annotations

import io
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from areaviz.trace import file as codec
from areaviz.trace.arrays import from_npz, make_example_arrays, make_example_file
from areaviz.trace.document import validate
from areaviz.trace.errors import InputError
from tests import fakes
from tests.trace.strategies import SOME
from tests.trace.test_arrays import weights


def saved(compressed: bool = False, **arrays: Any) -> bytes:
    file = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(file, **arrays)
    return file.getvalue()


def header(shape: tuple[int, ...], descr: str, order: bool = False) -> bytes:
    """Return the beginning of an npy file that promises an array."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        file, {"descr": descr, "fortran_order": order, "shape": shape}
    )
    return file.getvalue()


def packed(**entries: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(f"{name}.npy", content)
    return file.getvalue()


@pytest.mark.parametrize("compressed", [False, True])
def test_example_file_is_read(compressed: bool) -> None:
    arrays: dict[str, Any] = make_example_arrays()
    trace = from_npz(saved(compressed, **arrays))
    validate(trace)
    np.testing.assert_allclose(trace.maps["attention"].weights, arrays["weights"], rtol=1e-5)
    assert trace.fields["memory"].raw.startswith("The old red train")
    assert trace.fields["query"].labels[3] == "Zug"
    assert from_npz(make_example_file()).maps["attention sums"].grid.max_width == 3


def test_cells_and_picture_are_read() -> None:
    seen = fakes.picture(width=30, height=20)
    trace = from_npz(
        saved(weights=weights(1, 2, 6, 6), shape=np.array([2, 3]), picture=seen.pixels), area_size=2
    )
    assert trace.request.picture and trace.request.picture.rgb == seen.rgb
    assert (
        trace.maps["attention sums"].grid.max_height,
        trace.maps["attention sums"].grid.max_width,
    ) == (2, 2)


@pytest.mark.parametrize(
    "array", [weights(1, 2, 3, 3).astype(np.float16), weights(1, 2, 3, 3).astype(np.float64)]
)
def test_single_array_of_any_name_and_precision_suffices(array: Any) -> None:
    trace = from_npz(saved(arr_0=array))
    np.testing.assert_allclose(trace.maps["attention"].weights, array, rtol=2e-3)


def test_fortran_ordered_arrays_are_read_correctly() -> None:
    array = np.asfortranarray(weights(2, 3, 4, 5))
    np.testing.assert_allclose(
        from_npz(saved(weights=array)).maps["attention"].weights, array, rtol=1e-6
    )


def test_arrays_file_accepts_a_stored_trace() -> None:
    trace = fakes.trace()
    assert from_npz(codec.trace_to_bytes(trace)).request == trace.request


CANARY = "canary"


class Canary:
    """An object that writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_object_arrays_are_refused_and_never_unpickled(tmp_path: Path) -> None:
    canary = tmp_path / CANARY
    sung = np.array([Canary(canary)] * 2, dtype=object)
    given: list[dict[str, Any]] = [
        {"weights": sung},
        {"weights": weights(1, 1, 2, 2), "memory": sung},
    ]
    for arrays in given:
        with pytest.raises(InputError, match="Python objects"):
            from_npz(saved(**arrays))
    assert not canary.exists()
    np.load(io.BytesIO(saved(weights=np.array([Canary(canary)], dtype=object))), allow_pickle=True)[
        "weights"
    ]
    assert canary.exists(), "the canary does sing"


GOOD = weights(1, 1, 2, 2)
REFUSED = {
    "no archive": (b"hello", "not an .npz archive"),
    "nothing": (b"", "not an .npz archive"),
    "no weights": (saved(a=GOOD, b=GOOD), 'no array called "weights". Its arrays are a, b'),
    "empty": (b"PK\x05\x06" + bytes(18), "not an .npz archive"),
    "three axes": (saved(weights=GOOD[0]), "layers x heads"),
    "labels": (saved(weights=GOOD, memory=np.array(["a"])), "1 labels of memory"),
    "numbers as labels": (
        saved(weights=GOOD, memory=np.array([1, 2])),
        "one-dimensional array of texts",
    ),
    "table of labels": (
        saved(weights=GOOD, memory=np.array([["a"], ["b"]])),
        "one-dimensional array of texts",
    ),
    "long labels": (saved(weights=GOOD, memory=np.array(["a", "b" * 101])), "101 characters"),
    "one side": (saved(weights=GOOD, shape=np.array([2])), "two whole numbers"),
    "broken sides": (saved(weights=GOOD, shape=np.array([0.5, 4])), "two whole numbers"),
    "other cells": (saved(weights=GOOD, shape=np.array([3, 3])), "3 x 3 cells"),
    "negative cells": (
        saved(weights=GOOD, shape=np.array([-1, -2])),
        "cells but the weights have 2",
    ),
    "picture": (
        saved(weights=GOOD, shape=np.array([1, 2]), picture=np.zeros((4, 4, 4), np.uint8)),
        "x 3 bytes",
    ),
    "cut": (saved(weights=GOOD)[:-40], "damaged"),
    "other bytes": (packed(weights=header((1, 1, 2, 2), "<f4") + bytes(8)), "damaged"),
    "no array": (packed(weights=b"not an array at all"), "damaged"),
    "huge promise": (packed(weights=header((12, 12, 4096, 4096), "<f4")), "the limit is .* MiB"),
    "many items": (packed(weights=header((1, 1, 1, 10**12), "<f4")), "1,000,000,000,000"),
    "huge labels": (
        packed(weights=header((1, 1, 2, 2), "<f4"), memory=header((2,), "<U100000000")),
        "100,000,000",
    ),
    "huge picture": (
        packed(weights=header((1, 1, 2, 2), "<f4"), picture=header((10**6, 10**6, 3), "|u1")),
        "sides of 1 to 640",
    ),
}


@pytest.mark.parametrize(("content", "said"), REFUSED.values(), ids=REFUSED)
def test_unreadable_file_is_refused_in_one_sentence(content: bytes, said: str) -> None:
    with pytest.raises(InputError, match=said):
        from_npz(content)


def test_false_sizes_are_refused_before_allocation() -> None:
    """The header promises zeros that would fill the memory but compress well.

    The file here contains only the first 64 MB of them.
    """
    content = packed(weights=header((4, 8, 2000, 2000), "<f4") + bytes(64 * 10**6))
    tracemalloc.start()
    with pytest.raises(InputError, match="the limit is .* MiB"):
        from_npz(content)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * len(content)


@SOME
@given(st.data())
def test_damaged_file_gives_an_error_or_a_trace(data: st.DataObject) -> None:
    content = bytearray(make_example_file())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        validate(from_npz(bytes(content)))
    except InputError as error:
        assert str(error).endswith((".", "... ."))
