"""Any module: torch's own attention layers, and custom layers through a probe."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import areaviz
from areaviz.adapters.heads import Heads
from areaviz.trace.document import validate
from areaviz.trace.errors import InputError


def returned(layer: nn.MultiheadAttention, *inputs: Tensor, **masks: Any) -> Any:
    """Return the layer's own weights when called with `need_weights`: [H, Q, N]."""
    with torch.no_grad():
        return layer.eval()(*inputs, need_weights=True, average_attn_weights=False, **masks)[1][
            0
        ].numpy()


def attention(**more: Any) -> nn.MultiheadAttention:
    torch.manual_seed(0)
    return nn.MultiheadAttention(16, 4, batch_first=True, **more)


CAUSAL = nn.Transformer.generate_square_subsequent_mask(5)
PADDED = torch.tensor([[False, False, False, True, True]])


@pytest.mark.parametrize(
    "masks",
    [
        {},
        {"attn_mask": CAUSAL},
        {"attn_mask": -torch.inf == CAUSAL},
        {"attn_mask": torch.randn(4, 5, 5)},
        {"key_padding_mask": PADDED},
        {"key_padding_mask": PADDED, "attn_mask": -torch.inf == CAUSAL},
    ],
    ids=["none", "float", "bool", "heads", "padding", "both"],
)
def test_torch_layer_shows_weights_that_it_returns(masks: dict[str, Tensor]) -> None:
    layer, x = attention(), torch.randn(1, 5, 16)
    inputs = {"query": x, "key": x, "value": x, "need_weights": False, **masks}
    trace = areaviz.attend(layer, inputs, labels=list("abcde"))
    validate(trace)
    site = next(iter(trace.maps))
    np.testing.assert_allclose(
        trace.maps[site].weights[0], returned(layer, x, x, x, **masks), atol=1e-5
    )
    assert f"{site} as areas" in trace.maps


@pytest.mark.parametrize("more", [{"bias": False}, {"kdim": 8, "vdim": 8}])
def test_cross_attention_layer_has_two_fields(more: dict[str, Any]) -> None:
    layer, query, memory = (
        attention(**more),
        torch.randn(1, 5, 16),
        torch.randn(1, 5, more.get("kdim", 16)),
    )
    trace = areaviz.attend(
        layer, (query, memory, memory), labels=list("vwxyz"), target=list("abcde")
    )
    np.testing.assert_allclose(
        trace.maps["encoder-decoder"].weights[0], returned(layer, query, memory, memory), atol=1e-5
    )
    assert trace.fields["source"].raw == "v w x y z" and trace.fields["target"].raw == "a b c d e"


def test_torch_transformer_shows_three_sites() -> None:
    torch.manual_seed(0)
    model = nn.Transformer(16, 4, 2, 3, 24, batch_first=True)
    mask = nn.Transformer.generate_square_subsequent_mask(4)
    trace = areaviz.attend(
        model, {"src": torch.randn(1, 6, 16), "tgt": torch.randn(1, 4, 16), "tgt_mask": mask}
    )
    validate(trace)
    shapes = {site: one.weights.shape for site, one in trace.maps.items() if not one.derived}
    assert shapes == {
        "encoder self": (2, 4, 6, 6),
        "decoder self": (3, 4, 4, 4),
        "encoder-decoder": (3, 4, 4, 6),
    }


def test_fast_path_of_torch_encoder_is_recorded() -> None:
    """In evaluation mode torch computes the whole layer at once and skips the attention module.

    It does so unless the module has hooks.
    """
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 24, batch_first=True), 2).eval()
    x = torch.randn(1, 5, 16)
    first = model.layers[0].self_attn
    assert isinstance(first, nn.MultiheadAttention)
    found = areaviz.attend(model, x).maps["encoder self"].weights[0]
    np.testing.assert_allclose(found, returned(first, x, x, x), atol=1e-5)


class Own(nn.Module):
    """A network with custom attention: two layers, three heads, no value projections."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList(OwnAttention() for _ in range(2))

    def forward(self, x_1NW: Tensor) -> Tensor:
        for layer in self.layers:
            x_1NW = layer(x_1NW)
        return x_1NW


class OwnAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query, self.key = nn.Linear(12, 12), nn.Linear(12, 12)

    def forward(self, x_1NW: Tensor) -> Tensor:
        query, key = (
            part(x_1NW[0]).unflatten(-1, (3, 4)).transpose(0, 1) for part in (self.query, self.key)
        )
        weights = (query @ key.transpose(1, 2)).softmax(-1)
        result: Tensor = weights.mean(0) @ x_1NW
        return result


def probe(layer: nn.Module, given: tuple[Any, ...], named: Mapping[str, Any], output: Any) -> Heads:
    assert isinstance(layer, OwnAttention)
    query, key = (
        part(given[0][0]).unflatten(-1, (3, 4)).transpose(0, 1) for part in (layer.query, layer.key)
    )
    return Heads((query @ key.transpose(1, 2)).softmax(-1), query, key)


def test_probe_reads_custom_module() -> None:
    model = Own()
    trace = areaviz.attend(
        model, torch.randn(1, 6, 12), probes={"layers.*": probe}, labels=list("abcdef")
    )
    validate(trace)
    assert trace.maps["encoder self"].weights.shape == (2, 3, 6, 6)
    assert trace.maps["encoder self as areas"].grid.max_width == 3
    assert not any(module._forward_hooks for module in model.modules())


def test_hooks_are_removed_if_the_model_fails() -> None:
    layer = attention()
    with pytest.raises(InputError, match="MultiheadAttention fails on this input"):
        areaviz.attend(layer, (torch.randn(1, 5, 16), torch.randn(1, 5, 3), torch.randn(1, 5, 3)))
    assert not layer._forward_hooks and layer.training


@pytest.mark.parametrize(
    ("model", "inputs", "more", "said"),
    [
        (nn.Linear(4, 4), torch.randn(1, 4), {}, "No attention was seen"),
        (
            Own(),
            torch.randn(1, 6, 12),
            {"probes": {"blocks.*": probe}},
            'No part of the model is called "blocks',
        ),
        (Own(), torch.randn(1, 6, 12), {"probes": {"layers.*": probe}, "labels": ["a"]}, "6 items"),
        (
            attention(add_zero_attn=True),
            (torch.randn(1, 5, 16),) * 3,
            {},
            "adds items to its memory",
        ),
        (3, "a", {}, "must be a torch module"),
    ],
)
def test_module_without_visible_attention_is_refused(
    model: Any, inputs: Any, more: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        areaviz.attend(model, inputs, **more)


def test_package_imports_adapters_on_demand() -> None:
    code = (
        "import sys, areaviz; assert 'attend' in dir(areaviz) and 'numpy' not in sys.modules;"
        " areaviz.Trace; assert 'torch' not in sys.modules; areaviz.attend; assert 'torch' in"
        " sys.modules and not {'transformers', 'timm'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
    with pytest.raises(AttributeError, match="no attribute"):
        _ = areaviz.nothing


def test_nan_weights_are_refused() -> None:
    layer, inputs = attention(), torch.randn(1, 5, 16)
    with torch.no_grad():
        layer.in_proj_weight[3] = torch.nan
    with pytest.raises(InputError, match='"encoder self" are not finite. Check the model'):
        areaviz.attend(layer, (inputs, inputs, inputs))


def test_query_without_visible_items_is_not_counted() -> None:
    inputs, mask = torch.randn(1, 5, 16), torch.zeros(5, 5)
    mask[2] = -torch.inf
    trace = areaviz.attend(
        attention(), {"query": inputs, "key": inputs, "value": inputs, "attn_mask": mask}
    )
    sums = trace.maps["encoder self"].weights.sum(-1)
    np.testing.assert_allclose(sums[0, :, [0, 1, 2]], [[1] * 4, [1] * 4, [0] * 4], atol=1e-5)
