"""Attention to a text and a picture at once: Eq. 5-8 number by number, and with one missing."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from areaviz.attention.area import AreaOptions
from areaviz.attention.multihead import DoublyAttention, Memories, MultiHeadAttention

WIDTH, HEADS = 8, 2


def attention(areas: int = 1) -> DoublyAttention:
    torch.manual_seed(0)
    picture = AreaOptions((areas, areas), shape=(2, 3))
    return DoublyAttention(WIDTH, HEADS, AreaOptions(areas), picture).requires_grad_(False)


def memories(pad: int = 0) -> Memories:
    torch.manual_seed(1)
    text, picture = torch.randn(2, 5, WIDTH), torch.randn(2, 6, WIDTH)
    padding = torch.arange(5).expand(2, 5) >= torch.tensor([[5], [5 - pad]]) if pad else None
    return Memories(text, padding, picture)


def head(query: Tensor, keys: Tensor, values: Tensor, allowed: list[bool]) -> tuple[Tensor, Tensor]:
    """Compute the weights and the context of one query of one head, item by item."""
    scores = [
        float(query @ key) / len(query) ** 0.5 if ok else float("-inf")
        for key, ok in zip(keys, allowed, strict=True)
    ]
    weights = torch.tensor(scores).softmax(0)
    return weights, torch.stack([w * v for w, v in zip(weights, values, strict=True)]).sum(0)


@pytest.mark.parametrize("pad", [0, 2])
def test_contexts_are_added_before_the_output_projection(pad: int) -> None:
    made, seen = attention(), memories(pad)
    assert seen.text is not None and seen.picture is not None
    queries = torch.randn(2, 3, WIDTH)
    context, shares = made.attend_both(queries, seen, need_weights=True)
    depth = WIDTH // HEADS
    for b in range(2):
        allowed = [True] * 5 if seen.padding is None else [not bool(x) for x in seen.padding[b]]
        for q in range(3):
            heads = []
            for h in range(HEADS):
                part = slice(h * depth, (h + 1) * depth)
                query = made.query(queries[b, q])[part]
                text = head(
                    query,
                    made.key(seen.text[b])[:, part],
                    made.value(seen.text[b])[:, part],
                    allowed,
                )
                keys, values = (
                    made.picture.key(seen.picture[b])[:, part],
                    made.picture.value(seen.picture[b])[:, part],
                )
                picture = head(query, keys, values, [True] * 6)
                for name, (weights, found) in (("text", text), ("picture", picture)):
                    torch.testing.assert_close(shares[name].weights[b, h, q], weights)
                    torch.testing.assert_close(shares[name].strength[b, h, q], found.norm())
                heads.append(text[1] + picture[1])
            torch.testing.assert_close(context[b, q], made.out(torch.cat(heads)))


@pytest.mark.parametrize("areas", [1, 2])
def test_missing_picture_leaves_text_attention_unchanged(areas: int) -> None:
    made, seen = attention(areas), memories(2)
    assert seen.text is not None
    # Disable gradients as in `made`, because another implementation computes weights with
    # gradients.
    plain = MultiHeadAttention(WIDTH, HEADS, AreaOptions(areas)).requires_grad_(False)
    plain.load_state_dict(
        {name: x for name, x in made.state_dict().items() if not name.startswith("picture.")}
    )
    queries = torch.randn(2, 3, WIDTH)
    expected, weights = plain(queries, seen.text, seen.padding, need_weights=True)
    found, shares = made.attend_both(queries, Memories(seen.text, seen.padding), need_weights=True)
    torch.testing.assert_close(found, expected, rtol=0, atol=0)
    assert list(shares) == ["text"]
    torch.testing.assert_close(shares["text"].weights, weights, rtol=0, atol=0)


def test_picture_of_zero_values_adds_nothing() -> None:
    made, seen = attention(), memories()
    made.picture.value.weight.zero_()
    made.picture.value.bias.zero_()
    queries = torch.randn(2, 3, WIDTH)
    with_picture, _ = made.attend_both(queries, seen)
    without, _ = made.attend_both(queries, Memories(seen.text))
    torch.testing.assert_close(with_picture, without)


@pytest.mark.parametrize("areas", [1, 2])
@pytest.mark.parametrize("lacks", ["", "text", "picture"])
def test_remembered_memories_give_equal_answers(areas: int, lacks: str) -> None:
    made, seen = attention(areas), memories(2)
    if lacks == "text":
        seen = Memories(None, None, seen.picture)
    elif lacks == "picture":
        seen = Memories(seen.text, seen.padding)
    queries = torch.randn(2, 3, WIDTH)
    kept = made.build_memories(seen)
    assert kept.batch == 2
    torch.testing.assert_close(
        made.attend_to_memory(queries, kept), made.attend_both(queries, seen)[0]
    )
