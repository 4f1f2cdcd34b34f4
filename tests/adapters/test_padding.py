"""Padding is neither shown nor counted. Batches, chats and beams are described or rejected."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import areaviz
from areaviz.trace.errors import InputError
from tests.adapters import small
from tests.adapters.library import eager

LEFT = {
    "input_ids": torch.tensor([[5, 6, 7, 8], [0, 0, 9, 10]]),
    "attention_mask": torch.tensor([[1, 1, 1, 1], [0, 0, 1, 1]]),
}
RIGHT = {
    "input_ids": torch.tensor([[5, 6, 7, 8], [9, 10, 0, 0]]),
    "attention_mask": torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]]),
}


@pytest.mark.parametrize(("batch", "part"), [(LEFT, slice(2, 4)), (RIGHT, slice(0, 2))])
@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
def test_padded_decoder_equals_decoder_without_padding(
    batch: dict[str, Any], part: slice, implementation: str
) -> None:
    model = small.gpt2()
    model.set_attn_implementation(implementation)
    trace = areaviz.attend(model, batch, example=1, area_size=1)
    own = torch.stack(eager(model, **batch).attentions)[:, 1, :, part, part].numpy()
    np.testing.assert_allclose(trace.maps["decoder self"].weights, own, atol=1e-5)
    assert trace.fields["history"].labels == ("9", "10")
    assert trace.fields["target"].labels[0] == "10" and len(trace.output.probabilities) == 2


def test_padded_pair_shows_the_source_without_padding() -> None:
    model = small.marian()
    trace = areaviz.attend(model, RIGHT, example=1, target=[5, 6], area_size=1)
    fed = torch.tensor([[0, 5]] * 2)
    own = eager(model, **RIGHT, decoder_input_ids=fed)
    across = torch.stack(own.cross_attentions)[:, 1, :, :, :2].numpy()
    np.testing.assert_allclose(trace.maps["encoder-decoder"].weights, across, atol=1e-5)
    assert len(trace.fields["source"]) == 2


def test_gradients_of_padded_text_equal_those_without_padding() -> None:
    trace = areaviz.attend(small.gpt2(), RIGHT, example=1, area_size=1, attribution=True)
    alone = areaviz.attend(small.gpt2(), [9, 10], area_size=1, attribution=True)
    site = "decoder self gradient"
    padded, plain = (np.asarray(one.maps[site].weights) for one in (trace, alone))
    np.testing.assert_allclose(padded, plain, atol=1e-5)


def test_mask_that_hides_everything_is_refused() -> None:
    given = {"input_ids": torch.tensor([[5, 6]]), "attention_mask": torch.zeros(1, 2).long()}
    with pytest.raises(InputError, match="hides every token"):
        areaviz.attend(small.gpt2(), given)


def test_two_texts_need_a_choice() -> None:
    model, tokenizer = small.bert(), small.tokenizer()
    with pytest.raises(InputError, match="a list of 2 texts.*example="):
        areaviz.attend(model, ["a dog", "a cat"], tokenizer=tokenizer)
    chosen = areaviz.attend(model, ["a dog", "a cat"], tokenizer=tokenizer, example=1)
    assert chosen.fields["source"].labels == ("[CLS]", "a", "cat", "[SEP]")


def test_chat_is_written_by_its_template() -> None:
    model, tokenizer = small.gpt2(), small.tokenizer()
    chat = [{"role": "user", "content": "a dog"}, {"role": "assistant", "content": "the cat"}]
    with pytest.raises(InputError, match="no chat template"):
        areaviz.attend(model, chat, tokenizer=tokenizer)
    tokenizer.chat_template = "{% for one in messages %}{{ one['content'] }} . {% endfor %}"
    trace = areaviz.attend(model, chat, tokenizer=tokenizer, area_size=1)
    assert trace.fields["history"].labels == ("a", "dog", ".", "the", "cat", ".")


def test_beams_of_the_configuration_are_followed_and_named() -> None:
    model = small.marian()
    model.generation_config.num_beams = 3
    trace = areaviz.attend(model, [5, 6, 7], steps=4, area_size=1)
    written = model.eval().generate(torch.tensor([[5, 6, 7]]), max_new_tokens=4, do_sample=False)
    assert trace.details["decoding"].startswith("beam search with 3 beams")
    assert trace.fields["target"].labels == tuple(map(str, written[0, 1:].tolist()))


def test_given_decoder_tokens_are_the_target() -> None:
    given = {"input_ids": torch.tensor([[5, 6, 7]]), "decoder_input_ids": torch.tensor([[0, 5, 6]])}
    trace = areaviz.attend(small.marian(), given, area_size=1)
    assert trace.fields["target"].labels[:2] == ("5", "6")
    assert trace.fields["history"].labels == ("⟨start⟩", "5", "6")


def test_unknown_site_is_refused_with_known_sites() -> None:
    with pytest.raises(InputError, match='no site "hops".*"decoder self"'):
        areaviz.attend(small.gpt2(), [5, 6], sites=["hops"])
    seen = areaviz.attend(small.vit(), torch.rand(3, 24, 32), sites=["class token"], area_size=1)
    assert list(seen.maps) == ["class token"]


def test_non_numeric_scores_are_refused() -> None:
    model = small.bert("BertForMaskedLM")
    with torch.no_grad():
        model.cls.predictions.bias.fill_(float("nan"))
    with pytest.raises(InputError, match="not finite.*NaN"):
        areaviz.attend(model, [5, 6])


def test_weights_without_values_are_refused() -> None:
    with pytest.raises(InputError, match="meta device"):
        areaviz.attend(small.gpt2().to("meta"), [5, 6])


def test_cache_of_an_earlier_run_is_refused() -> None:
    with pytest.raises(InputError, match="past_key_values.*whole text"):
        areaviz.attend(small.gpt2(), {"input_ids": [[5, 6]], "past_key_values": object()})


def test_hub_name_becomes_a_valid_model_name() -> None:
    trace = areaviz.attend(small.gpt2(), [5, 6], name="org/model", area_size=1)
    assert trace.request.model == "org-model"
    layer = np.full((1, 1, 2, 2), 0.5)
    assert areaviz.from_arrays(layer, name="org/model").request.model == "org-model"
