"""Attention rollout compared with the paper's recursion, and properties of every rollout."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from areaviz.trace.areas import FloatArray
from areaviz.trace.derived import (
    Across,
    attention_rollout,
    compute_rollout_across,
    make_rollout_maps,
)
from areaviz.trace.document import validate
from areaviz.trace.query import item_shares
from areaviz.trace.record import AttentionMap, Trace
from tests.fakes import trace


def random_rows(seed: int, *shape: int) -> FloatArray:
    rows = np.random.default_rng(seed).uniform(0, 1, shape).astype(np.float32) ** 4
    shares: FloatArray = rows / rows.sum(-1, keepdims=True)
    return shares


def slow_step(given_QN: FloatArray, gathered_QN: FloatArray) -> FloatArray:
    """Average the given and the gathered attention, item by item."""
    found = np.zeros_like(given_QN)
    for query in range(given_QN.shape[0]):
        for item in range(given_QN.shape[1]):
            found[query, item] = 0.5 * given_QN[query, item] + 0.5 * gathered_QN[query, item]
    return found


def slow_product(weights_QM: FloatArray, rows_MN: FloatArray) -> FloatArray:
    found = np.zeros((len(weights_QM), rows_MN.shape[1]), np.float32)
    for query, weights in enumerate(weights_QM):
        for middle, weight in enumerate(weights):
            found[query] += weight * rows_MN[middle]
    return found


def slow_rolled(shares_LNN: FloatArray) -> FloatArray:
    rows = np.eye(shares_LNN.shape[1], dtype=np.float32)
    for shares_NN in shares_LNN:
        rows = slow_step(rows, slow_product(shares_NN, rows))
    return rows


def means(attention: AttentionMap) -> FloatArray:
    return np.stack([item_shares(attention, layer, None) for layer in range(attention.layers)])


@given(seed=st.integers(0, 999), layers=st.integers(0, 4), items=st.integers(1, 6))
def test_rollout_rows_sum_to_one_and_follow_paper(seed: int, layers: int, items: int) -> None:
    shares = random_rows(seed, layers, items, items)
    found = attention_rollout(shares)
    np.testing.assert_allclose(found.sum(-1), 1, atol=1e-5)
    np.testing.assert_array_equal(found[0], np.eye(items))
    np.testing.assert_allclose(found[-1], slow_rolled(shares), atol=1e-6)


def test_rollout_without_attention_is_the_identity() -> None:
    shares = np.zeros((3, 4, 4), np.float32)
    np.testing.assert_array_equal(attention_rollout(shares)[-1], np.eye(4))


def test_rollout_of_self_attending_heads_is_the_identity() -> None:
    shares = np.stack([np.eye(5, dtype=np.float32)] * 3)
    np.testing.assert_array_equal(attention_rollout(shares)[-1], np.eye(5))


@given(seed=st.integers(0, 999), layers=st.integers(1, 3))
def test_decoder_rollout_reads_the_encoder_output(seed: int, layers: int) -> None:
    own = np.tril(random_rows(seed, layers, 4, 4))
    own /= own.sum(-1, keepdims=True)
    across, made = random_rows(seed + 1, layers, 4, 3), random_rows(seed + 2, 1, 3, 3)
    history, source = compute_rollout_across(own, [Across(across, made)])
    words, text = np.eye(4, dtype=np.float32), np.zeros((4, 3), np.float32)
    for layer in range(layers):
        words = slow_step(words, slow_product(own[layer], words))
        text = slow_step(text, slow_product(own[layer], text))
        words = slow_step(words, np.zeros_like(words))
        text = slow_step(text, slow_product(across[layer], made[0]))
    whole = np.hstack([words, text])
    np.testing.assert_allclose(whole.sum(-1), 1, atol=1e-5)
    np.testing.assert_allclose(history[-1], words / words.sum(-1, keepdims=True), atol=1e-5)
    np.testing.assert_allclose(source[-1], text / text.sum(-1, keepdims=True), atol=1e-5)


def test_rollout_covers_every_site_of_a_translator() -> None:
    whole = trace("A dog", "Ein")
    maps = {one.site: one for one in make_rollout_maps(whole.maps)}
    assert set(maps) == {f"{site} rollout" for site in whole.maps}
    validate(replace(whole, maps={**whole.maps, **maps}))
    encoder = means(whole.maps["encoder self"])
    np.testing.assert_allclose(
        maps["encoder self rollout"].weights[-1, 0], slow_rolled(encoder), atol=1e-5
    )
    # The decoder reads the finished encoder in every layer.
    made = attention_rollout(encoder)[-1:]
    across = Across(means(whole.maps["encoder-decoder"]), made)
    _, source = compute_rollout_across(means(whole.maps["decoder self"]), [across])
    np.testing.assert_allclose(maps["encoder-decoder rollout"].weights[:, 0], source, atol=1e-5)
    # No output depends on later outputs.
    assert not np.triu(maps["decoder self rollout"].weights[-1, 0], 1).any()


def test_class_token_rollout_reads_cells_layer_by_layer() -> None:
    whole = trace("abcd", "x")
    cells = whole.maps["encoder self"]
    asks = replace(
        cells, site="class token", query="target", weights=cells.weights[:, :, : len("x") + 1]
    )
    maps = {
        one.site: one for one in make_rollout_maps({"class token": asks, "encoder self": cells})
    }
    # The expected rollout is the one with the token before the cells, and no cell attending to it.
    items = cells.grid.items
    both = np.zeros((cells.layers, items + 1, items + 1), np.float32)
    both[:, 1:, 1:], both[:, 0, 1:] = means(cells), means(asks)[:, 0]
    token = attention_rollout(both)[1:, 0, 1:]
    found = maps["class token rollout"].weights[:, 0, 0]
    np.testing.assert_allclose(found, token / token.sum(-1, keepdims=True), atol=1e-5)


def alone(whole: Trace, site: str) -> dict[str, AttentionMap]:
    return {site: whole.maps[site]}


def test_cross_attention_alone_has_no_rollout() -> None:
    whole = trace("A dog", "Ein")
    assert make_rollout_maps(alone(whole, "encoder-decoder")) == []
    assert len(make_rollout_maps(alone(whole, "encoder self"))) == 1


def test_rollout_omits_sites_with_mismatched_layers() -> None:
    whole = trace("A dog", "Ein")
    across = whole.maps["encoder-decoder"]
    fewer = replace(across, weights=across.weights[:1])
    found = make_rollout_maps({**whole.maps, "encoder-decoder": fewer})
    assert [one.site for one in found] == ["encoder self rollout"]


@pytest.mark.parametrize("area_size", [1, 3])
def test_rollout_of_area_attention_uses_covered_items(area_size: int) -> None:
    whole = trace("A dog", "Ein", area_size=area_size)
    (found,) = make_rollout_maps(alone(whole, "encoder self"))
    assert found.grid.count == found.grid.items == len(whole.fields["source"])
    np.testing.assert_allclose(found.weights.sum(-1), 1, atol=1e-5)
