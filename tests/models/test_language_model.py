"""A language model: its parts compared with obvious versions, its output, and its traces."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from areaviz.attention.interventions import NetworkInterventions
from areaviz.cards.card import write_card
from areaviz.models import MODELS
from areaviz.models.base import TOKENIZER, save_weights
from areaviz.models.generation import GENERATION_NETWORKS, LanguageModel, PrefixStepper
from areaviz.models.language import SITE
from areaviz.models.network import GenerationNetwork, compute_token_log_probabilities
from areaviz.models.tokenizer import END, START, shift_targets
from areaviz.trace.changes import Change, Gate, Hide, Weigh
from areaviz.trace.document import validate
from areaviz.trace.errors import InputError
from areaviz.trace.request import Request
from tests import tiny

TEXT = "A small dog runs"


SIZES: dict[str, dict[str, Any]] = {
    "text decoder": {"layers": 2, "filter": 32, "area_layers": 1},
    "recurrent text decoder": {"depth": 2},
}
"""The sizes of each family of networks."""
FAMILIES = list(SIZES)


def language_model(
    level: str = "token", family: str = FAMILIES[0], **options: Any
) -> LanguageModel:
    """Return a language model with random weights. Its output has no meaning."""
    words = tiny.tokenizer(level)
    sizes = {**SIZES[family], "width": 16, "heads": 2, "dropout": 0.0}
    sizes |= {"area_size": 3, "key_mode": "boundary"}
    torch.manual_seed(3)
    choices, make = GENERATION_NETWORKS[family]
    network = make(choices(len(words), **{**sizes, **options})).eval()
    card = replace(
        tiny.card("reader", level, tiny.network(len(words))),
        family=family,
        task="reading",
        config=asdict(network.config),
        recipe={"source": "en"},
    )
    return LanguageModel(card, words, network)


def make_network(family: str, options: dict[str, Any]) -> GenerationNetwork:
    """Return the network of a language model of a form from `tiny.FORMS`."""
    return language_model(family=family, **{"key_mode": "mean", **options}).network


def save(model: LanguageModel, folder: Path, name: str) -> None:
    """Save a checkpoint of the model in the layout of shipped checkpoints."""
    path = folder / name
    path.mkdir(parents=True)
    save_weights(model.network, path)
    model.tokenizer.save(path / TOKENIZER)
    write_card(replace(model.card, name=name, title=name.capitalize()), path / "card.json")


@pytest.fixture(scope="module", params=FAMILIES)
def model(request: pytest.FixtureRequest) -> LanguageModel:
    return language_model(family=request.param)


def test_both_families_are_language_models() -> None:
    assert {MODELS[family] for family in FAMILIES} == {LanguageModel}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("options", tiny.FORMS, ids=str)
def test_token_sees_only_preceding_tokens(family: str, options: dict[str, Any]) -> None:
    network = make_network(family, options)
    ids = torch.tensor([[START, 5, 6, 7, 8, 9]])
    whole, changed = network(ids), ids.clone()
    changed[0, 4] = 11
    torch.testing.assert_close(network(changed)[:, :4], whole[:, :4])
    assert not torch.allclose(network(changed)[:, 4], whole[:, 4])


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("options", tiny.FORMS, ids=str)
def test_steps_equal_the_whole_pass(family: str, options: dict[str, Any]) -> None:
    network = make_network(family, options)
    ids = torch.tensor([[START, 5, 6, 7, 8], [START, 9, 5, 10, 6]])
    stepper = network.write()
    steps = torch.stack([stepper.step(ids[:, step]) for step in range(5)], 1)
    torch.testing.assert_close(
        steps, compute_token_log_probabilities(network(ids)), atol=1e-5, rtol=1e-5
    )


CHANGES: list[Change] = [
    Hide("history", (2,)),
    Gate(SITE, layer=0, head=1),
    Weigh(SITE, items=(1,), factor=3.0),
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: type(change).__name__)
def test_steps_equal_the_whole_pass_under_a_change(model: LanguageModel, change: Change) -> None:
    network = model.network
    changed = NetworkInterventions.from_changes([change], network.sites, network.config.heads)
    ids = torch.tensor([[START, 5, 6, 7, 8]])
    stepper = network.write(changed=changed)
    steps = torch.stack([stepper.step(ids[:, step]) for step in range(5)], 1)
    at_once = compute_token_log_probabilities(network.attend(ids, changed=changed).logits)
    torch.testing.assert_close(steps, at_once, atol=1e-5, rtol=1e-5)
    assert not torch.allclose(at_once, compute_token_log_probabilities(network(ids)), atol=1e-4)


def test_network_without_attention_reads_and_continues_texts() -> None:
    model = language_model(family="recurrent text decoder", attends=False)
    for request in (Request("reader", TEXT, target=""), Request("reader", TEXT)):
        (trace,) = model.trace([request])
        validate(trace)
        assert trace.maps == {} and trace.fields["target"].raw.startswith(TEXT)


def test_fully_hidden_history_is_as_if_there_were_no_text() -> None:
    """An LSTM skips hidden tokens, so it then stays in its first state, at every token."""
    network = language_model(family="recurrent text decoder").network
    changed = NetworkInterventions.from_changes([Hide("history", (0, 1, 2))], network.sites, 2)
    logits_TV = network.attend(torch.tensor([[START, 5, 6]]), changed=changed).logits[0]
    other_TV = network.attend(torch.tensor([[START, 9, 7]]), changed=changed).logits[0]
    torch.testing.assert_close(logits_TV, other_TV)
    torch.testing.assert_close(logits_TV, logits_TV[:1].expand_as(logits_TV))
    stepper = network.write(changed=changed)
    found = [stepper.step(torch.tensor([item]))[0] for item in (START, 5, 6)]
    torch.testing.assert_close(torch.stack(found), compute_token_log_probabilities(logits_TV))


def test_rows_follow_their_beams(model: LanguageModel) -> None:
    stepper, alone = PrefixStepper(model.network.write(), [5, 6]), model.network.write()
    stepper.step(torch.tensor([START, START]))
    stepper.step(torch.tensor([7, 8]))
    stepper.select(torch.tensor([1, 1]))
    found = stepper.step(torch.tensor([9, 10]))
    for item in (START, 5, 6, 8):
        alone.step(torch.tensor([item]))
    torch.testing.assert_close(found[0], alone.step(torch.tensor([9]))[0])


def test_text_is_read_to_its_end_without_writing(model: LanguageModel) -> None:
    (trace,) = model.trace([Request("reader", TEXT, target="")])
    validate(trace)
    assert set(trace.fields) == {"target", "history"} and set(trace.maps) == {SITE}
    target, history = trace.fields["target"], trace.fields["history"]
    assert target.raw == history.raw == TEXT
    pieces = [token.text for token in model.tokenizer.tokens(TEXT)]
    assert [*target.labels] == [*pieces, "⟨end⟩"] and [*history.labels] == ["⟨start⟩", *pieces]
    ids = torch.tensor([model.tokenizer.ids(TEXT)])
    likely = model.network(shift_targets(ids)).softmax(-1)[0, torch.arange(ids.shape[1]), ids[0]]
    # Tokens that may not be written take no probability from the remaining tokens.
    assert (trace.output.probabilities >= likely.detach().numpy() - 1e-6).all()


@pytest.mark.parametrize("method", ["greedy", "beam"])
def test_continuation_follows_the_text_as_typed(model: LanguageModel, method: str) -> None:
    text = "  A  small dog"
    (trace,) = model.trace([Request("reader", text, method, 3)])
    validate(trace)
    history, target = trace.fields["history"], trace.fields["target"]
    assert target.raw.startswith(text) and history.raw == target.raw
    for label, (start, end) in zip(target.labels, target.anchors, strict=True):
        assert label.startswith("⟨") or target.raw[start:end].strip() in (label, label.strip())
    begun = len(model.tokenizer.tokens(text))
    assert 0 < len(target) - begun <= model.network.longest


def test_continuation_uses_the_likeliest_token(model: LanguageModel) -> None:
    begin = model.tokenizer.ids(TEXT)[:-1]
    ids = list(begin)
    while len(ids) < len(begin) + model.network.longest and ids[-1] != END:
        logits = model.network(torch.tensor([[START, *ids]]))
        ids.append(int(compute_token_log_probabilities(logits)[0, -1].argmax()))
    (trace,) = model.trace([Request("reader", TEXT)])
    assert trace.fields["target"].raw.split() == model.tokenizer.decode(ids)[0].split()
    before = slice(len(begin))
    (read,) = model.trace([Request("reader", TEXT, target="")])
    np.testing.assert_allclose(
        trace.output.probabilities[before], read.output.probabilities[before], atol=1e-6
    )


def test_given_ending_is_read_as_text(model: LanguageModel) -> None:
    (whole,) = model.trace([Request("reader", f"{TEXT} over the grass.", target="")])
    (parts,) = model.trace([Request("reader", TEXT, target=" over the grass.")])
    assert whole.fields["target"].labels == parts.fields["target"].labels
    np.testing.assert_array_equal(whole.maps[SITE].weights, parts.maps[SITE].weights)
    assert whole.details["log-probability"] == parts.details["log-probability"]


def test_batch_neighbours_change_nothing(model: LanguageModel) -> None:
    for target in (None, ""):
        requests = [Request("reader", text, target=target) for text in (TEXT, "Tea", "Two dogs")]
        for trace, request in zip(model.trace(requests), requests, strict=True):
            (alone,) = model.trace([request])
            assert trace.fields["target"].labels == alone.fields["target"].labels
            np.testing.assert_allclose(
                trace.maps[SITE].weights, alone.maps[SITE].weights, atol=1e-5
            )


def test_many_texts_are_read_in_one_pass(model: LanguageModel) -> None:
    run = model.attend([Request("reader", TEXT, target=""), Request("reader", "A", target=" dog")])
    (trace,) = model.trace([Request("reader", TEXT, target="")])
    items, weights = len(trace.fields["target"]), trace.maps[SITE].weights
    found = run.weights[SITE][-1][0, :, :items]
    np.testing.assert_allclose(found[..., :items], weights[-1][..., :items], atol=1e-5)


def test_logits_and_attribution_use_the_traced_text(model: LanguageModel) -> None:
    (trace,) = model.trace([Request("reader", TEXT, attribution=True)])
    validate(trace)
    assert len(trace.maps) == 3
    found = model.logits(Request("reader", TEXT), SITE, 0)
    assert found is not None


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        (Request("reader", "  "), "no visible character"),
        (Request("reader", "", target=" "), "no visible character"),
        (Request("reader", "dog " * 40_000), "Shorten it"),
        (Request("reader", "dog " * 9_000, target=""), "shorter text"),
        (Request("reader", TEXT, target="", changes=(Hide("history", (90,)),)), "another item"),
        (Request("reader", TEXT, changes=(Hide("source", (0,)),)), "Choose items of: history"),
        (Request("reader", TEXT, changes=(Weigh(SITE, (1,), query=1),)), "requires a given output"),
    ],
)
def test_unsupported_input_is_refused(model: LanguageModel, request_: Request, told: str) -> None:
    with pytest.raises(InputError, match=told):
        model.trace([request_])


def test_text_of_the_largest_length_is_read(
    model: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = len(model.tokenizer.tokens(TEXT))
    monkeypatch.setattr(type(model.network), "most_items", count)
    (trace,) = model.trace([Request("reader", TEXT, target="")])
    assert len(trace.fields["target"]) == count + 1, "with the end"
    with pytest.raises(InputError, match=f"the limit is {count}"):
        model.trace([Request("reader", f"{TEXT} dog", target="")])


def test_warning_names_unknown_symbols_and_excess_length(model: LanguageModel) -> None:
    (trace,) = model.trace([Request("reader", "A Ω dog", target="")])
    assert "does not know “Ω”" in trace.details["warning"]
    long = replace(model, card=replace(model.card, trained_length=2))
    (trace,) = long.trace([Request("reader", TEXT, target="")])
    assert "Longer than anything" in trace.details["warning"]


def test_stop_warning_counts_only_written_tokens(model: LanguageModel) -> None:
    (trace,) = model.trace([Request("reader", TEXT)])
    begun = len(model.tokenizer.tokens(TEXT))
    written = len(trace.fields["target"]) - begun
    is_stopped = trace.fields["target"].labels[-1] != "⟨end⟩"
    assert is_stopped == (f"stopped after {written} tokens" in trace.details.get("warning", ""))
