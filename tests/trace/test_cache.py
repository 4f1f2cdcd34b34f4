"""Traces from the caches of interpretability libraries, such as TransformerLens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

import areaviz
from areaviz.trace import file
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace
from tests import reference

Kept = dict[str, Any]


class ActivationCache:
    """A cache with TransformerLens' names and values, which is not a Mapping."""

    def __init__(self, kept: Mapping[str, torch.Tensor]) -> None:
        self.cache_dict = dict(kept)

    def items(self) -> Any:
        return self.cache_dict.items()


def softmax(scores: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    shares: npt.NDArray[np.float32] = raised / raised.sum(-1, keepdims=True)
    return shares


def scores(*shape: int, causal: bool = False) -> npt.NDArray[np.float32]:
    drawn = np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32)
    if causal:
        drawn[..., np.triu(np.ones(shape[-2:], bool), 1)] = -np.inf
    return drawn


def kept_by_transformer_lens(batch: int = 2, causal: bool = True) -> Kept:
    """Return a cache of twelve layers.

    With twelve layers, the order of the layers differs from the alphabetical order of their names.
    """
    kept: Kept = {"hook_embed": torch.zeros(batch, 5, 8)}
    for layer in range(12):
        found = scores(batch, 3, 5, 5, causal=causal) + layer % 3
        kept[f"blocks.{layer}.hook_resid_pre"] = torch.zeros(batch, 5, 8)
        kept[f"blocks.{layer}.attn.hook_attn_scores"] = torch.from_numpy(found)
        kept[f"blocks.{layer}.attn.hook_pattern"] = torch.from_numpy(softmax(found * (1 + layer)))
        kept[f"blocks.{layer}.attn.hook_attn_scores"] *= 1 + layer
    return kept


WORDS = ["<s>", "A", " small", " dog", " runs"]


def weights_of(trace: Trace, site: str) -> npt.NDArray[np.float32]:
    return np.asarray(trace.maps[site].weights)


def test_transformer_lens_cache_keeps_layers_heads_and_words() -> None:
    kept = kept_by_transformer_lens()
    trace = areaviz.from_cache(ActivationCache(kept), WORDS, example=1)
    assert list(trace.maps) == ["attention", "attention as areas", "attention sums"]
    assert trace.fields["source"].labels == tuple(WORDS)
    for layer in range(12):
        expected = kept[f"blocks.{layer}.attn.hook_pattern"][1].numpy()
        np.testing.assert_allclose(weights_of(trace, "attention")[layer], expected, atol=1e-6)


def test_areas_follow_from_cached_scores() -> None:
    kept = kept_by_transformer_lens(batch=1, causal=False)
    found = weights_of(areaviz.from_cache(kept, area_size=2), "attention as areas")
    for layer in (0, 11):
        logits = kept[f"blocks.{layer}.attn.hook_attn_scores"][0].numpy()
        listed = reference.areas(1, 5, 1, 2)
        expected = softmax(np.stack([logits[..., held].mean(-1) for held in listed], -1))
        np.testing.assert_allclose(found[layer], expected, atol=2e-3)


def test_scores_that_contradict_weights_make_no_areas() -> None:
    kept = kept_by_transformer_lens()
    kept["blocks.4.attn.hook_attn_scores"] = kept["blocks.4.attn.hook_attn_scores"] * 3
    assert list(areaviz.from_cache(kept).maps) == ["attention", "attention sums"]


@pytest.mark.parametrize(
    ("encoder", "decoder"), [("encoder", "decoder"), ("encoder_blocks", "decoder_blocks")]
)
def test_encoder_decoder_has_three_sites(encoder: str, decoder: str) -> None:
    kept = {}
    for layer in range(2):
        kept[f"{decoder}.{layer}.cross_attn.hook_pattern"] = softmax(scores(1, 2, 3, 4))
        kept[f"{decoder}.{layer}.attn.hook_pattern"] = softmax(scores(1, 2, 3, 3, causal=True))
        kept[f"{encoder}.{layer}.attn.hook_pattern"] = softmax(scores(1, 2, 4, 4))
    trace = areaviz.from_cache(kept, ["a", "b", "c", "d"], ["x", "y", "z"], area_size=1)
    assert list(trace.maps) == ["encoder self", "decoder self", "encoder-decoder"]
    cross = trace.maps["encoder-decoder"]
    assert (cross.query, cross.memory) == ("target", "source")
    assert trace.fields["target"].labels == ("x", "y", "z")
    again = file.trace_from_bytes(file.trace_to_bytes(trace))
    np.testing.assert_array_equal(again.maps["encoder-decoder"].weights, cross.weights)


@pytest.mark.parametrize(
    "kept",
    [
        {f"transformer.h.{layer}.attn": softmax(scores(2, 4, 4)) + 0 * layer for layer in range(3)},
        [torch.from_numpy(softmax(scores(1, 2, 4, 4))).bfloat16() for _ in range(3)],
        {layer: torch.from_numpy(softmax(scores(1, 2, 4, 4))) for layer in range(3)},
    ],
    ids=["by module", "a list", "by number"],
)
def test_arrays_saved_in_nnsight_need_no_special_names(kept: Any) -> None:
    trace = areaviz.from_cache(kept, ["a", "b", "c", "d"])
    assert trace.maps["attention"].weights.shape == (3, 2, 4, 4)


REFUSED: dict[str, tuple[Any, dict[str, Any], str]] = {
    "no cache": (3, {}, "must be an ActivationCache"),
    "nothing": ({}, {}, 'no entries with "hook_pattern"'),
    "no such keys": ({"a.0": np.eye(3)[None]}, {"keys": "pattern"}, 'entries with "pattern"'),
    "no layer": ({"attn": np.eye(3)[None]}, {}, "has 0 numbers, so its layer number is unclear"),
    "two numbers": ({"h.0.attn.1": np.eye(3)[None]}, {}, "has 2 numbers"),
    "no weights": ({"h.0": np.eye(3)}, {}, "has 2 axes but must be heads x queries"),
    "another example": ({"h.0": np.eye(3)[None, None]}, {"example": 1}, "no example 1 in a batch"),
    "layers differ": (
        {"h.0": np.eye(3)[None], "h.1": np.eye(4)[None]},
        {},
        "have different shapes",
    ),
    "two sites in one": (
        {"a.0.pattern": np.eye(3)[None], "b.0.pattern": np.eye(3)[None]},
        {"keys": "pattern"},
        "several attentions",
    ),
    "a step of writing": ({"h.0": np.full((1, 1, 4), 0.25)}, {}, "one pass over the whole text"),
    "scores": ({"h.0": -np.ones((1, 3, 3))}, {}, "weights after the softmax"),
    "labels": ({"h.0": np.eye(3)[None]}, {"source": ["a"]}, "1 labels of source"),
}


@pytest.mark.parametrize(("kept", "options", "said"), REFUSED.values(), ids=REFUSED)
def test_cache_without_attention_is_refused(kept: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        areaviz.from_cache(kept, **options)


def test_tuple_of_model_attentions_is_accepted() -> None:
    """The tuple is `outputs.attentions` of transformers: one [1, H, Q, N] tensor per layer."""
    layers = tuple(torch.from_numpy(softmax(scores(1, 3, 4, 4))) for _ in range(2))
    trace = areaviz.from_arrays(layers, ["a", "b", "c", "d"])
    assert trace.maps["attention"].weights.shape == (2, 3, 4, 4)
    of_numpy = areaviz.from_arrays([layer.numpy() for layer in layers])
    np.testing.assert_array_equal(
        of_numpy.maps["attention"].weights, trace.maps["attention"].weights
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([np.ones((2, 1, 3, 3)) / 3] * 2, "have a batch axis .* Pass one example"),
        ([np.eye(3)[None, None], np.eye(4)[None, None]], "different shapes"),
        (((torch.ones(1, 1, 1, 1),), (torch.ones(1, 1, 1, 2) / 2,)), "one pass over the whole"),
    ],
)
def test_other_model_outputs_are_refused(given: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        areaviz.from_arrays(given)
