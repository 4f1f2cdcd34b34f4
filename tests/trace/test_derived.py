"""Sums over areas: made of a layer when it is looked at, and stored nowhere."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from areaviz.trace import codec, derived
from areaviz.trace.areas import AreaGrid
from areaviz.trace.arrays import from_arrays
from areaviz.trace.derived import SUMS, SumsOf, shared_sums
from areaviz.trace.errors import InputError
from areaviz.trace.layered import LayeredWeights
from areaviz.trace.on_disk import UPLOADED, open_trace
from areaviz.trace.record import FloatArray, Trace
from tests import fakes
from tests.faults.files import repacked
from tests.trace.test_arrays import weights
from tests.trace.test_codec import assert_equal

SITE = "attention"
STORED = Path(__file__).parent / "version_4.npz"


def trace_of(array: FloatArray, area_size: int = 3) -> Trace:
    return from_arrays(array, area_size=area_size)


def slow_sums(row_N: FloatArray, grid: AreaGrid) -> list[float]:
    """The definition, area by area."""
    sums = []
    for area in map(grid.area, range(grid.count)):
        sums.append(sum(float(row_N[item]) for item in range(area.left, area.left + area.width)))
    return [one / (sum(sums) or 1) for one in sums]


def test_sums_are_those_of_the_definition() -> None:
    array = weights(2, 3, 4, 5)
    array[1, 2, 3] = 0
    trace = trace_of(array)
    sums = trace.maps[SITE + SUMS]
    assert sums.weights.shape == (2, 3, 4, sums.grid.count) and sums.grid == AreaGrid(1, 5, 1, 3)
    for place in np.ndindex(2, 3, 4):
        expected = slow_sums(trace.maps[SITE].weights[place], sums.grid)
        np.testing.assert_allclose(sums.weights[place], expected, atol=1e-6)


def test_sums_are_made_of_the_layer_that_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, ...]] = []

    def counted(weights: FloatArray, grid: AreaGrid) -> FloatArray:
        asked.append(weights.shape)
        return shared_sums(weights, grid)

    monkeypatch.setattr(derived, "shared_sums", counted)
    sums = trace_of(weights(4, 3, 6, 8)).maps[SITE + SUMS]
    codec.to_bytes(trace_of(weights(4, 3, 6, 8)))
    assert asked == []
    for _ in range(2):
        _ = sums.weights[2, 1], sums.weights[2]
    assert asked == [(3, 6, 8)]


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize(
    "read", [codec.from_bytes, lambda content: open_trace(io.BytesIO(content))]
)
def test_a_file_leaves_sums_out_and_gives_them_back(
    read: Callable[[bytes], Trace], half: bool
) -> None:
    trace = trace_of(weights(2, 3, 20, 20), area_size=4)
    content = codec.to_bytes(trace, half)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert [name for name in archive.namelist() if name.startswith("map.")] == [
            "map.attention.weights.npy"
        ]
    found = read(content)
    assert isinstance(found.maps[SITE + SUMS].weights, SumsOf)
    assert_equal(trace, found, tolerance=0.002 if half else 0)
    worst = np.abs(np.asarray(found.maps[SITE + SUMS].weights) - trace.maps[SITE + SUMS].weights)
    assert worst.max() <= (5e-4 if half else 0)
    assert codec.to_bytes(found, half) == content


def test_sums_of_weights_on_disk_take_no_memory() -> None:
    trace = trace_of(weights(2, 3, 20, 20), area_size=4)
    found = open_trace(io.BytesIO(codec.to_bytes(trace)))
    assert found.nbytes == 0 < trace.nbytes
    sums = found.maps[SITE + SUMS].weights
    np.testing.assert_array_equal(sums[1, 2], trace.maps[SITE + SUMS].weights[1, 2])
    np.testing.assert_array_equal(sums[1, :2, 3], trace.maps[SITE + SUMS].weights[1, :2, 3])


def test_sums_without_their_map_are_stored() -> None:
    trace = trace_of(weights(2, 3, 4, 5))
    alone = replace(trace, maps={SITE + SUMS: trace.maps[SITE + SUMS]})
    other = fakes.trace().maps["encoder self"]
    for changed in (alone, replace(trace, maps={**trace.maps, SITE: replace_weights(trace)})):
        content = codec.to_bytes(changed)
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            assert "map.attention sums.weights.npy" in archive.namelist()
        assert not isinstance(codec.from_bytes(content).maps[SITE + SUMS].weights, SumsOf)
    assert not derived.follows(other, {other.site: other})


def replace_weights(trace: Trace) -> Any:
    """The map of single items with other weights than the sums were made of."""
    attention = trace.maps[SITE]
    return replace(attention, weights=np.flip(attention.weights, -1).copy())


def test_over_the_wire_sums_are_made_of_the_layers_that_come() -> None:
    trace = trace_of(weights(2, 3, 4, 5))
    fetched: list[tuple[str, int]] = []

    def fetch(site: str, layer: int) -> FloatArray:
        fetched.append((site, layer))
        found: FloatArray = trace.maps[site].weights[layer]
        return found

    found = codec.from_bytes(codec.to_bytes(trace, without=trace.maps), fetch)
    assert isinstance(found.maps[SITE].weights, LayeredWeights)
    np.testing.assert_array_equal(
        found.maps[SITE + SUMS].weights[1], trace.maps[SITE + SUMS].weights[1]
    )
    assert fetched == [(SITE, 1)]


def documented(change: Callable[[list[dict[str, Any]]], object]) -> bytes:
    """A file with sums, after a change to the maps of its document."""
    content = codec.to_bytes(trace_of(weights(2, 3, 4, 5)))
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
        lambda maps: maps[1]["grid"].update(width=4),
        lambda maps: maps[1].update(query="output"),
    ],
)
def test_sums_of_nothing_are_refused(change: Callable[[list[dict[str, Any]]], object]) -> None:
    content = documented(change)
    for read in (codec.from_bytes, lambda content: open_trace(io.BytesIO(content))):
        with pytest.raises(InputError, match="damaged"):
            read(content)


def test_sums_of_a_strangers_file_are_checked_before_any_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    content = codec.to_bytes(trace_of(weights(2, 3, 20, 20), area_size=16))
    small = replace(UPLOADED, layer=3 * 20 * 20 * 4)
    with pytest.raises(InputError, match='A layer of "attention sums" takes'):
        open_trace(io.BytesIO(content), small)
    monkeypatch.setattr(codec, "MAX_BYTES", 50_000)
    with pytest.raises(InputError, match="What follows from the attention takes"):
        codec.from_bytes(content)


def test_a_file_of_version_4_is_read() -> None:
    stored = codec.load(STORED)
    assert list(stored.maps) == [SITE, SITE + SUMS]
    assert isinstance(stored.maps[SITE + SUMS].weights, SumsOf)
    np.testing.assert_allclose(stored.maps[SITE + SUMS].weights.sum(-1), 1, atol=1e-6)
