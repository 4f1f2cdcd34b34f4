"""Logit terms compared with queries times keys of areas that are built one by one."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor

from areaviz.attention.area import area_attention
from areaviz.attention.keys import AreaFeatures, BoundaryKeys
from areaviz.attention.multihead import compute_logit_terms, has_parts
from areaviz.attention.pooled import AreaSpec, KeyModule, combine_masks
from areaviz.trace.areas import Area, AreaGrid, FloatArray
from areaviz.trace.derived import Logits

HEADS, QUERIES, WIDTH = 2, 6, 5
GRIDS = [AreaGrid(1, 6, 1, 3), AreaGrid(2, 3, 2, 2), AreaGrid(1, 6, 1, 1)]
FORMS = ["mean", "boundary", "size bias", "both"]


def slow_logit(
    query_E: Tensor,
    key_ME: Tensor,
    grid: AreaGrid,
    area: Area,
    keys: BoundaryKeys | None,
    bias_S: Tensor | None,
) -> float:
    """Compute a logit by its definition: q times the area's key, plus the bias."""
    memory = key_ME.unflatten(0, (grid.height, grid.width))
    bottom, right = area.top + area.height, area.left + area.width
    total = query_E @ memory[area.top : bottom, area.left : right].flatten(0, 1).mean(0)
    if keys is not None:
        total = total + query_E @ keys.start(memory[area.top, area.left])
        total = total + query_E @ keys.end(memory[bottom - 1, right - 1])
        row = keys.height_embedding(torch.tensor(area.height - 1))
        column = keys.width_embedding(torch.tensor(area.width - 1))
        total = total + query_E @ keys.shape(torch.cat([row, column]))
    total = total / WIDTH**0.5
    if bias_S is not None:
        total = total + bias_S[list(grid.shapes()).index((area.height, area.width))]
    return float(total)


@pytest.fixture(params=GRIDS, ids=str)
def grid(request: pytest.FixtureRequest) -> AreaGrid:
    found: AreaGrid = request.param
    return found


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("masked", ["", "padding", "causal"])
@torch.no_grad()
def test_parts_add_up_to_logit_of_the_weight(grid: AreaGrid, form: str, masked: str) -> None:
    torch.manual_seed(3)
    query, key = torch.randn(1, HEADS, QUERIES, WIDTH), torch.randn(1, HEADS, 6, WIDTH)
    keys = (
        BoundaryKeys(WIDTH, (grid.max_height, grid.max_width))
        if form in ("boundary", "both")
        else None
    )
    shapes = len(list(grid.shapes()))
    bias = torch.randn(HEADS, shapes) if form in ("size bias", "both") else None
    padding = torch.tensor([[False] * 4 + [True] * 2]) if masked == "padding" else None
    mode = "mean" if keys is None else "boundary"
    mask = combine_masks(query, key, None, padding, masked == "causal")
    spec = AreaSpec(grid, WIDTH**-0.5, mask, mode, keys, size_bias=bias, need_weights=True)
    found, weights = (
        compute_logit_terms(query, key, spec),
        area_attention(query, key, key, spec).weights,
    )
    assert weights is not None
    assert (found.start is None) == (keys is None) and (found.size is None) == (bias is None)
    for head in range(HEADS):
        for query_place in range(QUERIES):
            check_row(
                found, head, query_place, weights[0, head, query_place], query, key, keys, bias
            )


def check_row(
    found: Logits,
    head: int,
    place: int,
    weights_R: Tensor,
    query: Tensor,
    key: Tensor,
    keys: BoundaryKeys | None,
    bias: Tensor | None,
) -> None:
    grid, allowed, logits = found.grid, [], []
    for index, weight in enumerate(weights_R.tolist()):
        area = grid.area(index)
        total = sum(found.parts(head, place, area).values())
        if not weight:
            assert total == -np.inf, "what may not be seen has no weight"
            continue
        own = None if bias is None else bias[head]
        slow = slow_logit(query[0, head, place], key[0, head], grid, area, keys, own)
        assert total == pytest.approx(slow, abs=1e-5)
        allowed.append(weight)
        logits.append(total)
    apart = np.subtract.outer(logits, logits) - np.subtract.outer(np.log(allowed), np.log(allowed))
    assert np.abs(apart).max() < 1e-5, "differences are the logarithms of ratios"


# The relative error of rounding a number is at most half of this.
ROUNDING = float(np.finfo(np.float32).eps)


@pytest.mark.parametrize("largest", [1, 10, 40])
@pytest.mark.parametrize("form", ["mean", "boundary"])
@torch.no_grad()
def test_parts_are_more_exact_than_single_precision_weights(form: str, largest: float) -> None:
    """The terms add up to the logit, apart from the rounding of each term.

    A weight results from many more rounded products and sums, each with an error relative to the
    logits. At a logit of 40 these errors alone exceed 1e-5, however precise the terms are.
    """
    torch.manual_seed(5)
    width, grid = 32, AreaGrid(8, 8, 3, 3)
    query, key = torch.randn(1, HEADS, QUERIES, width), torch.randn(1, HEADS, grid.items, width)
    keys = BoundaryKeys(width, (3, 3)) if form == "boundary" else None
    mask = combine_masks(query, key, None, None, False)
    spec = AreaSpec(grid, width**-0.5, mask, form, keys, need_weights=True)
    query *= largest / np.abs(totals(compute_logit_terms(query, key, spec))).max()
    parts_HQR = totals(compute_logit_terms(query, key, spec))
    single_HQR = log_weights(query, key, spec)
    exact = replace(spec, features=None if keys is None else deepcopy(keys).double())
    exact_HQR = log_weights(query.double(), key.double(), exact)
    # Smaller weights may be 0 in single precision.
    parts_HQR[exact_HQR < np.log(1e-6)] = np.nan
    apart = largest_difference(parts_HQR, exact_HQR)
    assert apart < 3 * ROUNDING * largest
    assert apart < largest_difference(parts_HQR, single_HQR) < 10 * ROUNDING * largest


def totals(logits: Logits) -> npt.NDArray[np.float64]:
    """Return the sums of the terms of all areas: float64 [H, Q, R]."""
    areas = [logits.grid.area(index) for index in range(logits.grid.count)]
    found_HQR = np.empty((HEADS, QUERIES, len(areas)))
    for head, query, place in np.ndindex(found_HQR.shape):
        found_HQR[head, query, place] = sum(logits.parts(head, query, areas[place]).values())
    return found_HQR


def log_weights(query: Tensor, key: Tensor, spec: AreaSpec) -> FloatArray:
    weights = area_attention(query, key, key, spec).weights
    assert weights is not None
    return weights[0].double().log().numpy()


def largest_difference(
    one_HQR: npt.NDArray[np.floating], other_HQR: npt.NDArray[np.floating]
) -> float:
    """Return the largest difference among a query's areas.

    A number added to all areas of a query changes no weight, so it is ignored.
    """
    apart_HQR = one_HQR - other_HQR
    return float((np.nanmax(apart_HQR, -1) - np.nanmin(apart_HQR, -1)).max())


@pytest.mark.parametrize(
    ("size", "key_mode", "features", "parts"),
    [
        (3, "mean", None, True),
        (3, "boundary", BoundaryKeys(WIDTH, (1, 3)), True),
        (3, "max", None, False),
        (3, "features", AreaFeatures(WIDTH, (1, 3)), False),
        (1, "max", None, True),
    ],
)
def test_keys_of_whole_areas_have_no_parts(
    size: int, key_mode: str, features: KeyModule | None, parts: bool
) -> None:
    spec = AreaSpec(AreaGrid(1, 6, 1, size), 1.0, key_mode=key_mode, features=features)
    assert has_parts(spec) is parts
