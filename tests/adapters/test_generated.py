"""Traces from the result of `generate` equal those of one pass over the generated text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import areaviz
from tests.adapters import small

TEXTS = torch.tensor([[5, 6, 7], [7, 8, 9]])
ASKED = {"return_dict_in_generate": True, "output_attentions": True, "output_scores": True}


def generated(model: Any, beams: int) -> Any:
    """Return what a model writes for both texts, with its attentions."""
    model.set_attn_implementation("eager")
    more = {"max_new_tokens": 5, "do_sample": False, "num_beams": beams, "pad_token_id": 0}
    return model.eval().generate(TEXTS, **more, **ASKED)


def weights_of(layers: Any) -> Any:
    """Return the layers of a pass over one text as [L, H, Q, N]."""
    return torch.stack(layers)[:, 0].detach().numpy()


@pytest.mark.parametrize("beams", [1, 3])
@pytest.mark.parametrize("sequence", [0, 1])
def test_from_generate_agrees_with_one_pass_of_a_decoder(beams: int, sequence: int) -> None:
    model = small.gpt2()
    outputs = generated(model, beams)
    trace = areaviz.from_generate(outputs, sequence=sequence)
    ids = outputs.sequences[sequence : sequence + 1, : len(trace.fields["history"])]
    own = weights_of(model(ids, output_attentions=True).attentions)
    np.testing.assert_allclose(trace.maps["decoder self"].weights, own, atol=1e-5)
    assert trace.fields["history"].labels == tuple(map(str, ids[0].tolist()))


@pytest.mark.parametrize("beams", [1, 3])
@pytest.mark.parametrize("sequence", [0, 1])
def test_from_generate_agrees_with_one_pass_of_a_pair(beams: int, sequence: int) -> None:
    model = small.marian()
    outputs = generated(model, beams)
    trace = areaviz.from_generate(outputs, sequence=sequence)
    ids, count = outputs.sequences[sequence], len(trace.fields["target"])
    text = {"input_ids": TEXTS[sequence][None], "decoder_input_ids": ids[None, :count]}
    own = model(**text, output_attentions=True)
    for site, layers in (
        ("encoder-decoder", own.cross_attentions),
        ("decoder self", own.decoder_attentions),
        ("encoder self", own.encoder_attentions),
    ):
        np.testing.assert_allclose(trace.maps[site].weights, weights_of(layers), atol=1e-5)
    likely = own.logits[0].softmax(-1)[torch.arange(count), ids[1 : count + 1]].detach()
    np.testing.assert_allclose(trace.output.probabilities, likely, atol=1e-5)


def test_from_generate_refuses_outputs_without_attentions() -> None:
    outputs = small.gpt2().eval().generate(TEXTS, max_new_tokens=2, pad_token_id=0)
    with pytest.raises(areaviz.InputError, match="output_attentions=True"):
        areaviz.from_generate(outputs)
    with pytest.raises(areaviz.InputError, match="no sequence 2 among 2"):
        areaviz.from_generate(generated(small.gpt2(), 1), sequence=2)


def test_from_arrays_gives_advice_for_generated_weights() -> None:
    outputs = generated(small.marian(), 1)
    with pytest.raises(areaviz.InputError, match="areaviz.from_generate"):
        areaviz.from_arrays(outputs.cross_attentions)


def test_from_arrays_leaves_out_layers_without_weights() -> None:
    layer = torch.full((1, 2, 3, 3), 1 / 3)
    trace = areaviz.from_arrays([None, layer, None, layer])
    assert trace.maps["attention"].weights.shape == (2, 2, 3, 3)


@pytest.mark.parametrize("given", [None, (), [], [None, None]])
def test_from_arrays_refuses_empty_weights(given: Any) -> None:
    with pytest.raises(areaviz.InputError, match="None|no weights"):
        areaviz.from_arrays(given)
