"""Text decoders and encoder-decoders: GPT-2, Marian, T5, and one with custom attention."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers

import areaviz
from areaviz.adapters.texts import Texts
from areaviz.adapters.transformers_stacks import make_decoder_run
from areaviz.draw.view import figure_caption
from areaviz.trace.document import validate
from areaviz.trace.errors import InputError
from areaviz.trace.request import Focus
from tests.adapters import small
from tests.adapters.library import AS_AREAS_OFF, eager, same

TEXT = "a small dog runs"


def test_gpt2_matches_library_and_is_causal() -> None:
    model, ids = small.gpt2(), torch.tensor([[5, 6, 7, 8]])
    trace = areaviz.attend(model, ids, labels=["a", "small", "dog", "run"])
    validate(trace)
    same(trace, "decoder self", eager(model, input_ids=ids).attentions)
    areas = trace.maps["decoder self as areas"]
    _, left, _, width = areas.grid.table().T
    ahead = (left + width - 1)[None] > np.arange(4)[:, None]
    assert not areas.weights[..., ahead].any() and areas.weights[..., ~ahead].all()


def test_decoder_target_is_the_next_item() -> None:
    model, ids = small.gpt2(), torch.tensor([[5, 6, 7, 8]])
    trace = areaviz.attend(model, ids)
    likely = eager(model, input_ids=ids).logits[0].softmax(-1)
    following = [6, 7, 8, int(likely[-1].argmax())]
    assert trace.fields["history"].labels == ("5", "6", "7", "8")
    assert trace.fields["target"].labels == tuple(map(str, following))
    np.testing.assert_allclose(
        trace.output.probabilities, likely[range(4), following].numpy(), rtol=1e-4
    )
    assert "given text" in figure_caption(trace, Focus("decoder self"))
    assert trace.fields["target"].raw == f"5 6 7 8 {following[-1]}"


def test_next_token_is_spelled_by_the_tokenizer() -> None:
    """A new word follows a space, and a suffix follows its word without a space."""
    tokenizer = small.tokenizer()
    words = tokenizer.convert_tokens_to_ids(["the", "dog", "run"])
    texts = Texts(tokenizer)
    for token, raw in (("cat", "the dog run cat"), ("##s", "the dog runs")):
        logits = torch.zeros(1, 3, len(small.WORDS))
        logits[0, -1, tokenizer.convert_tokens_to_ids(token)] = 1
        run = make_decoder_run(texts.read(words), [], logits, texts, {})
        target = run.fields[-1]
        assert target.raw == raw
        start, end = target.anchors[-1]
        assert raw[start:end] == token.removeprefix("##")


def test_decoder_without_head_shows_only_its_text() -> None:
    trace = areaviz.attend(small.gpt2("GPT2Model"), [5, 6, 7])
    assert trace.maps["decoder self"].query == trace.maps["decoder self"].memory == "history"
    assert not len(trace.output.probabilities)


@pytest.mark.parametrize("model", [small.marian(), small.t5()], ids=["marian", "t5"])
def test_encoder_decoder_matches_library_attention(model: Any) -> None:
    source, target = torch.tensor([[5, 6, 7, 8, 3]]), [10, 11, 3]
    trace = areaviz.attend(model, source, target=target)
    validate(trace)
    expected = eager(model, input_ids=source, decoder_input_ids=torch.tensor([[0, 10, 11]]))
    same(trace, "encoder self", expected.encoder_attentions)
    same(trace, "decoder self", expected.decoder_attentions)
    same(trace, "encoder-decoder", expected.cross_attentions)
    assert {
        f"{site} as areas" for site in ("encoder self", "decoder self", "encoder-decoder")
    } < trace.maps.keys()
    likely = expected.logits[0].softmax(-1)[range(3), target]
    np.testing.assert_allclose(trace.output.probabilities, likely.numpy(), rtol=1e-4)
    assert trace.fields["history"].labels == ("⟨start⟩", "10", "11")


@pytest.mark.parametrize("model", [small.marian(), small.t5()], ids=["marian", "t5"])
def test_model_writes_target_if_none_is_given(model: Any) -> None:
    trace = areaviz.attend(model, TEXT, tokenizer=small.tokenizer(), steps=5)
    ids = small.tokenizer()(TEXT, return_tensors="pt")["input_ids"]
    written = model.eval().generate(ids, max_new_tokens=5, do_sample=False)[0, 1:].tolist()
    labels = trace.fields["target"].labels
    assert [label.replace("##", "") for label in labels] == [
        small.WORDS[token].replace("##", "") for token in written
    ]
    assert "decoding" not in trace.details


def test_t5_areas_have_the_mean_of_its_position_bias() -> None:
    """T5 does not scale its scores and adds a bias by distance.

    The expected areas of the first layer are computed by hand.
    """
    model, ids = small.t5().eval(), torch.tensor([[5, 6, 7]])
    layer = model.encoder.block[0].layer[0]
    with torch.no_grad():
        items = layer.layer_norm(model.shared(ids))[0]
        own = layer.SelfAttention
        query, key = (part(items).unflatten(-1, (4, 4)).transpose(0, 1) for part in (own.q, own.k))
        bias = own.compute_bias(3, 3)[0]
    listed = [[0], [1], [2], [0, 1], [1, 2]]
    scores = [
        query @ key[:, area].mean(1)[..., None] * own.scaling
        + bias[..., area].mean(-1, keepdim=True)
        for area in listed
    ]
    found = areaviz.attend(model, ids, target=[5], area_size=2).maps["encoder self as areas"]
    np.testing.assert_allclose(
        found.weights[0], torch.cat(scores, -1).softmax(-1).detach().numpy(), atol=AS_AREAS_OFF
    )


def test_custom_attention_function_shows_returned_weights() -> None:
    torch.manual_seed(0)
    model = small.sharp(
        transformers.DebertaModel(transformers.DebertaConfig(vocab_size=13, **small.SIZES))
    )
    assert not model._can_set_attn_implementation()
    trace = areaviz.attend(model, [5, 6, 7, 8])
    assert list(trace.maps) == ["encoder self", "encoder self sums"], (
        "queries and keys are not known"
    )
    with torch.no_grad():
        same(
            trace,
            "encoder self",
            model.eval()(torch.tensor([[5, 6, 7, 8]]), output_attentions=True).attentions,
        )


def test_grouped_keys_are_repeated_for_every_head() -> None:
    torch.manual_seed(0)
    sizes = {**small.SIZES, "num_key_value_heads": 2, "max_position_embeddings": 32}
    model = small.sharp(
        transformers.LlamaForCausalLM(transformers.LlamaConfig(vocab_size=13, **sizes))
    )
    trace = areaviz.attend(model, [5, 6, 7, 8])
    same(trace, "decoder self", eager(model, input_ids=torch.tensor([[5, 6, 7, 8]])).attentions)
    assert "decoder self as areas" in trace.maps


def test_capped_scores_have_no_area_distribution() -> None:
    torch.manual_seed(0)
    sizes = {**small.SIZES, "num_key_value_heads": 2, "head_dim": 4, "max_position_embeddings": 32}
    config = transformers.Gemma2Config(
        vocab_size=13, attn_logit_softcapping=0.5, query_pre_attn_scalar=1, **sizes
    )
    trace = areaviz.attend(small.sharp(transformers.Gemma2ForCausalLM(config)), [5, 6, 7, 8])
    assert list(trace.maps) == ["decoder self", "decoder self sums"]


@pytest.mark.parametrize(
    ("model", "more", "said"),
    [
        (small.marian("MarianModel"), {}, "writes no text by itself"),
        (small.marian(), {"target": "a dog"}, "needs a tokenizer"),
        (small.marian(), {"target": []}, "no tokens in the target"),
        (small.marian(), {"steps": 0}, "between 1 and 1024"),
    ],
)
def test_decoder_reports_invalid_input_in_one_sentence(
    model: Any, more: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        areaviz.attend(model, [5, 6], **more)
