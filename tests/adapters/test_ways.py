"""Traces show what the model really computes.

The cases include other computations, sinks, batches, masks and wrappers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from torch import Tensor, nn
from torch.nn import functional as F

import areaviz
from areaviz.adapters.recording import compute_output_difference
from areaviz.trace.document import validate
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace
from tests.adapters import small
from tests.adapters.architectures import ARCHITECTURES
from tests.adapters.library import eager, same

TEXT = "a small dog runs"


def weights(trace: Trace, site: str) -> Any:
    return np.asarray(trace.maps[site].weights)


def architecture(family: str) -> Any:
    return next(one for one in ARCHITECTURES if one.family == family).model()


def test_falcon_is_causal_as_loaded() -> None:
    """Falcon computes other weights if attentions are requested.

    Recording the calls of torch's attention function avoids that.
    """
    model, ids = architecture("FalconForCausalLM"), [5, 6, 7, 8]
    trace = areaviz.attend(model, ids)
    assert not np.triu(weights(trace, "decoder self"), 1).any()
    with torch.no_grad():
        likely = model(torch.tensor([ids])).logits[0].softmax(-1)
    following = [6, 7, 8, int(likely[-1].argmax())]
    np.testing.assert_allclose(
        trace.output.probabilities, likely[range(4), following].numpy(), rtol=1e-4
    )


def test_sink_takes_share_from_items() -> None:
    model, ids = architecture("GptOssForCausalLM"), [5, 6, 7, 8, 9, 10, 11, 12]
    with torch.no_grad():
        for layer in model.model.layers:
            layer.self_attn.sinks.fill_(6.0)
    trace = areaviz.attend(model, ids)
    validate(trace)
    shown = weights(trace, "decoder self")
    expected = torch.stack(list(eager(model, input_ids=torch.tensor([ids])).attentions))[:, 0]
    np.testing.assert_allclose(shown[..., :-1], expected.numpy(), atol=1e-5)
    np.testing.assert_allclose(shown[..., -1], 1 - expected.sum(-1).numpy(), atol=1e-5)
    assert trace.fields[trace.maps["decoder self"].memory].labels[-1] == "⟨nothing⟩"
    assert (shown.sum(-1) > 0.999).all() and "sinks" in trace.details


def test_yolos_cells_follow_the_class_token() -> None:
    model, values = architecture("YolosModel"), torch.rand(1, 3, 32, 32)
    trace = areaviz.attend(model, values)
    expected = torch.stack(list(eager(model, pixel_values=values).attentions))[:, 0, :, 1:17, 1:17]
    shares = (expected / expected.sum(-1, keepdim=True)).numpy()
    np.testing.assert_allclose(weights(trace, "encoder self"), shares, atol=1e-5)
    assert trace.fields["class token"].labels == (
        "⟨class⟩",
        *(f"⟨detection {number}⟩" for number in range(1, 6)),
    )


def test_text_pair_has_segments() -> None:
    model, tokenizer = small.bert(), small.tokenizer()
    trace = areaviz.attend(model, ("a small dog", "the cat runs"), tokenizer=tokenizer)
    read = tokenizer("a small dog", "the cat runs", return_tensors="pt")
    assert read["token_type_ids"].any()
    same(trace, "encoder self", eager(model, **read).attentions)
    field = trace.fields["source"]
    assert field.raw == trace.request.text == "a small dog the cat runs"
    places = dict(zip(field.labels, field.anchors.tolist(), strict=True))
    assert places["the"] == [12, 15] and places["run"] == [20, 23]


def test_tokenizer_result_is_accepted_with_mask() -> None:
    model, tokenizer = small.bert(), small.tokenizer()
    batch = tokenizer(["a dog", TEXT], padding=True, return_tensors="pt")
    trace = areaviz.attend(model, batch, tokenizer=tokenizer)
    expected = eager(model, **batch).attentions
    same(trace, "encoder self", [layer[..., :4, :4] for layer in expected])
    assert trace.fields["source"].labels == ("[CLS]", "a", "dog", "[SEP]"), "padding is not shown"
    assert trace.details["example"] == "1 of a batch of 2"
    second = areaviz.attend(model, dict(batch), tokenizer=tokenizer, example=1)
    same(second, "encoder self", [layer[1:] for layer in expected])


def test_list_of_texts_is_a_batch() -> None:
    one, other = (
        areaviz.attend(small.bert(), given, tokenizer=small.tokenizer(), example=1)
        for given in (TEXT, ["a dog", TEXT])
    )
    np.testing.assert_array_equal(weights(one, "encoder self"), weights(other, "encoder self"))
    assert other.details["example"] == "2 of a batch of 2"


def test_tokenizer_of_tokenizers_library_is_accepted() -> None:
    bare = small.tokenizer()._tokenizer
    trace = areaviz.attend(small.gpt2(), TEXT, tokenizer=bare)
    assert "small" in trace.fields["history"].labels


def test_batch_through_module_names_shown_example() -> None:
    layer, x = nn.MultiheadAttention(16, 4, batch_first=True), torch.randn(3, 5, 16)
    trace = areaviz.attend(layer, (x, x, x), example=2)
    last = x[2:]
    alone = areaviz.attend(layer, (last, last, last))
    np.testing.assert_allclose(
        weights(trace, "encoder self"), weights(alone, "encoder self"), atol=1e-6
    )
    assert trace.details["example"] == "3 of a batch of 3" and "example" not in alone.details
    with pytest.raises(InputError, match="no example 3"):
        areaviz.attend(layer, (x, x, x), example=3)


def test_transformer_without_masks_has_separate_sites() -> None:
    model = nn.Transformer(16, 4, 2, 3, 24, batch_first=True)
    trace = areaviz.attend(model, (torch.randn(1, 6, 16), torch.randn(1, 6, 16)))
    shapes = {site: one.weights.shape[0] for site, one in trace.maps.items() if not one.derived}
    assert shapes == {"encoder self": 2, "decoder self": 3, "encoder-decoder": 3}


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
def test_half_precision_model_has_area_maps(kind: torch.dtype) -> None:
    model = small.bert().to(kind)
    trace = areaviz.attend(model, [5, 6, 7, 8])
    assert "encoder self as areas" in trace.maps and "as areas" not in trace.details


def test_missing_derived_map_is_explained() -> None:
    torch.manual_seed(0)
    model = transformers.DebertaModel(transformers.DebertaConfig(vocab_size=13, **small.SIZES))
    trace = areaviz.attend(model, [5, 6, 7])
    assert "queries and keys are not known" in trace.details["as areas"]
    assert "returns" in trace.details["attention"]


def test_decoder_queries_are_attending_items() -> None:
    trace = areaviz.attend(small.gpt2(), [5, 6, 7])
    attention = trace.maps["decoder self"]
    assert attention.query == attention.memory == "history"


@pytest.mark.parametrize(
    "wrap",
    [
        lambda model: torch.compile(model, backend="eager"),
        nn.DataParallel,
        lambda model: torch.compile(nn.DataParallel(model), backend="eager"),
    ],
    ids=["compiled", "parallel", "both"],
)
def test_wrapped_model_gives_trace_of_inner_model(wrap: Any) -> None:
    ids = [5, 6, 7, 8]
    plain = areaviz.attend(small.bert(), ids)
    trace = areaviz.attend(wrap(small.bert()), ids)
    np.testing.assert_allclose(
        weights(trace, "encoder self"), weights(plain, "encoder self"), atol=1e-6
    )
    assert trace.request.model == "BertModel"


def test_model_compiled_in_place_runs_uncompiled() -> None:
    model = small.bert()
    model.compile(backend="eager")
    trace = areaviz.attend(model, [5, 6, 7])
    plain = areaviz.attend(small.bert(), [5, 6, 7])
    np.testing.assert_allclose(
        weights(trace, "encoder self"), weights(plain, "encoder self"), atol=1e-6
    )


class Classifier(nn.Module):
    """The usual code around an encoder."""

    def __init__(self) -> None:
        super().__init__()
        self.bert, self.classify = small.bert(), nn.Linear(16, 2)

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        hidden = self.bert(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        logits: Tensor = self.classify(hidden[:, 0])
        return logits


def test_module_around_encoder_shows_the_encoder() -> None:
    model, read = Classifier(), small.tokenizer()(TEXT, return_tensors="pt")
    given = {name: read[name] for name in ("input_ids", "attention_mask")}
    trace = areaviz.attend(model, given)
    same(trace, "encoder self", eager(model.bert, **given).attentions)


class Own(nn.Module):
    """A custom module that calls torch's attention function."""

    def __init__(self, causal: bool, heads: int = 4) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.causal, self.heads, self.project = causal, heads, nn.Linear(16, 48)

    def split(self, x: Tensor) -> list[Tensor]:
        return [
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in self.project(x).chunk(3, -1)
        ]

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = self.split(x)
        return F.scaled_dot_product_attention(query, key, value, is_causal=self.causal)


@pytest.mark.parametrize(("causal", "site"), [(True, "decoder self"), (False, "encoder self")])
def test_torch_attention_function_is_recorded_in_custom_modules(causal: bool, site: str) -> None:
    model, x = Own(causal), torch.randn(2, 5, 16)
    trace = areaviz.attend(model, x, example=1)
    query, key, _ = model.split(x)
    scores = query[1] @ key[1].transpose(-1, -2) / 2
    if causal:
        scores = scores + torch.full((5, 5), -torch.inf).triu(1)
    np.testing.assert_allclose(
        weights(trace, site)[0], scores.softmax(-1).detach().numpy(), atol=1e-5
    )
    assert f"{site} as areas" in trace.maps
    assert not any(one._forward_hooks or one._forward_pre_hooks for one in model.modules())


class Moody(nn.Module):
    """A module whose output changes when its layer has hooks."""

    def __init__(self) -> None:
        super().__init__()
        self.own = Own(False)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.own(x)
        return result * 2 if self.own._forward_hooks else result


def test_map_of_a_different_computation_is_refused() -> None:
    with pytest.raises(InputError, match="other outputs while its attention is recorded"):
        areaviz.attend(Moody(), torch.randn(1, 5, 16))


def test_outputs_in_any_container_are_compared() -> None:
    one = {"logits": torch.tensor([1.0, 2.0]), "attentions": (torch.ones(1),)}
    off = {"logits": torch.tensor([1.0, 2.1])}
    assert compute_output_difference(one, {"logits": torch.tensor([1.0, 2.0])}) == 0
    assert (
        compute_output_difference(one, off) > 1
        and compute_output_difference([one["logits"]], [off["logits"]]) > 1
    )
    assert compute_output_difference(torch.tensor([torch.nan]), torch.tensor([1.0])) == torch.inf
    assert compute_output_difference(torch.ones(2), torch.ones(3)) == torch.inf


def test_layers_heads_and_sites_are_chosen() -> None:
    model, ids = small.marian(), [5, 6, 7, 3]
    whole = areaviz.attend(model, ids, target=[10, 11, 3])
    part = areaviz.attend(
        model, ids, target=[10, 11, 3], layers=[1], heads=[0, 1], sites=["encoder self"]
    )
    assert [one.site for one in part.maps.values() if not one.derived] == ["encoder self"]
    np.testing.assert_array_equal(
        weights(part, "encoder self"), weights(whole, "encoder self")[1:2, :2]
    )
    assert part.details["layers"] == "layers 2 of 2 of encoder self"


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({"layers": [2]}, "no layer 2"),
        ({"heads": [4]}, "no head 4"),
        ({"sites": []}, "selects no layer, head or site"),
    ],
)
def test_choice_of_missing_part_is_refused(chosen: Mapping[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        areaviz.attend(small.bert(), [5, 6, 7], **chosen)


def test_from_arrays_accepts_torch_tensors() -> None:
    weights_LHQN = torch.randn(2, 3, 4, 4).softmax(-1)
    plain = np.asarray(areaviz.from_arrays(weights_LHQN).maps["attention"].weights)
    graph = areaviz.from_arrays(weights_LHQN.clone().requires_grad_())
    np.testing.assert_array_equal(np.asarray(graph.maps["attention"].weights), plain)
    half = areaviz.from_arrays(weights_LHQN.to(torch.bfloat16))
    np.testing.assert_allclose(np.asarray(half.maps["attention"].weights), plain, atol=0.01)
    returned = tuple(layer[None] for layer in weights_LHQN)
    layers = areaviz.from_arrays(returned)
    np.testing.assert_array_equal(np.asarray(layers.maps["attention"].weights), plain)
