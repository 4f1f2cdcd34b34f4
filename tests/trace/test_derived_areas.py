"""Maps derived from other maps: computed when a layer is read, and never stored."""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from areaviz.trace import derived
from areaviz.trace import file as codec
from areaviz.trace.areas import AreaGrid, FloatArray
from areaviz.trace.arrays import from_arrays
from areaviz.trace.derived import (
    AS_AREAS,
    FROM_KEYS,
    SUMS,
    AreaSoftmax,
    AreaSums,
    compute_shared_sums,
    compute_shares_of_logs,
    make_areas_map,
    make_sums_map,
)
from areaviz.trace.errors import InputError
from areaviz.trace.file import UPLOADED, open_trace
from areaviz.trace.record import LayeredWeights, Trace, count_held_bytes
from tests import fakes
from tests.faults.files import repacked
from tests.trace.strategies import SOME, grids
from tests.trace.test_arrays import weights
from tests.trace.test_codec import assert_equal

SITE = "attention"
STORED = Path(__file__).parent


def trace_of(array: FloatArray, area_size: int = 3) -> Trace:
    return from_arrays(array, area_size=area_size)


def slow_sums(row_N: FloatArray, grid: AreaGrid) -> list[float]:
    """Compute area sums from their definition, area by area."""
    sums = []
    for area in map(grid.area, range(grid.count)):
        sums.append(sum(float(row_N[item]) for item in range(area.left, area.left + area.width)))
    return [one / (sum(sums) or 1) for one in sums]


def test_sums_follow_their_definition() -> None:
    array = weights(2, 3, 4, 5)
    array[1, 2, 3] = 0
    trace = trace_of(array)
    sums = trace.maps[SITE + SUMS]
    assert sums.weights.shape == (2, 3, 4, sums.grid.count) and sums.grid == AreaGrid(1, 5, 1, 3)
    for place in np.ndindex(2, 3, 4):
        expected = slow_sums(trace.maps[SITE].weights[place], sums.grid)
        np.testing.assert_allclose(sums.weights[place], expected, atol=1e-6)


def slow_areas(logs_N: FloatArray, grid: AreaGrid) -> list[float]:
    """Compute the softmax over areas of the mean of their items' logits, area by area."""
    raised = []
    for area in map(grid.area, range(grid.count)):
        logits = []
        for row in range(area.top, area.top + area.height):
            for column in range(area.left, area.left + area.width):
                logits.append(float(logs_N[row * grid.width + column]))
        raised.append(math.exp(sum(logits) / area.size))
    return [one / (sum(raised) or 1) for one in raised]


def logs_of(rng: np.random.Generator, shape: tuple[int, ...], masked: float = 0.0) -> FloatArray:
    """Return logarithms of random weights with some masked items and a fully masked first row."""
    logits = rng.normal(0, 3, shape)
    logits[rng.random(shape) < masked] = -np.inf
    logits[(0,) * (len(shape) - 1)] = -np.inf
    with np.errstate(divide="ignore"):
        total = np.log(np.exp(logits).sum(-1, keepdims=True))
    finite = np.where(np.isfinite(total), total, 0)
    return np.minimum(logits - finite, 0).astype(np.float16)


@SOME
@given(grids(), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.4]))
def test_areas_follow_their_definition(grid: AreaGrid, seed: int, masked: float) -> None:
    logs = logs_of(np.random.default_rng(seed), (2, 2, 3, grid.items), masked)
    found = AreaSoftmax(logs, grid)
    assert found.shape == (2, 2, 3, grid.count) and not found[0, 0, 0].any()
    for place in np.ndindex(2, 2, 3):
        np.testing.assert_allclose(found[place], slow_areas(logs[place], grid), atol=1e-6)
    whole = np.asarray(found).sum(-1)
    np.testing.assert_allclose(whole, np.isfinite(logs).any(-1), atol=1e-5)


@SOME
@given(grids(), st.integers(0, 2**32 - 1))
def test_constant_added_to_logits_changes_no_area(grid: AreaGrid, seed: int) -> None:
    logits = np.random.default_rng(seed).normal(0, 3, (4, grid.items)).astype(np.float32)
    moved = logits + np.array([[1], [-3], [10], [0]], np.float32)
    np.testing.assert_allclose(
        compute_shares_of_logs(moved, grid), compute_shares_of_logs(logits, grid), atol=1e-5
    )


def areas_trace(area_size: int = 3, masked: float = 0.2) -> Trace:
    """Return a trace with all three maps of a site: items, areas and sums."""
    logs = logs_of(np.random.default_rng(5), (3, 2, 12, 12), masked)
    array = np.asarray(AreaSoftmax(logs, AreaGrid(1, 12, 1, 1)))
    trace = trace_of(array, area_size)
    areas = make_areas_map(trace.maps[SITE], logs, (area_size, area_size))
    maps = {SITE: trace.maps[SITE], areas.site: areas, SITE + SUMS: trace.maps[SITE + SUMS]}
    return replace(trace, maps=maps)


def names_of(content: bytes) -> list[str]:
    """Return the entries of a file that belong to its maps."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return [name for name in archive.namelist() if name.startswith("map.")]


READERS = [codec.trace_from_bytes, lambda content: open_trace(io.BytesIO(content))]


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("read", READERS)
def test_file_stores_logarithms_and_restores_areas(
    read: Callable[[bytes], Trace], half: bool
) -> None:
    trace = areas_trace()
    content = codec.trace_to_bytes(trace, half)
    assert names_of(content) == ["map.attention.weights.npy", "map.attention.logs.npy"]
    found = read(content)
    areas = found.maps[SITE + AS_AREAS]
    assert isinstance(areas.weights, AreaSoftmax) and areas.derived == FROM_KEYS
    np.testing.assert_array_equal(areas.weights, trace.maps[SITE + AS_AREAS].weights)
    np.testing.assert_array_equal(areas.weights[1, 1], trace.maps[SITE + AS_AREAS].weights[1, 1])
    assert_equal(trace, found, tolerance=0.002 if half else 0)
    assert codec.trace_to_bytes(found, half) == content


@pytest.mark.parametrize("read", READERS)
def test_shared_logarithms_are_stored_once(read: Callable[[bytes], Trace]) -> None:
    trace = areas_trace()
    areas = trace.maps[SITE + AS_AREAS]
    logs = areas.weights.made_of
    items: Any = AreaSoftmax(logs, AreaGrid(1, 12, 1, 1))
    attention = replace(trace.maps[SITE], weights=items)
    sums = make_sums_map(attention, (3, 3))
    trace = replace(trace, maps={SITE: attention, areas.site: areas, sums.site: sums})
    assert count_held_bytes(trace.maps.values()) == logs.nbytes
    content = codec.trace_to_bytes(trace)
    assert names_of(content) == ["map.attention.logs.npy"]
    found = read(content)
    assert_equal(trace, found)
    assert codec.trace_to_bytes(found) == content and found.nbytes <= trace.nbytes


def test_areas_are_computed_only_for_layers_read(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, ...]] = []

    def counted(logs: FloatArray, grid: AreaGrid) -> FloatArray:
        asked.append(logs.shape)
        return compute_shares_of_logs(logs, grid)

    monkeypatch.setattr(derived, "compute_shares_of_logs", counted)
    trace = areas_trace()
    content = codec.trace_to_bytes(trace)
    for areas in (
        trace.maps[SITE + AS_AREAS],
        codec.trace_from_bytes(content).maps[SITE + AS_AREAS],
    ):
        asked.clear()
        for _ in range(2):
            _ = areas.weights[2, 1], areas.weights[2]
        assert asked == [(2, 12, 12)]
    on_disk = open_trace(io.BytesIO(content))
    asked.clear()
    _ = on_disk.maps[SITE + AS_AREAS].weights[2, 1]
    assert asked == [(1, 12, 12)] and on_disk.nbytes == 0


def test_large_maps_keep_recently_read_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = AreaGrid(1, 12, 1, 3)
    a_layer = 2 * 12 * grid.count * 4
    monkeypatch.setattr(derived, "KEPT_BYTES", 2 * a_layer + 1)
    trace = areas_trace()
    assert trace.maps[SITE + AS_AREAS].weights.cached_bytes == 2 * a_layer
    assert trace.nbytes == count_held_bytes(trace.maps.values()) + 2 * 2 * a_layer
    monkeypatch.setattr(derived, "KEPT_BYTES", 1)
    sums: Any = areas_trace().maps[SITE + SUMS].weights
    assert sums.cached_bytes == a_layer and np.shares_memory(sums[0], sums[0])


def test_wire_sends_areas_by_layer_or_as_logarithms() -> None:
    trace, fetched = areas_trace(), list[tuple[str, int]]()

    def fetch(site: str, layer: int) -> FloatArray:
        fetched.append((site, layer))
        found: FloatArray = trace.maps[site].weights[layer]
        return found

    for without in ([SITE], [SITE + AS_AREAS], list(trace.maps)):
        fetched.clear()
        found = codec.trace_from_bytes(codec.trace_to_bytes(trace, without=without), fetch)
        for site in (SITE + AS_AREAS, SITE + SUMS):
            np.testing.assert_array_equal(found.maps[site].weights[1], trace.maps[site].weights[1])
        assert set(fetched) == {(site, 1) for site in without if not site.endswith(SUMS)}


def test_logarithms_of_another_map_are_not_reused() -> None:
    trace, others = areas_trace(), areas_trace(masked=0.0)
    other: Any = AreaSoftmax(others.maps[SITE + AS_AREAS].weights.made_of, AreaGrid(1, 12, 1, 1))
    maps = {**trace.maps, SITE: replace(trace.maps[SITE], weights=other)}
    changed = replace(trace, maps=maps)
    content = codec.trace_to_bytes(changed)
    assert "map.attention as areas.weights.npy" in names_of(content)
    np.testing.assert_array_equal(
        codec.trace_from_bytes(content).maps[SITE + AS_AREAS].weights,
        trace.maps[SITE + AS_AREAS].weights,
    )


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("change", ["nan", "above", "items", "queries", "axes", "kind", "gone"])
def test_invalid_logarithms_are_refused(read: Callable[[bytes], Trace], change: str) -> None:
    content = codec.trace_to_bytes(areas_trace())
    logs: Any = logs_of(np.random.default_rng(5), (3, 2, 12, 12))
    match change:
        case "nan" | "above":
            logs[2, 1, 3, 4] = np.nan if change == "nan" else 0.5
        case "items":
            logs = logs[..., :11]
        case "queries":
            logs = logs[:, :, :5]
        case "axes":
            logs = logs[0]
        case "kind":
            logs = np.zeros(logs.shape, np.int64)
    file = io.BytesIO()
    np.lib.format.write_array(file, np.ascontiguousarray(logs), version=(1, 0))
    broken = repacked(content, {"map.attention.logs.npy": file.getvalue()})
    if change == "gone":
        broken = content.replace(b"map.attention.logs", b"map.attention.lags")
    with pytest.raises(InputError, match="damaged"):
        read(broken)


def test_sums_are_computed_only_for_layers_read(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, ...]] = []

    def counted(weights: FloatArray, grid: AreaGrid) -> FloatArray:
        asked.append(weights.shape)
        return compute_shared_sums(weights, grid)

    monkeypatch.setattr(derived, "compute_shared_sums", counted)
    sums = trace_of(weights(4, 3, 6, 8)).maps[SITE + SUMS]
    codec.trace_to_bytes(trace_of(weights(4, 3, 6, 8)))
    assert asked == []
    for _ in range(2):
        _ = sums.weights[2, 1], sums.weights[2]
    assert asked == [(3, 6, 8)]


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize(
    "read", [codec.trace_from_bytes, lambda content: open_trace(io.BytesIO(content))]
)
def test_file_omits_sums_and_restores_them(read: Callable[[bytes], Trace], half: bool) -> None:
    trace = trace_of(weights(2, 3, 20, 20), area_size=4)
    content = codec.trace_to_bytes(trace, half)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert [name for name in archive.namelist() if name.startswith("map.")] == [
            "map.attention.weights.npy"
        ]
    found = read(content)
    assert isinstance(found.maps[SITE + SUMS].weights, AreaSums)
    assert_equal(trace, found, tolerance=0.002 if half else 0)
    worst = np.abs(np.asarray(found.maps[SITE + SUMS].weights) - trace.maps[SITE + SUMS].weights)
    assert worst.max() <= (5e-4 if half else 0)
    assert codec.trace_to_bytes(found, half) == content


def test_sums_of_weights_on_disk_take_no_memory() -> None:
    trace = trace_of(weights(2, 3, 20, 20), area_size=4)
    found = open_trace(io.BytesIO(codec.trace_to_bytes(trace)))
    assert found.nbytes == 0 < trace.nbytes
    sums = found.maps[SITE + SUMS].weights
    np.testing.assert_array_equal(sums[1, 2], trace.maps[SITE + SUMS].weights[1, 2])
    np.testing.assert_array_equal(sums[1, :2, 3], trace.maps[SITE + SUMS].weights[1, :2, 3])


def test_sums_without_their_map_are_stored() -> None:
    trace = trace_of(weights(2, 3, 4, 5))
    alone = replace(trace, maps={SITE + SUMS: trace.maps[SITE + SUMS]})
    other = fakes.trace().maps["encoder self"]
    for changed in (alone, replace(trace, maps={**trace.maps, SITE: replace_weights(trace)})):
        content = codec.trace_to_bytes(changed)
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            assert "map.attention sums.weights.npy" in archive.namelist()
        assert not isinstance(codec.trace_from_bytes(content).maps[SITE + SUMS].weights, AreaSums)
    assert not derived.can_be_rederived(other, {other.site: other})


def replace_weights(trace: Trace) -> Any:
    """Return the map of single items with weights that its sums were not computed from."""
    attention = trace.maps[SITE]
    return replace(attention, weights=np.flip(attention.weights, -1).copy())


def test_sums_over_the_wire_use_received_layers() -> None:
    trace = trace_of(weights(2, 3, 4, 5))
    fetched: list[tuple[str, int]] = []

    def fetch(site: str, layer: int) -> FloatArray:
        fetched.append((site, layer))
        found: FloatArray = trace.maps[site].weights[layer]
        return found

    found = codec.trace_from_bytes(codec.trace_to_bytes(trace, without=trace.maps), fetch)
    assert isinstance(found.maps[SITE].weights, LayeredWeights)
    np.testing.assert_array_equal(
        found.maps[SITE + SUMS].weights[1], trace.maps[SITE + SUMS].weights[1]
    )
    assert fetched == [(SITE, 1)]


def documented(change: Callable[[list[dict[str, Any]]], object]) -> bytes:
    """Return a file with sums, after a change to the maps of its document."""
    content = codec.trace_to_bytes(trace_of(weights(2, 3, 4, 5)))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        document = json.loads(archive.read(codec.DOCUMENT))
    change(document["maps"])
    return repacked(content, {codec.DOCUMENT: json.dumps(document).encode()})


@pytest.mark.parametrize(
    "change",
    [
        lambda maps: maps.reverse(),
        lambda maps: maps.pop(0),
        lambda maps: maps[1].update(site="other sums"),
        lambda maps: maps[1].update(site="attention as areas"),
        lambda maps: maps[1].update(site="attention too"),
        lambda maps: maps[1]["grid"].update(width=4),
        lambda maps: maps[1].update(query="output"),
    ],
)
def test_sums_of_missing_map_are_refused(change: Callable[[list[dict[str, Any]]], object]) -> None:
    content = documented(change)
    for read in (codec.trace_from_bytes, lambda content: open_trace(io.BytesIO(content))):
        with pytest.raises(InputError, match="damaged"):
            read(content)


def test_derived_sums_are_checked_against_limits_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    content = codec.trace_to_bytes(trace_of(weights(2, 3, 20, 20), area_size=16))
    small = replace(UPLOADED, layer=3 * 20 * 20 * 4)
    with pytest.raises(InputError, match='A layer of "attention sums" takes'):
        open_trace(io.BytesIO(content), small)
    monkeypatch.setattr(codec, "MAX_BYTES", 50_000)
    with pytest.raises(InputError, match="What follows from the attention takes"):
        codec.trace_from_bytes(content)


def test_version_4_file_is_read() -> None:
    stored = codec.load(STORED / "version_4.npz")
    assert list(stored.maps) == [SITE, SITE + SUMS]
    assert isinstance(stored.maps[SITE + SUMS].weights, AreaSums)
    np.testing.assert_allclose(stored.maps[SITE + SUMS].weights.sum(-1), 1, atol=1e-6)


def test_areas_stored_in_older_file_match_derived_ones() -> None:
    """Both files hold the same heads."""
    old, new = codec.load(STORED / "version_4_areas.npz"), codec.load(STORED / "version_5.npz")
    site = SITE + AS_AREAS
    assert list(old.maps) == list(new.maps) and not isinstance(old.maps[site].weights, AreaSoftmax)
    np.testing.assert_array_equal(old.maps[SITE].weights, new.maps[SITE].weights)
    np.testing.assert_allclose(new.maps[site].weights, old.maps[site].weights, atol=2e-4)
    again = codec.trace_from_bytes(codec.trace_to_bytes(old))
    np.testing.assert_array_equal(again.maps[site].weights, old.maps[site].weights)


def test_version_5_file_is_read() -> None:
    stored = codec.load(STORED / "version_5.npz")
    assert list(stored.maps) == [SITE, SITE + AS_AREAS, SITE + SUMS]
    areas = stored.maps[SITE + AS_AREAS]
    assert isinstance(areas.weights, AreaSoftmax) and areas.derived == FROM_KEYS
    items = AreaSoftmax(areas.weights.made_of, AreaGrid(1, areas.grid.items, 1, 1))
    np.testing.assert_allclose(items, stored.maps[SITE].weights, atol=2e-4)
    slow = slow_areas(items.made_of[0, 1, 2], areas.grid)
    np.testing.assert_allclose(areas.weights[0, 1, 2], slow, atol=1e-6)
