"""BERT-like encoders: random weights, a real tokenizer, and every attention function."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import areaviz
from areaviz.trace import file
from areaviz.trace.document import validate
from areaviz.trace.errors import InputError
from tests.adapters import small
from tests.adapters.library import AS_AREAS_OFF, eager, same
from tests.sampled import sampled

TEXT = "A small dog runs."


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_half_precision_bert_has_area_maps(kind: torch.dtype) -> None:
    trace = areaviz.attend(small.bert().to(kind), TEXT, tokenizer=small.tokenizer())
    assert list(trace.maps) == ["encoder self", "encoder self as areas", "encoder self sums"]
    whole = areaviz.attend(small.bert(), TEXT, tokenizer=small.tokenizer())
    site = "encoder self as areas"
    np.testing.assert_allclose(trace.maps[site].weights, whole.maps[site].weights, atol=0.05)


def test_bert_weights_match_library() -> None:
    model = small.bert()
    trace = areaviz.attend(model, TEXT, tokenizer=small.tokenizer())
    validate(trace)
    assert list(trace.maps) == ["encoder self", "encoder self as areas", "encoder self sums"]
    same(
        trace,
        "encoder self",
        eager(model, **small.tokenizer()(TEXT, return_tensors="pt")).attentions,
    )
    assert trace.request.model == "BertModel" and trace.request.text == TEXT
    np.testing.assert_array_equal(
        file.trace_from_bytes(file.trace_to_bytes(trace)).maps["encoder self"].weights,
        trace.maps["encoder self"].weights,
    )


@pytest.mark.parametrize(
    "implementation", sampled(["sdpa", "eager", "flex_attention"], "sdpa", "eager")
)
def test_attention_functions_give_equal_maps_and_stay_set(implementation: str) -> None:
    model, expected = small.bert(), areaviz.attend(small.bert(), TEXT, tokenizer=small.tokenizer())
    model.config._attn_implementation = implementation
    trace = areaviz.attend(model, TEXT, tokenizer=small.tokenizer())
    assert model.config._attn_implementation == implementation
    np.testing.assert_allclose(
        trace.maps["encoder self"].weights, expected.maps["encoder self"].weights, atol=1e-6
    )


def test_area_map_follows_queries_and_keys_of_layers() -> None:
    """The expected areas of the first layer are computed from its projections by hand."""
    model, tokens = small.bert().eval(), small.tokenizer()(TEXT, return_tensors="pt")
    layer = model.encoder.layer[0].attention.self
    with torch.no_grad():
        items = model.embeddings(input_ids=tokens["input_ids"])[0]
        query, key = (
            part(items).unflatten(-1, (4, 4)).transpose(0, 1) for part in (layer.query, layer.key)
        )
    means = torch.cat([key, (key[:, :-1] + key[:, 1:]) / 2], 1)
    expected = (query @ means.transpose(1, 2) * 0.5).softmax(-1)
    found = areaviz.attend(model, TEXT, tokenizer=small.tokenizer(), area_size=2).maps[
        "encoder self as areas"
    ]
    np.testing.assert_allclose(found.weights[0], expected.numpy(), atol=AS_AREAS_OFF)


def test_tokens_are_anchored_in_the_text() -> None:
    field = areaviz.attend(small.bert(), TEXT, tokenizer=small.tokenizer()).fields["source"]
    assert field.labels == ("[CLS]", "A", "small", "dog", "run", "s", ".", "[SEP]")
    assert field.anchors.tolist()[4:] == [[12, 15], [15, 16], [16, 17], [17, 17]]


def test_token_ids_need_no_tokenizer() -> None:
    for ids in ([5, 6, 7], torch.tensor([[5, 6, 7]]), np.array([5, 6, 7])):
        trace = areaviz.attend(small.bert(), ids, labels=["a", "small", "dog"])
        assert trace.fields["source"].raw == "a small dog"
    assert areaviz.attend(small.bert(), [5, 6]).fields["source"].labels == ("5", "6")


def test_masked_language_model_target_is_its_predictions() -> None:
    model = small.bert("BertForMaskedLM")
    trace = areaviz.attend(model, "A [MASK] dog.", tokenizer=small.tokenizer())
    likely = (
        eager(model, **small.tokenizer()("A [MASK] dog.", return_tensors="pt"))
        .logits[0]
        .softmax(-1)
    )
    assert trace.fields["target"].labels[2] == small.WORDS[int(likely[2].argmax())]
    np.testing.assert_allclose(trace.output.probabilities, likely.max(-1).values.numpy(), rtol=1e-4)


def test_classifier_target_is_its_class() -> None:
    model = small.bert(
        "BertForSequenceClassification",
        id2label={0: "bad", 1: "good"},
        label2id={"bad": 0, "good": 1},
    )
    trace = areaviz.attend(model, TEXT, tokenizer=small.tokenizer())
    assert trace.fields["target"].labels[0] in ("bad", "good")
    assert {label for label, _ in trace.output.alternatives[0]} == {"bad", "good"}


def test_attend_leaves_encoder_unchanged() -> None:
    model = small.bert()
    model.train()
    model.encoder.layer[1].eval()
    before = {name: module.training for name, module in model.named_modules()}
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    areaviz.attend(model, TEXT, tokenizer=small.tokenizer())
    assert {name: module.training for name, module in model.named_modules()} == before
    assert all(torch.equal(value, weights[name]) for name, value in model.state_dict().items())
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    assert model.config._attn_implementation == "sdpa"


def test_failed_attend_leaves_encoder_unchanged() -> None:
    model = small.bert()
    model.train()
    model.encoder.layer[1].register_forward_pre_hook(lambda *given: 1 / 0)
    with pytest.raises(InputError, match="BertModel fails on this input .division by zero"):
        areaviz.attend(model, [5])
    assert model.training and model.config._attn_implementation == "sdpa"


@pytest.mark.parametrize(
    ("inputs", "more", "said"),
    [
        (TEXT, {}, "needs a tokenizer"),
        ([], {}, "no tokens in the inputs"),
        ([[[1, 2], [3, 4]]], {}, "one example"),
        ([[1, 2], [3, 4]], {"example": 2}, "batch has 2 examples, so there is no example 2"),
        ([0.5], {}, "one example"),
        (object(), {}, "a text or token ids"),
        ([99], {}, "between 0 and 12"),
        ([5] * 65, {}, "65 tokens but the model takes at most 64"),
        ([5, 6], {"labels": ["a"]}, "1 labels but 2"),
        ([5, 6], {"target": [5]}, "Only an encoder-decoder"),
        ([5, 6], {"area_size": 17}, "between 1 and 16"),
        ("x" * 5000, {"tokenizer": small.tokenizer()}, "5,000 characters"),
    ],
)
def test_encoder_reports_invalid_input_in_one_sentence(
    inputs: object, more: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        areaviz.attend(small.bert(), inputs, **more)


def test_tokens_without_a_place_are_named() -> None:
    trace = areaviz.attend(small.bert(), TEXT, tokenizer=small.tokenizer())
    (name,) = [name for name in trace.details if name.endswith(" places")]
    field = trace.fields[name.removesuffix(" places")]
    assert (field.anchors[[0, -1], 0] == field.anchors[[0, -1], 1]).all()
    count = len(field)
    expected = f"no place in the text for 2 of {count} tokens: [CLS], [SEP]"
    assert trace.details[name] == expected
    given = areaviz.attend(small.bert(), [5, 6, 7], labels=["a", "small", "dog"])
    assert not [name for name in given.details if name.endswith(" places")]
