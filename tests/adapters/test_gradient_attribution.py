"""Attribution of external models: compared with finite differences, or left out if impossible."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import areaviz
from areaviz.attention import gradients as module
from areaviz.trace.areas import FloatArray
from areaviz.trace.derived import attention_rollout
from areaviz.trace.record import Trace
from tests.adapters import small

TEXT = "a small dog runs ."
PIXELS = torch.randn(1, 3, 24, 32, generator=torch.Generator().manual_seed(0))


def slopes(scores: Callable[[float, int], Tensor], items: int, step: float = 1e-4) -> FloatArray:
    """Return the shares [T, N] of the slopes of log-probabilities [T], by central differences.

    Each of the N items is made slightly longer and slightly shorter.
    """
    found = []
    for item in range(items):
        above, below = scores(1 + step, item), scores(1 - step, item)
        found.append(((above - below) / (2 * step)).numpy())
    sizes = np.abs(np.stack(found, 1))
    # The embedding of a start symbol may be zero, and then all slopes are zero.
    shares: FloatArray = sizes / np.maximum(sizes.sum(-1, keepdims=True), 1e-30)
    return shares


def word_scores(
    model: Any, table: nn.Module, call: int, chosen: list[int], **given: Tensor
) -> Callable[[float, int], Tensor]:
    """Return a function that computes log-probabilities of tokens while one embedding is scaled."""

    def scores(factor: float, item: int) -> Tensor:
        calls: list[int] = []

        def hook(module: nn.Module, asked: Any, output: Tensor) -> Tensor:
            calls.append(1)
            output = output.clone()
            if len(calls) == call + 1:
                output[:, item] *= factor
            return output

        handle = table.register_forward_hook(hook)
        try:
            with torch.no_grad():
                logits = model(**given).logits[0]
        finally:
            handle.remove()
        likely: Tensor = logits.log_softmax(-1)
        return likely[torch.arange(len(chosen)), torch.tensor(chosen)]

    return scores


def gradient(trace: Trace, site: str) -> FloatArray:
    weights: FloatArray = trace.maps[f"{site} gradient"].weights[0, 0]
    return weights


def test_decoder_gradients_match_next_token_change() -> None:
    model, ids = small.gpt2().double().eval(), [5, 6, 7, 8]
    found = areaviz.attend(model, ids, attribution=True)
    last = int(model(torch.tensor([ids])).logits[0, -1].argmax())
    scores = word_scores(
        model, model.transformer.wte, 0, [6, 7, 8, last], input_ids=torch.tensor([ids])
    )
    np.testing.assert_allclose(gradient(found, "decoder self"), slopes(scores, 4), atol=1e-5)
    assert found.maps["decoder self gradient"].query == "history"


def test_encoder_decoder_gradients_cover_input_and_output() -> None:
    model, ids, target = small.marian().double().eval(), [5, 6, 7, 3], [8, 9, 3]
    found = areaviz.attend(model, ids, target=target, attribution=True)
    fed = torch.tensor([[0, *target[:-1]]])
    given = {"input_ids": torch.tensor([ids]), "decoder_input_ids": fed}
    encoder, decoder = model.model.encoder.embed_tokens, model.model.decoder.embed_tokens
    call = 1 if encoder is decoder else 0
    source = word_scores(model, encoder, 0, target, **given)
    history = word_scores(model, decoder, call, target, **given)
    np.testing.assert_allclose(gradient(found, "encoder-decoder"), slopes(source, 4), atol=1e-5)
    np.testing.assert_allclose(gradient(found, "decoder self"), slopes(history, 3), atol=1e-5)


def test_picture_gradients_match_class_change_by_cell() -> None:
    model = small.vit().double().eval()
    found = areaviz.attend(model, PIXELS.double(), attribution=True)
    chosen = int(model(PIXELS.double()).logits.argmax())

    def scores(factor: float, cell: int) -> Tensor:
        values = PIXELS.double().clone()
        row, column = divmod(cell, 4)
        values[:, :, row * 8 : row * 8 + 8, column * 8 : column * 8 + 8] *= factor
        with torch.no_grad():
            likely: Tensor = model(values).logits.log_softmax(-1)
        return likely[:, chosen]

    np.testing.assert_allclose(gradient(found, "class token"), slopes(scores, 12), atol=1e-5)


def test_captioner_gradients_cover_cells_and_words() -> None:
    found = areaviz.attend(small.captioner(), PIXELS, target=[5, 6, 3], attribution=True)
    assert gradient(found, "encoder-decoder").shape == (3, 12)
    assert gradient(found, "decoder self").shape == (3, 3)


def test_rollout_matches_attention_of_the_model() -> None:
    model = small.bert("BertForSequenceClassification").eval()
    found = areaviz.attend(model, TEXT, tokenizer=small.tokenizer(), attribution=True)
    means = found.maps["encoder self"].weights.mean(1)
    np.testing.assert_allclose(
        found.maps["encoder self rollout"].weights[:, 0], attention_rollout(means)[1:], atol=1e-5
    )
    # The attribution is for the one class, not for each token.
    beside = found.maps["encoder self gradient"]
    assert (beside.query, beside.weights.shape[2]) == ("target", 1)


def test_attribution_leaves_model_unchanged() -> None:
    model = small.gpt2().train()
    plain = areaviz.attend(model, [5, 6, 7])
    found = areaviz.attend(model, [5, 6, 7], attribution=True)
    assert model.training and all(one.grad is None for one in model.parameters())
    assert "decoder self rollout" not in plain.maps
    for site, attention in plain.maps.items():
        np.testing.assert_array_equal(attention.weights, found.maps[site].weights)


def test_unavailable_attribution_is_left_out_with_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    some = areaviz.attend(small.gpt2(), [5, 6, 7], layers=[1], attribution=True)
    assert "every layer" in some.details["rollout"]
    assert "decoder self rollout" not in some.maps and "decoder self gradient" in some.maps
    bare = areaviz.attend(small.bert(), TEXT, tokenizer=small.tokenizer(), attribution=True)
    assert "no scores" in bare.details["gradient × input"]
    monkeypatch.setattr(module, "MAX_OUTPUTS", 2)
    many = areaviz.attend(small.gpt2(), [5, 6, 7], attribution=True)
    assert "3 outputs, but the limit is 2" in many.details["gradient × input"]


def test_custom_module_has_rollout() -> None:
    torch.manual_seed(0)
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, batch_first=True), 2)
    found = areaviz.attend(model, torch.randn(1, 5, 8), attribution=True)
    assert "encoder self rollout" in found.maps and "gradient × input" in found.details


def test_timm_model_has_gradients_of_its_class() -> None:
    import timm

    torch.manual_seed(0)
    model = timm.create_model("vit_tiny_patch16_224", img_size=48, depth=2, num_classes=5)
    found = areaviz.attend(model, torch.randn(1, 3, 48, 48), attribution=True)
    assert gradient(found, "class token").shape == (1, 9)
