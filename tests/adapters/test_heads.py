"""Heads over single items shown as areas, compared with loops over areas and items."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from areaviz.adapters.heads import Heads, compute_scores, compute_softmax_weights, mask_to_bias
from areaviz.adapters.run import IN_HALF, OVER_ITEMS, make_site_maps
from areaviz.trace import errors
from areaviz.trace.areas import AreaGrid, FloatArray
from areaviz.trace.derived import AreaSoftmax, compute_shares_of_logs
from areaviz.trace.errors import InputError
from areaviz.trace.record import count_held_bytes
from tests import reference


def heads(queries: int = 4, items: int = 6, bias: Tensor | None = None, seed: int = 0) -> Heads:
    generator = torch.Generator().manual_seed(seed)
    query = torch.randn(3, queries, 5, generator=generator)
    key = torch.randn(3, items, 5, generator=generator)
    scores = query @ key.transpose(1, 2) * 0.7
    weights = (scores if bias is None else scores + bias).softmax(-1).nan_to_num(0.0)
    return Heads(weights, query, key, 0.7, bias)


def as_areas(layer: Heads, grid: AreaGrid) -> FloatArray:
    """Return the area distribution of a layer's logits before they are kept in half precision."""
    assert layer.query is not None and layer.key is not None
    scores = compute_scores(layer.query, layer.key, layer.scale, layer.bias)
    return compute_shares_of_logs(scores.numpy(), grid)


def causal(count: int) -> Tensor:
    return torch.full((count, count), -torch.inf).triu(1)


@pytest.mark.parametrize(("shape", "size"), [((1, 6), 3), ((2, 3), 2), ((3, 2), 3), ((1, 6), 1)])
@pytest.mark.parametrize("masked", [False, True])
def test_area_distribution_uses_mean_keys(shape: tuple[int, int], size: int, masked: bool) -> None:
    bias = causal(6) if masked else None
    layer = heads(6, 6, bias)
    assert layer.query is not None and layer.key is not None
    grid = AreaGrid.clamped(shape, (size, size))
    listed = reference.areas(*shape, grid.max_height, grid.max_width)
    allowed = torch.ones(6, 6, dtype=torch.bool) if bias is None else bias == 0
    for head, found in enumerate(as_areas(layer, grid)):
        key = layer.key[head]
        _, expected, _ = reference.attention(layer.query[head], key, key, listed, allowed, 0.7)
        np.testing.assert_allclose(found, expected.numpy(), atol=1e-5)


def test_bias_is_averaged_over_an_area() -> None:
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
    np.testing.assert_allclose(as_areas(layer, AreaGrid(1, 6, 1, 2)), expected.numpy(), atol=1e-5)


def test_areas_of_one_item_are_the_heads_own_weights() -> None:
    layer = heads(6, 6, causal(6))
    np.testing.assert_allclose(
        as_areas(layer, AreaGrid(1, 6, 1, 1)), layer.weights.numpy(), atol=1e-5
    )


@pytest.mark.parametrize("sharpness", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("masked", [False, True])
def test_half_precision_map_equals_map_of_its_heads(sharpness: float, masked: bool) -> None:
    layer = heads(24, 24, causal(24) if masked else None)
    assert layer.query is not None
    query = layer.query * sharpness
    assert layer.key is not None
    weights = compute_softmax_weights(query, layer.key, layer.scale, layer.bias)
    sharp = Heads(weights, query, layer.key, layer.scale, layer.bias)
    _, kept, _ = make_site_maps("encoder self", "a", "a", (4, 6), [sharp], 3)
    assert isinstance(kept.weights, AreaSoftmax) and kept.weights.made_of.dtype == np.float16
    np.testing.assert_allclose(kept.weights[0], as_areas(sharp, kept.grid), atol=2e-4)
    again = AreaSoftmax(kept.weights.made_of, AreaGrid(4, 6, 1, 1))
    np.testing.assert_allclose(again[0], weights.numpy(), atol=2e-4)


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_half_precision_heads_have_area_maps(kind: torch.dtype) -> None:
    """The rounded scores of such heads give weights that differ from single precision."""
    generator = torch.Generator().manual_seed(3)
    query = (4 * torch.randn(2, 50, 16, generator=generator)).to(kind)
    key = (2 * torch.randn(2, 50, 16, generator=generator)).to(kind)
    scores = query @ key.transpose(1, 2) * 0.25
    weights = scores.softmax(-1, dtype=torch.float32).to(kind)
    layer = Heads(weights, query, key, 0.25).plain()
    exact = compute_softmax_weights(query.float(), key.float(), 0.25, None)
    assert (exact - weights.float()).abs().max() > 2e-3, "the rounding shows"
    _, derived, _ = make_site_maps("encoder self", "a", "a", (1, 50), [layer], 3)
    np.testing.assert_allclose(derived.weights[0], as_areas(layer, derived.grid), atol=2e-4)
    with_sink = Heads(weights * 0.6, query, key, 0.25).plain()
    capped = (5 * (scores / 5).tanh()).softmax(-1, dtype=torch.float32).to(kind)
    assert with_sink.logs() is None and Heads(capped, query, key, 0.25).plain().logs() is None


def test_scores_too_small_for_a_weight_still_count_in_areas() -> None:
    """In a mean over nine cells, one very low score does not make the mean very low."""
    key = torch.tensor([[[0.0], [0], [0], [0], [-120], [0], [0], [0], [0]]])
    query = torch.ones(1, 1, 1)
    layer = Heads(compute_softmax_weights(query, key, 1.0, None), query, key)
    assert layer.weights[0, 0, 4] == 0
    _, derived, _ = make_site_maps("encoder self", "a", "a", (3, 3), [layer], 3)
    exact = as_areas(layer, derived.grid)
    assert exact[0, 0, -1] > 1e-8
    np.testing.assert_allclose(derived.weights[0], exact, rtol=0.02, atol=1e-8)


def test_logarithms_replace_weights_that_exceed_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    layers = [heads(20, 20), heads(20, 20, seed=1)]
    _, _, sums = whole = make_site_maps("x", "a", "a", (1, 20), layers, 3)
    single = 2 * 3 * 20 * 20 * 4
    assert count_held_bytes(whole) == single * 3 // 2
    monkeypatch.setattr(errors, "MAX_ATTENDED_BYTES", single * 2)
    small = make_site_maps("x", "a", "a", (1, 20), layers, 3, taken=single // 2 + 1)
    assert count_held_bytes(small) == single // 2 and small[0].normalisation == IN_HALF
    for one, other in zip(whole, small, strict=True):
        np.testing.assert_allclose(other.weights, one.weights, atol=2e-4)
    unexplained = [Heads(layer.weights) for layer in layers]
    assert make_site_maps("x", "a", "a", (1, 20), unexplained, 3)[0].normalisation != IN_HALF
    alone = make_site_maps("x", "a", "a", (1, 20), unexplained, 3, taken=single + 1)
    assert [one.site for one in alone] == ["x", "x sums"] and alone[0].normalisation == IN_HALF
    np.testing.assert_allclose(alone[1].weights, sums.weights, atol=2e-4)


@pytest.mark.parametrize("explained", [True, False])
def test_weights_above_budget_are_read_layer_by_layer(
    explained: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    bias = causal(20)[None]
    layers = [heads(20, 20, bias, seed) for seed in range(8)]
    if not explained:
        layers = [Heads(layer.weights) for layer in layers]
    whole = make_site_maps("x", "a", "a", (1, 20), layers, 3)
    monkeypatch.setattr(errors, "MAX_ATTENDED_BYTES", whole[0].weights.nbytes // 2 - 1)
    on_disk = [layer.lean().on_disk() for layer in layers]
    found = make_site_maps("x", "a", "a", (1, 20), on_disk, 3)
    assert [one.site for one in found] == [one.site for one in whole]
    assert found[0].normalisation == OVER_ITEMS and count_held_bytes(found) == 0
    for one, other in zip(whole, found, strict=True):
        np.testing.assert_allclose(other.weights[1], one.weights[1], atol=2e-4)
        np.testing.assert_allclose(other.weights[0, 2], one.weights[0, 2], atol=2e-4)
        np.testing.assert_allclose(np.asarray(other.weights), one.weights, atol=2e-4)
    in_memory = make_site_maps("x", "a", "a", (1, 20), layers, 3)
    assert count_held_bytes(in_memory) == sum(layer.nbytes for layer in layers) > 0


def test_too_large_layer_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    layers = [heads(20, 20), heads(20, 20, seed=1)]
    monkeypatch.setattr(errors, "MAX_ATTENDED_BYTES", 4 * 3 * 20 * 57 - 1)
    with pytest.raises(InputError, match=r"3 heads, 20 queries, 57 areas.*\(area_size=\)"):
        make_site_maps("x", "a", "a", (1, 20), layers, 3)
    make_site_maps("x", "a", "a", (1, 20), layers, 2)
    monkeypatch.setattr(errors, "MAX_BY_LAYER_BYTES", 4 * 2 * 3 * 20 * 20 - 1)
    with pytest.raises(InputError, match=r"attention of 2 layers .* fewer layers \(layers=\)"):
        make_site_maps("x", "a", "a", (1, 20), layers, 2)
    make_site_maps("x", "a", "a", (1, 20), layers[:1], 2)


def test_site_has_item_map_then_both_area_maps() -> None:
    maps = make_site_maps(
        "encoder self", "source", "source", (1, 6), [heads(6), heads(6, seed=1)], 3
    )
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


def test_unexplained_weights_have_no_area_distribution() -> None:
    """Some heads cap their scores or have a sink, so queries and keys do not explain their weights.

    Their weights and sums are shown, but no area distribution.
    """
    layer = heads(6)
    capped = Heads(
        layer.weights**2 / (layer.weights**2).sum(-1, keepdim=True),
        layer.query,
        layer.key,
        layer.scale,
    )
    assert layer.logs() is not None and capped.logs() is None
    assert [one.site for one in make_site_maps("x", "a", "b", (1, 6), [layer, capped], 2)] == [
        "x",
        "x sums",
    ]
    assert Heads(layer.weights).logs() is None


def test_nan_queries_do_not_explain_weights() -> None:
    """NaN queries explain nothing, even if their weights are all 0 as in a masked row."""
    layer = heads(6)
    assert layer.query is not None and layer.key is not None
    query, weights = layer.query.clone(), layer.weights.clone()
    query[:, 2], weights[:, 2] = torch.nan, 0
    assert Heads(weights, query, layer.key, layer.scale).logs() is None
    assert not compute_softmax_weights(query, layer.key, layer.scale, None)[:, 2].isfinite().any()


def test_cut_heads_renormalise_remaining_weights() -> None:
    layer = heads(4, 6, torch.zeros(1, 6))
    cut = layer.select_items(slice(1, 3), slice(2, 6))
    rest = layer.weights[:, 1:3, 2:]
    torch.testing.assert_close(cut.weights, rest / rest.sum(-1, keepdim=True))
    assert cut.logs() is not None, "a softmax over fewer items is the same divided by what is left"


def test_weights_given_by_queries_and_keys_are_dropped() -> None:
    layer = heads(5, 6, torch.zeros(1, 6))
    lean = layer.lean()
    assert lean.are_given and not layer.are_given and lean.shape == layer.shape == (3, 5, 6)
    torch.testing.assert_close(lean.weights, layer.weights, atol=2e-6, rtol=0)
    for one in (lean, layer):
        part = one.select_heads([2, 0]).select_items(torch.tensor([1, 4]), torch.tensor([0, 2, 3]))
        rest = layer.weights[[2, 0]][:, [1, 4]][..., [0, 2, 3]]
        torch.testing.assert_close(part.weights, rest / rest.sum(-1, keepdim=True))
    np.testing.assert_array_equal(lean.logs(), layer.logs())
    assert layer.key is not None
    other = Heads(layer.weights * 0.999, layer.query, layer.key, layer.scale, layer.bias)
    assert not other.lean().are_given and not Heads(layer.weights).lean().are_given


def test_masks_in_every_form_become_a_bias() -> None:
    expected = torch.tensor([[0.0, -torch.inf]])
    torch.testing.assert_close(mask_to_bias(torch.tensor([[True, False]])), expected)
    torch.testing.assert_close(
        mask_to_bias(torch.tensor([[0.0, torch.finfo(torch.float32).min]])), expected
    )
    torch.testing.assert_close(
        mask_to_bias(torch.tensor([[0.0, -65504.0]], dtype=torch.float16)), expected
    )


def test_layers_that_differ_are_refused() -> None:
    with pytest.raises(InputError, match="differ in heads x queries x items"):
        make_site_maps("encoder self", "a", "a", (1, 6), [heads(6), heads(6, 5)], 2)


@pytest.mark.long
def test_too_large_maps_are_refused_before_they_are_made() -> None:
    huge = Heads(torch.zeros(1).expand(12, 2048, 2048))
    with pytest.raises(InputError, match="the limit is .* MiB"):
        make_site_maps("encoder self", "a", "a", (1, 2048), [huge] * 12, 3)


def test_lean_heads_keep_only_queries_and_keys() -> None:
    """A fused layer returns queries, keys and values as views of one tensor."""
    torch.manual_seed(0)
    query, key, _ = torch.randn(3, 2, 4, 5)
    lean = Heads(compute_softmax_weights(query, key, 1.0, None), query, key).lean()
    assert lean.query is not None and lean.key is not None
    for part, before in ((lean.query, query), (lean.key, key)):
        assert torch.equal(part, before)
        assert part.untyped_storage().nbytes() == part.nbytes
    assert lean.nbytes == query.nbytes + key.nbytes
