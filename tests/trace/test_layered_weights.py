"""Weights fetched layer by layer behave like an array and fetch only what is read."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from areaviz.trace import file, query
from areaviz.trace.areas import FloatArray, rank_areas
from areaviz.trace.document import validate
from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.record import AttentionMap, LayeredWeights
from areaviz.trace.request import Focus
from areaviz.views.views import VIEWS
from tests import fakes

WHOLE = fakes.trace(layers=3).maps["encoder-decoder"]
SHAPE = (3, 4, *WHOLE.weights.shape[2:])


class Elsewhere:
    """A source of an array's layers that records which layers were fetched."""

    def __init__(self, weights: FloatArray) -> None:
        self.weights, self.fetched = weights, list[int]()

    def __call__(self, layer: int) -> FloatArray:
        self.fetched.append(layer)
        found: FloatArray = self.weights[layer]
        return found


@pytest.fixture
def elsewhere() -> Elsewhere:
    return Elsewhere(WHOLE.weights)


@pytest.fixture
def layered(elsewhere: Elsewhere) -> LayeredWeights:
    return LayeredWeights(SHAPE, elsewhere)


def test_metadata_fetches_no_layer(layered: LayeredWeights, elsewhere: Elsewhere) -> None:
    assert (
        layered.shape,
        layered.size,
        layered.nbytes,
        layered.dtype,
        layered.ndim,
        len(layered),
    ) == (
        *(WHOLE.weights.shape, WHOLE.weights.size, WHOLE.weights.nbytes, WHOLE.weights.dtype, 4, 3),
    )
    assert elsewhere.fetched == []


@pytest.mark.parametrize(
    "index",
    [
        0,
        -1,
        np.int64(2),
        (1,),
        (1, 2),
        (1, slice(1, 3)),
        (2, 0, [0, 2]),
        (0, slice(None), 1, slice(2)),
        (1, ...),
    ],
)
def test_index_within_a_layer_fetches_only_it(
    index: Any, layered: LayeredWeights, elsewhere: Elsewhere
) -> None:
    np.testing.assert_array_equal(layered[index], WHOLE.weights[index])
    np.testing.assert_array_equal(layered[index], WHOLE.weights[index])
    assert len(elsewhere.fetched) == 1


@pytest.mark.parametrize("index", [slice(1, 3), ..., (slice(None), 1), [0, 2], None])
def test_every_other_index_is_answered(index: Any, layered: LayeredWeights) -> None:
    np.testing.assert_array_equal(layered[index], WHOLE.weights[index])


@pytest.mark.parametrize(
    "ask",
    [
        lambda w: w.mean(1),
        lambda w: np.sum(w, -1),
        lambda w: w * 2 + w,
        lambda w: w @ np.ones(w.shape[-1]),
        lambda w: w > 0.5,
        lambda w: np.where(w > 0.5, w, 0),
        lambda w: w.astype(np.float16),
        lambda w: np.stack(list(w)),
        np.array,
    ],
)
def test_numpy_accepts_layered_weights_as_array(
    ask: Callable[[Any], Any], layered: LayeredWeights, elsewhere: Elsewhere
) -> None:
    np.testing.assert_array_equal(ask(layered), ask(WHOLE.weights))
    assert sorted(elsewhere.fetched) == [0, 1, 2]


@pytest.mark.parametrize("index", [3, -4])
def test_missing_layer_is_refused(
    index: int, layered: LayeredWeights, elsewhere: Elsewhere
) -> None:
    with pytest.raises(IndexError):
        layered[index]
    assert elsewhere.fetched == []


def test_recently_read_layers_are_kept(elsewhere: Elsewhere) -> None:
    layered = LayeredWeights(SHAPE, elsewhere, most=2)
    assert layered.cached_bytes * 3 == layered.nbytes * 2
    for layer in (0, 1, 0, 2, 0, 1):
        np.testing.assert_array_equal(layered[layer], WHOLE.weights[layer])
    assert elsewhere.fetched == [0, 1, 2, 1], "1 was unused for longest when 2 came, then 2 was"
    assert LayeredWeights(SHAPE, elsewhere, most=9).cached_bytes == layered.nbytes


def test_failed_fetch_is_reported_and_retried() -> None:
    failures = [BackendError("The server is gone; try again.")]

    def fetch(layer: int) -> FloatArray:
        if failures:
            raise failures.pop()
        found: FloatArray = WHOLE.weights[layer]
        return found

    layered = LayeredWeights(SHAPE, fetch)
    with pytest.raises(BackendError, match="gone"):
        layered[0, 1]
    np.testing.assert_array_equal(layered[0, 1], WHOLE.weights[0, 1])


def test_slow_layer_does_not_block_other_layers() -> None:
    asked, answer = threading.Event(), threading.Event()
    fetched: list[int] = []

    def fetch(layer: int) -> FloatArray:
        fetched.append(layer)
        if layer == 0:
            asked.set()
            answer.wait()
        found: FloatArray = WHOLE.weights[layer]
        return found

    layered = LayeredWeights(SHAPE, fetch)
    with ThreadPoolExecutor(3) as pool:
        slow = [pool.submit(lambda: layered[0, 1]) for _ in range(2)]
        asked.wait()
        try:
            other = pool.submit(lambda: layered[1, 2]).result()
        finally:
            answer.set()
        np.testing.assert_array_equal(other, WHOLE.weights[1, 2])
        for one in slow:
            np.testing.assert_array_equal(one.result(), WHOLE.weights[0, 1])
    assert sorted(fetched) == [0, 1], "a layer is fetched once, however many wait for it"


def lazy(attention: AttentionMap, fetch: Callable[[int], FloatArray]) -> AttentionMap:
    return replace(attention, weights=LayeredWeights(SHAPE, fetch))  # type: ignore[arg-type]


def test_queries_on_a_layer_fetch_only_it(elsewhere: Elsewhere) -> None:
    attention = lazy(WHOLE, elsewhere)
    for ask in (
        lambda one: query.coverage(one, 1, None),
        lambda one: query.entropy(one, 1, 0),
        lambda one: rank_areas(one.weights[1], one.grid, 3).weight,
        lambda one: np.array([found.weight for found in query.top_areas(one, 1, 2, 3)]),
        lambda one: np.array([found.weight for found in query.top_queries(one, 1, 2, 3)]),
    ):
        np.testing.assert_array_equal(ask(attention), ask(WHOLE))
    assert elsewhere.fetched == [1]


def test_trace_without_weights_is_sent_and_drawn() -> None:
    whole = fakes.trace(layers=3)
    fetched: list[tuple[str, int]] = []

    def fetch(site: str, layer: int) -> FloatArray:
        fetched.append((site, layer))
        return file.layer_from_bytes(
            file.layer_to_bytes(whole.maps[site].weights[layer]),
            whole.maps[site].weights.shape[1:],
        )

    content = file.trace_to_bytes(whole, without=whole.maps)
    assert len(content) < len(file.trace_to_bytes(whole)) / 4
    found = file.trace_from_bytes(content, fetch)
    validate(found)
    assert fetched == []
    focus = Focus("encoder-decoder", 1, None, "query", (2,))
    drawn = [name for name, view in VIEWS.items() if view.fits(found, focus)]
    assert (
        drawn == [name for name, view in VIEWS.items() if view.fits(whole, focus)]
        and len(drawn) > 3
    )
    assert file.trace_to_bytes(found) == file.trace_to_bytes(whole)
    assert len(fetched) == len(set(fetched)) == 9
    for name in drawn:
        assert (
            VIEWS[name].figure(found, focus).to_json() == VIEWS[name].figure(whole, focus).to_json()
        ), name


def test_file_without_weights_is_refused_elsewhere() -> None:
    content = file.trace_to_bytes(fakes.trace(), without=["encoder self"])
    with pytest.raises(InputError, match="damaged"):
        file.trace_from_bytes(content)
