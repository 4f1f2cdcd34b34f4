"""The Transformer: its sizes, its masks, and step-by-step decoding compared with one pass."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from areaviz.models.network import compute_token_log_probabilities
from areaviz.models.tokenizer import pad_rows
from areaviz.models.translation import TRANSFORMER_SIZES, Transformer, TransformerConfig
from tests.tiny import FORMS, network

SOURCE = torch.tensor([[5, 9, 4, 11, 7, 6, 3]])
TARGET = torch.tensor([[2, 8, 5, 5, 10, 4, 12, 9]])
VOCABULARY = 20


@pytest.mark.parametrize("size", TRANSFORMER_SIZES)
def test_sizes_match_the_paper(size: str) -> None:
    with torch.device("meta"):
        model = Transformer(TransformerConfig.from_size(size, 100))
    assert len(model.encoder) == len(model.decoder) == TRANSFORMER_SIZES[size]["layers"]
    assert model.embedding.weight.shape[1] == TRANSFORMER_SIZES[size]["width"]


def test_unknown_size_is_named() -> None:
    with pytest.raises(ValueError, match="Huge.*Tiny, Small, Base, Big"):
        TransformerConfig.from_size("Huge", 100)


def test_mean_and_sum_areas_have_no_parameters() -> None:
    shapes = [
        [p.shape for p in network(VOCABULARY, area_size=size).parameters()] for size in (1, 5)
    ]
    assert shapes[0] == shapes[1]


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("area_layers", [0, 1, 2])
def test_steps_equal_the_whole_pass(form: dict[str, Any], area_layers: int) -> None:
    model = network(VOCABULARY, **form, area_layers=area_layers)
    whole_TV = compute_token_log_probabilities(model(SOURCE, TARGET))[0]
    stepper = model.write(SOURCE)
    for t, token in enumerate(TARGET[0]):
        torch.testing.assert_close(stepper.step(token[None])[0], whole_TV[t], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_padding_changes_nothing(form: dict[str, Any]) -> None:
    model = network(VOCABULARY, **form)
    alone = model(SOURCE, TARGET)
    beside = model(pad_rows([SOURCE[0].tolist(), list(range(4, 18))]), TARGET.expand(2, -1))
    torch.testing.assert_close(beside[:1], alone, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_target_never_sees_later_tokens(form: dict[str, Any]) -> None:
    model, changed = network(VOCABULARY, **form), TARGET.clone()
    changed[0, 5:] = 13
    torch.testing.assert_close(model(SOURCE, TARGET)[:, :5], model(SOURCE, changed)[:, :5])


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_beams_share_source_and_reorder_their_past(form: dict[str, Any]) -> None:
    model = network(VOCABULARY, **form)
    sources = pad_rows([SOURCE[0].tolist(), [6, 5, 3]])
    stepper = model.write(sources)
    rows = [[2, 8, 5], [2, 9, 5], [2, 4, 7], [2, 6, 7]]
    for tokens in zip(*[row[:2] for row in rows], strict=True):
        stepper.step(torch.tensor(tokens))
    stepper.select(torch.tensor([1, 1, 3, 2]))
    found = stepper.step(torch.tensor([5, 6, 7, 8]))
    pasts = [(0, [2, 9, 5]), (0, [2, 9, 6]), (1, [2, 6, 7]), (1, [2, 4, 8])]
    for row, (sentence, past) in enumerate(pasts):
        source = sources[sentence][sources[sentence] != 0][None]
        expected = compute_token_log_probabilities(model(source, torch.tensor([past])))[0, -1]
        torch.testing.assert_close(found[row], expected, atol=1e-5, rtol=1e-4)


def test_weights_are_distributions_of_one_pass() -> None:
    model = network(VOCABULARY)
    run = model.attend(SOURCE, TARGET)
    torch.testing.assert_close(run.logits, model(SOURCE, TARGET), atol=1e-5, rtol=1e-4)
    assert set(run.weights) == {"encoder self", "decoder self", "encoder-decoder"}
    for layers in run.weights.values():
        for weights_BHQA in layers:
            torch.testing.assert_close(weights_BHQA.sum(-1), torch.ones(weights_BHQA.shape[:3]))


def test_control_symbols_are_never_written() -> None:
    likely = compute_token_log_probabilities(torch.zeros(1, 6)).exp()
    assert likely[0, :3].tolist() == [0, 0, 0]
    assert likely.sum() == pytest.approx(1)
