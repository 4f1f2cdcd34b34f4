"""Gradient times input is exact on a linear model and matches finite differences on networks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from areaviz.attention import gradients
from areaviz.attention.gradients import compute_gradient_times_input
from areaviz.backend.backend import make_cache_key
from areaviz.cards.card import read_card
from areaviz.models.base import check_abilities
from areaviz.models.generation import GenerationModel
from areaviz.models.network import compute_token_log_probabilities
from areaviz.models.tokenizer import START
from areaviz.trace.changes import Weigh
from areaviz.trace.document import validate
from areaviz.trace.errors import InputError
from areaviz.trace.file import trace_from_bytes, trace_to_bytes
from areaviz.trace.request import Request, from_params, to_params
from tests.tiny import checkpoint

CPU = torch.device("cpu")
ASKED = Request("tiny-area", "A dog", attribution=True)


@pytest.fixture(params=[1, 3])
def model(request: pytest.FixtureRequest, tmp_path: Path) -> GenerationModel:
    folder = checkpoint(tmp_path, area_size=request.param)
    return GenerationModel.load(folder, read_card(folder / "card.json"), CPU)


def test_attribution_on_linear_model_is_item_contribution() -> None:
    torch.manual_seed(0)
    weights_TNW, inputs_1NW = torch.randn(3, 4, 5), torch.randn(1, 4, 5, requires_grad=True)
    unread_1NW = torch.ones(1, 2, 5, requires_grad=True)
    scores_T = (weights_TNW * inputs_1NW).sum((1, 2)) + 7
    found, none = compute_gradient_times_input(scores_T, [inputs_1NW, unread_1NW])
    for output in range(3):
        for item in range(4):
            larger = inputs_1NW.detach().clone()
            larger[0, item] *= 2
            difference = (weights_TNW[output] * larger).sum() + 7 - scores_T[output].detach()
            assert found[output, item] == pytest.approx(float(difference), abs=1e-4)
    np.testing.assert_array_equal(none, np.zeros((3, 2)))


def scaled(model: GenerationModel, call: int, item: int, factor: float, ids: list[int]) -> Tensor:
    """Return the log-probabilities of an output while one embedding is scaled by a factor."""
    calls: list[int] = []

    def hook(module: nn.Module, given: Any, output: Tensor) -> Tensor:
        calls.append(1)
        if len(calls) != call + 1:
            return output
        output = output.clone()
        output[:, item] *= factor
        return output

    handle = model.network.embedding.register_forward_hook(hook)
    try:
        (parts,) = model.read_inputs([ASKED])
        target = torch.tensor([[START, *ids[:-1]]])
        with torch.no_grad():
            run = model.network.attend(parts["source"][None].clone(), target)
    finally:
        handle.remove()
    return compute_token_log_probabilities(run.logits[0].double())[
        torch.arange(len(ids)), torch.tensor(ids)
    ]


def test_translator_attribution_matches_finite_differences(
    model: GenerationModel,
) -> None:
    (found,) = model.trace([ASKED])
    parts = model.read_inputs([ASKED])
    (written,) = model.generate([ASKED], parts)
    ids = list(written.ids)
    step = 2e-3
    for call, site in enumerate(["encoder-decoder gradient", "decoder self gradient"]):
        weights_TN = found.maps[site].weights[0, 0]
        slopes = np.empty(weights_TN.shape)
        for item in range(weights_TN.shape[1]):
            above, below = (scaled(model, call, item, 1 + way * step, ids) for way in (1, -1))
            slopes[:, item] = (above - below).numpy() / (2 * step)
        sizes = np.abs(slopes)
        np.testing.assert_allclose(weights_TN, sizes / sizes.sum(-1, keepdims=True), atol=0.01)


def test_trace_keeps_rollout_and_gradients_with_attention(model: GenerationModel) -> None:
    (found,) = model.trace([ASKED])
    (plain,) = model.trace([replace(ASKED, attribution=False)])
    added = set(found.maps) - set(plain.maps)
    assert added == {
        "encoder self rollout",
        "encoder-decoder rollout",
        "encoder-decoder gradient",
        "decoder self rollout",
        "decoder self gradient",
    }
    validate(found)
    for site in added:
        np.testing.assert_allclose(found.maps[site].weights.sum(-1), 1, atol=1e-5)
        assert "not attention" in found.maps[site].derived
    for site, attention in plain.maps.items():
        np.testing.assert_array_equal(found.maps[site].weights, attention.weights)
    read = trace_from_bytes(trace_to_bytes(found))
    assert read.request.attribution and set(read.maps) == set(found.maps)
    # The network's parameters and outputs did not change.
    assert all(one.grad is None for one in model.network.parameters())


def test_no_output_depends_on_later_items(model: GenerationModel) -> None:
    (found,) = model.trace([ASKED])
    assert not np.triu(found.maps["decoder self gradient"].weights[0, 0], 1).any()


def test_attribution_of_changed_run_uses_its_changes(model: GenerationModel) -> None:
    banned = replace(ASKED, target="Ein", changes=(Weigh("encoder-decoder", (0,)),))
    (plain,), (changed,) = model.trace([replace(banned, changes=())]), model.trace([banned])
    site = "encoder-decoder gradient"
    assert not np.allclose(plain.maps[site].weights, changed.maps[site].weights)


def test_gradients_of_too_long_output_are_omitted(
    model: GenerationModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gradients, "MAX_OUTPUTS", 2)
    (found,) = model.trace([ASKED])
    assert "the limit is 2" in found.details["gradient × input"]
    assert "encoder-decoder rollout" in found.maps
    assert "encoder-decoder gradient" not in found.maps


def test_request_states_if_attribution_is_wanted() -> None:
    params = to_params(ASKED)
    assert params["attribution"] == "1" and from_params(params)[0] == ASKED
    plain = replace(ASKED, attribution=False)
    assert "attribution" not in to_params(plain)
    assert make_cache_key(ASKED, None) != make_cache_key(plain, None)
    check_abilities(ASKED, frozenset({"attribution"}), "A model")
    with pytest.raises(InputError, match="Leave attribution out"):
        check_abilities(ASKED, frozenset({"target"}), "A model")
