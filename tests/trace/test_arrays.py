"""Traces made from raw arrays, and the error messages for arrays that cannot become one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

import areaviz
from areaviz.trace import file
from areaviz.trace.document import validate
from areaviz.trace.errors import InputError
from areaviz.trace.query import coverage
from areaviz.trace.record import LayeredWeights, Trace
from areaviz.trace.request import Focus
from areaviz.views.views import VIEWS
from tests import fakes, reference


def weights(*shape: int, seed: int = 0) -> npt.NDArray[np.float32]:
    drawn = np.random.default_rng(seed).exponential(1, shape)
    shares: npt.NDArray[np.float32] = (drawn / drawn.sum(-1, keepdims=True)).astype(np.float32)
    return shares


def test_text_arrays_become_one_site_with_sums() -> None:
    given = weights(2, 3, 4, 4)
    trace = areaviz.from_arrays(given, ["the", "small", "dog", "runs"])
    validate(trace)
    assert list(trace.maps) == ["attention", "attention sums"]
    np.testing.assert_allclose(trace.maps["attention"].weights, given, rtol=1e-6)
    assert trace.fields["text"].raw == "the small dog runs"
    assert trace.fields["text"].anchors.tolist() == [[0, 3], [4, 9], [10, 13], [14, 18]]
    assert (
        not trace.maps["attention"].derived
        and "regular heads" in trace.maps["attention sums"].derived
    )


@pytest.mark.parametrize(
    ("shape", "size"), [((1, 5), 1), ((1, 5), 3), ((1, 2), 9), ((3, 4), 2), ((3, 4), 16)]
)
def test_sums_add_up_items_of_each_area(shape: tuple[int, int], size: int) -> None:
    items = shape[0] * shape[1]
    given = weights(2, 2, 3, items)
    trace = areaviz.from_arrays(given, queries=("a", "b", "c"), shape=shape, area_size=size)
    if size == 1:
        assert list(trace.maps) == ["attention"]
        return
    listed = reference.areas(*shape, min(size, shape[0]), min(size, shape[1]))
    sums = np.stack([given[..., held].sum(-1) for held in listed], -1)
    expected = sums / sums.sum(-1, keepdims=True)
    np.testing.assert_allclose(trace.maps["attention sums"].weights, expected, rtol=1e-5)


def test_masked_query_stays_masked_in_sums() -> None:
    given = weights(1, 1, 3, 3)
    given[0, 0, 1] = 0
    trace = areaviz.from_arrays(given)
    assert not trace.maps["attention sums"].weights[0, 0, 1].any()
    validate(trace)


def test_picture_cells_are_anchored_in_pixels() -> None:
    seen = fakes.picture(width=60, height=40)
    trace = areaviz.from_arrays(weights(1, 2, 6, 6), shape=(2, 3), picture=seen)
    assert trace.maps["attention"].query == trace.maps["attention"].memory == "picture"
    assert trace.fields["picture"].anchors[4].tolist() == [20, 20, 40, 40]
    assert trace.request.picture == seen
    grey = areaviz.from_arrays(weights(1, 2, 6, 6), shape=(2, 3)).request.picture
    assert grey and (grey.height, grey.width) == (64, 96)


def test_half_precision_weights_are_renormalised() -> None:
    trace = areaviz.from_arrays(weights(1, 1, 2, 700).astype(np.float16), queries=("a", "b"))
    np.testing.assert_allclose(trace.maps["attention"].weights.sum(-1), 1, rtol=1e-6)


def test_items_without_labels_are_numbered() -> None:
    trace = areaviz.from_arrays(weights(1, 1, 2, 3))
    assert (trace.fields["memory"].labels, trace.fields["query"].labels) == (
        ("1", "2", "3"),
        ("1", "2"),
    )


@pytest.mark.parametrize(
    "trace",
    [
        areaviz.from_arrays(weights(2, 2, 4, 4), ["a", "b", "c", "d"]),
        areaviz.from_arrays(weights(2, 2, 3, 4), queries=["x", "y", "z"]),
        areaviz.from_arrays(weights(2, 2, 6, 6), shape=(2, 3)),
        areaviz.from_arrays(weights(2, 2, 2, 6), queries=["x", "y"], shape=(2, 3)),
    ],
)
def test_every_site_has_a_view_and_survives_storage(trace: Trace) -> None:
    again = file.trace_from_bytes(file.trace_to_bytes(trace))
    for site, attention in trace.maps.items():
        focus = Focus(site, 1, 1, items=(0,))
        fitting = [view for view in VIEWS.values() if view.fits(trace, focus)]
        assert fitting
        for view in fitting:
            assert (
                view.table(trace, focus).rows and view.figure(trace, focus).layout.meta["caption"]
            )
            assert view.print(trace, focus).axes
        assert again.maps[site].derived == attention.derived
        np.testing.assert_array_equal(again.maps[site].weights, attention.weights)
    assert coverage(trace.maps[site], 0, None).shape[1] == attention.grid.items


BAD = weights(1, 1, 2, 2)
REFUSED = {
    "three axes": ({"weights": BAD[0]}, "layers x heads x queries x memory"),
    "no queries": ({"weights": BAD[:, :, :0]}, "each at least 1"),
    "whole numbers": ({"weights": np.ones((1, 1, 2, 1), dtype=np.int64)}, "floating-point"),
    "text": ({"weights": np.full((1, 1, 2, 1), "a")}, "floating-point"),
    "not finite": (
        {"weights": np.where([[[[True, False]]]], np.nan, BAD)},
        "layer 1, head 1, query 1 are not all",
    ),
    "scores": ({"weights": BAD - 0.9}, "are negative"),
    "no softmax": ({"weights": BAD * np.float32(1.5)}, "query 1 sum to 1.5 but"),
    "too few labels": (
        {"weights": BAD, "memory": ["a"]},
        "1 labels of memory, but the weights have 2",
    ),
    "too many queries": ({"weights": BAD, "queries": ["a"] * 3}, "3 labels of queries"),
    "long label": ({"weights": BAD, "memory": ["a", "b" * 101]}, "101 characters"),
    "cells": ({"weights": BAD, "shape": (1, 3)}, "1 x 3 cells but the weights have 2"),
    "not cells": ({"weights": BAD, "picture": np.zeros((4, 4, 3), np.uint8)}, '"shape"'),
    "pixels": (
        {"weights": BAD, "shape": (1, 2), "picture": np.zeros((4, 4), np.uint8)},
        "height x width x 3",
    ),
    "large picture": (
        {"weights": BAD, "shape": (1, 2), "picture": np.zeros((641, 4, 3), np.uint8)},
        "641",
    ),
    "area size": ({"weights": BAD, "area_size": 17}, "between 1 and 16"),
    "items": ({"weights": np.zeros((1, 1, 1, 4097), np.float32)}, "4,097"),
    "bytes": (
        {"weights": np.broadcast_to(np.float32(0), (12, 32, 4096, 4096)), "area_size": 1},
        "the limit is 1,024 MiB. Give fewer heads and items",
    ),
    "bytes of areas": (
        {"weights": np.broadcast_to(np.float32(0), (12, 12, 4096, 4096))},
        "the limit is 1,024 MiB. Give fewer heads and items or use smaller areas",
    ),
}


def test_from_arrays_makes_names_valid_for_requests() -> None:
    assert areaviz.from_arrays(BAD, name="../org/x").request.model == "org-x"


@pytest.mark.parametrize(("given", "said"), REFUSED.values(), ids=REFUSED)
def test_invalid_arrays_are_refused_in_one_sentence(given: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        areaviz.from_arrays(**given)  # type: ignore[arg-type]


def test_weights_above_limit_are_read_layer_by_layer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = weights(3, 2, 4, 5)
    held = areaviz.from_arrays(given)
    monkeypatch.setattr("areaviz.trace.arrays.MAX_MAP_BYTES", given.nbytes - 1)
    own = given.copy()
    read = areaviz.from_arrays(own)
    for site, attention in held.maps.items():
        np.testing.assert_array_equal(read.maps[site].weights[1], attention.weights[1])
        np.testing.assert_array_equal(read.maps[site].weights[2, 1], attention.weights[2, 1])
    assert isinstance(read.maps["attention"].weights, LayeredWeights)
    assert read.maps["attention"].weights.cached_bytes == given.nbytes // 3
    # A layer is checked only when it is read.
    own[2, 1, 3] *= 2
    assert read.maps["attention"].weights[1, 0].shape == (4, 5)
    with pytest.raises(InputError, match="layer 3, head 2, query 4 sum to 2 but"):
        read.maps["attention"].weights[2]
