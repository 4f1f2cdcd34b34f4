"""Heads of single items, shown as areas: against loops over areas and items."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from areaviz.adapters.heads import Heads, hidden, site_maps, softmax
from areaviz.trace.areas import AreaGrid
from areaviz.trace.errors import InputError
from tests import reference


def heads(queries: int = 4, items: int = 6, bias: Tensor | None = None, seed: int = 0) -> Heads:
    generator = torch.Generator().manual_seed(seed)
    query = torch.randn(3, queries, 5, generator=generator)
    key = torch.randn(3, items, 5, generator=generator)
    scores = query @ key.transpose(1, 2) * 0.7
    weights = (scores if bias is None else scores + bias).softmax(-1).nan_to_num(0.0)
    return Heads(weights, query, key, 0.7, bias)


def causal(count: int) -> Tensor:
    return torch.full((count, count), -torch.inf).triu(1)


@pytest.mark.parametrize(("shape", "size"), [((1, 6), 3), ((2, 3), 2), ((3, 2), 3), ((1, 6), 1)])
@pytest.mark.parametrize("masked", [False, True])
def test_the_area_distribution_is_that_of_mean_keys(
    shape: tuple[int, int], size: int, masked: bool
) -> None:
    bias = causal(6) if masked else None
    layer = heads(6, 6, bias)
    assert layer.query is not None and layer.key is not None
    grid = AreaGrid.clamped(shape, (size, size))
    listed = reference.areas(*shape, grid.max_height, grid.max_width)
    allowed = torch.ones(6, 6, dtype=torch.bool) if bias is None else bias == 0
    for head, found in enumerate(layer.as_areas(grid)):
        key = layer.key[head]
        _, expected, _ = reference.attention(layer.query[head], key, key, listed, allowed, 0.7)
        np.testing.assert_allclose(found, expected.numpy(), atol=1e-5)


def test_a_bias_is_averaged_over_an_area() -> None:
    bias = torch.randn(3, 4, 6, generator=torch.Generator().manual_seed(1))
    layer = heads(4, 6, bias)
    assert layer.query is not None and layer.key is not None
    listed = reference.areas(1, 6, 1, 2)
    scores = [
        layer.query @ layer.key[:, items].mean(1)[..., None] * 0.7
        + bias[..., items].mean(-1, keepdim=True)
        for items in listed
    ]
    expected = torch.cat(scores, -1).softmax(-1)
    np.testing.assert_allclose(layer.as_areas(AreaGrid(1, 6, 1, 2)), expected.numpy(), atol=1e-5)


def test_areas_of_one_item_are_the_heads_own_weights() -> None:
    layer = heads(6, 6, causal(6))
    np.testing.assert_allclose(
        layer.as_areas(AreaGrid(1, 6, 1, 1)), layer.weights.numpy(), atol=1e-5
    )


def test_a_site_has_its_items_then_both_ways_of_areas() -> None:
    maps = site_maps("encoder self", "source", "source", (1, 6), [heads(6), heads(6, seed=1)], 3)
    assert [one.site for one in maps] == [
        "encoder self",
        "encoder self as areas",
        "encoder self sums",
    ]
    assert [bool(one.derived) for one in maps] == [False, True, True]
    assert maps[0].weights.shape == (2, 3, 6, 6) and maps[1].weights.shape == maps[
        2
    ].weights.shape == (2, 3, 6, 15)
    listed = reference.areas(1, 6, 1, 3)
    sums = np.stack([maps[0].weights[..., items].sum(-1) for items in listed], -1)
    np.testing.assert_allclose(maps[2].weights, sums / sums.sum(-1, keepdims=True), rtol=1e-5)


def test_areas_are_not_made_of_queries_that_did_not_give_the_weights() -> None:
    """A head that caps its scores, or has a sink: its weights are shown, and their sums, but no
    area distribution.
    """
    layer = heads(6)
    capped = Heads(
        layer.weights**2 / (layer.weights**2).sum(-1, keepdim=True),
        layer.query,
        layer.key,
        layer.scale,
    )
    assert layer.explained() and not capped.explained()
    assert [one.site for one in site_maps("x", "a", "b", (1, 6), [layer, capped], 2)] == [
        "x",
        "x sums",
    ]
    assert not Heads(layer.weights).explained()


def test_queries_that_are_no_numbers_explain_nothing() -> None:
    """Not even a query whose weights are all 0, as those of a masked one are."""
    layer = heads(6)
    assert layer.query is not None and layer.key is not None
    query, weights = layer.query.clone(), layer.weights.clone()
    query[:, 2], weights[:, 2] = torch.nan, 0
    assert not Heads(weights, query, layer.key, layer.scale).explained()
    assert not softmax(query, layer.key, layer.scale, None)[:, 2].isfinite().any()


def test_a_cut_shares_out_what_is_left() -> None:
    layer = heads(4, 6, torch.zeros(1, 6))
    cut = layer.cut(slice(1, 3), slice(2, 6))
    rest = layer.weights[:, 1:3, 2:]
    torch.testing.assert_close(cut.weights, rest / rest.sum(-1, keepdim=True))
    assert cut.explained(), "a softmax over fewer items is the same divided by what is left"


def test_masks_are_read_whatever_they_are_written_as() -> None:
    expected = torch.tensor([[0.0, -torch.inf]])
    torch.testing.assert_close(hidden(torch.tensor([[True, False]])), expected)
    torch.testing.assert_close(
        hidden(torch.tensor([[0.0, torch.finfo(torch.float32).min]])), expected
    )
    torch.testing.assert_close(
        hidden(torch.tensor([[0.0, -65504.0]], dtype=torch.float16)), expected
    )


def test_layers_that_differ_are_refused() -> None:
    with pytest.raises(InputError, match="differ in heads x queries x items"):
        site_maps("encoder self", "a", "a", (1, 6), [heads(6), heads(6, 5)], 2)


def test_maps_that_would_take_too_much_memory_are_refused_before_they_are_made() -> None:
    huge = Heads(torch.zeros(1).expand(12, 2048, 2048))
    with pytest.raises(InputError, match="MiB are possible"):
        site_maps("encoder self", "a", "a", (1, 2048), [huge] * 12, 2)
