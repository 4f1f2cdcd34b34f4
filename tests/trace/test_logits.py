"""Logit terms: those that a trace can compute itself, under a change, and over the wire."""

from __future__ import annotations

import io
import math
import zipfile
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from areaviz.trace.areas import Area, AreaGrid
from areaviz.trace.arrays import from_arrays
from areaviz.trace.changes import Gate, Hide, Weigh
from areaviz.trace.derived import (
    AS_AREAS,
    Logits,
    change_part,
    find_known_logits,
    has_logits,
    make_areas_map,
)
from areaviz.trace.errors import InputError
from areaviz.trace.file import logits_from_bytes, logits_to_bytes
from areaviz.trace.record import Trace
from tests import fakes
from tests.trace.sentence import assert_one_sentence

SITE = "attention"


def with_areas(rows: int = 1, columns: int = 7) -> Trace:
    """Return two layers of three heads that attend to single items, and the derived areas."""
    rng = np.random.default_rng(1)
    weights = rng.dirichlet(np.ones(rows * columns), (2, 3, 4)).astype(np.float32)
    trace = from_arrays(weights)
    logs: Any = np.log(weights).astype(np.float16)
    derived = make_areas_map(trace.maps[SITE], logs, (1, 3))
    return replace(trace, maps={**trace.maps, derived.site: derived})


@pytest.mark.parametrize("site", [SITE, SITE + AS_AREAS])
def test_logarithms_of_weights_explain_logits(site: str) -> None:
    trace = with_areas()
    attention = trace.maps[site]
    found = find_known_logits(trace, site, 1)
    assert found is not None and found.is_shifted and has_logits(trace, site)
    for head, query in ((0, 0), (2, 3)):
        totals = []
        for index in range(attention.grid.count):
            parts = found.parts(head, query, attention.grid.area(index))
            assert list(parts) == ["mean"]
            totals.append(parts["mean"])
        weights = np.exp(totals) / np.exp(totals).sum()
        # Derived areas are not rounded to half precision, but single items are.
        tolerance = 2e-3 if site == SITE else 1e-6
        np.testing.assert_allclose(weights, attention.weights[1, head, query], rtol=tolerance)


def test_weights_alone_do_not_explain_logits() -> None:
    plain = from_arrays(np.full((1, 1, 2, 4), 0.25, np.float32), area_size=2)
    for site in plain.maps:
        assert not has_logits(plain, site) and find_known_logits(plain, site, 0) is None
    assert not has_logits(fakes.trace(), "encoder-decoder")
    assert not has_logits(fakes.trace(), "no such site")


def test_layer_with_smaller_areas_refuses_larger_area() -> None:
    logits = Logits(AreaGrid(1, 5, 1, 2), np.zeros((1, 2, 5), np.float32))
    assert logits.parts(0, 1, Area(0, 3, 1, 2)) == {"mean": 0.0}
    with pytest.raises(ValueError, match="not an area"):
        logits.parts(0, 1, Area(0, 0, 1, 3))


@pytest.mark.parametrize(
    ("area", "expected"),
    [
        # The items are numbered by rows of three, and the shapes by rows of two.
        (Area(1, 0, 1, 2), {"start": 3, "end": 40, "shape": 100}),
        (Area(0, 1, 2, 2), {"start": 1, "end": 50, "shape": 300}),
        (Area(0, 2, 2, 1), {"start": 2, "end": 50, "shape": 200}),
    ],
)
def test_parts_belong_to_corners_and_shape(area: Area, expected: dict[str, float]) -> None:
    numbers = np.arange(6, dtype=np.float32)[None, None]
    logits = Logits(
        AreaGrid(2, 3, 2, 2), 0 * numbers, numbers, 10 * numbers, 100 * numbers[..., :4]
    )
    assert logits.parts(0, 0, area) == {"mean": 0, **expected}


@pytest.mark.parametrize(
    ("change", "area", "expected"),
    [
        (Weigh("encoder-decoder", (2,), factor=4.0), Area(0, 1, 1, 3), math.log(4)),
        (Weigh("encoder-decoder", (2,), factor=4.0), Area(0, 3, 1, 2), 0.0),
        (Weigh("encoder-decoder", (2,)), Area(0, 2, 1, 1), -math.inf),
        (Weigh("encoder-decoder", (2,), layer=0), Area(0, 2, 1, 1), 0.0),
        (Weigh("encoder-decoder", (2,), factor=0.5, head=1), Area(0, 2, 1, 1), math.log(0.5)),
        (Weigh("encoder-decoder", (2,), factor=0.5, head=0), Area(0, 2, 1, 1), 0.0),
        (Weigh("encoder-decoder", (2,), factor=2.0, query=3), Area(0, 2, 1, 1), math.log(2)),
        (Weigh("encoder-decoder", (2,), factor=2.0, query=4), Area(0, 2, 1, 1), 0.0),
        (Weigh("encoder self", (2,)), Area(0, 2, 1, 1), 0.0),
        (Gate("encoder-decoder"), Area(0, 2, 1, 1), 0.0),
        (Hide("source", (2,)), Area(0, 2, 1, 1), -math.inf),
    ],
)
def test_change_contributes_a_part_to_the_logit(change: Weigh, area: Area, expected: float) -> None:
    trace = fakes.trace()
    trace = replace(trace, request=replace(trace.request, changes=(change,)))
    assert change_part(trace, "encoder-decoder", 1, 1, 3, area) == pytest.approx(expected)


def made(parts: set[str], is_shifted: bool = False) -> Logits:
    rng = np.random.default_rng(4)
    grid = AreaGrid(2, 3, 2, 1)
    shapes = {"start": (2, 4, 6), "end": (2, 4, 6), "shape": (2, 4, 2), "size": (2, 1, 2)}
    item = rng.normal(size=(2, 4, 6)).astype(np.float32)
    item[:, :2, 3:] = -np.inf
    more = {name: rng.normal(size=shapes[name]).astype(np.float32) for name in sorted(parts)}
    return Logits(grid, item, **more, is_shifted=is_shifted)


@given(st.sets(st.sampled_from(["start", "end", "shape", "size"])), st.booleans())
def test_logits_survive_the_wire(parts: set[str], is_shifted: bool) -> None:
    logits = made(parts, is_shifted)
    found = logits_from_bytes(logits_to_bytes(logits))
    assert (found.grid, found.is_shifted) == (logits.grid, is_shifted)
    for name in ("item", "start", "end", "shape", "size"):
        one, two = getattr(logits, name), getattr(found, name)
        assert (one is None) == (two is None)
        if one is not None:
            np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    "broken",
    [
        {"item": np.zeros((2, 4, 5), np.float32)},
        {"item": np.full((2, 4, 6), np.nan, np.float32)},
        {"item": np.zeros((2, 4, 6), np.int64)},
        {"start": np.full((2, 4, 6), -np.inf, np.float32)},
        {"shape": np.zeros((2, 4, 3), np.float32)},
        {"size": np.full((2, 1, 2), np.inf, np.float32)},
    ],
)
def test_inconsistent_logit_arrays_are_refused(broken: dict[str, np.ndarray]) -> None:
    logits = made({"start", "end", "shape", "size"})
    content = io.BytesIO()
    arrays = {name: getattr(logits, name) for name in ("item", "start", "end", "shape", "size")}
    np.savez(content, grid=np.array([2, 3, 2, 1, 0]), **{**arrays, **broken})
    with pytest.raises(InputError) as refused:
        logits_from_bytes(content.getvalue())
    assert_one_sentence(refused.value)


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x05\x06" + bytes(18)])
def test_invalid_logit_file_is_refused(content: bytes) -> None:
    with pytest.raises(InputError):
        logits_from_bytes(content)


def test_file_of_another_kind_is_refused() -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("evil.npy", b"\x80\x04.")
    with pytest.raises(InputError):
        logits_from_bytes(content.getvalue())
