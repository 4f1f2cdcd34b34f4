"""A translator: its traces are complete, consistent and anchored in the typed text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from areaviz.cards.card import LengthLimit, read_card
from areaviz.models import MODELS, generation
from areaviz.models.base import load_weights
from areaviz.models.decoding import Hypothesis
from areaviz.models.generation import GenerationModel
from areaviz.models.recording import find_longest_length, list_output_warnings
from areaviz.trace.areas import AreaGrid
from areaviz.trace.document import validate
from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Request
from tests.tiny import checkpoint, network

CPU = torch.device("cpu")


@pytest.fixture(params=["character", "token"])
def model(request: pytest.FixtureRequest, tmp_path: Path) -> GenerationModel:
    folder = checkpoint(tmp_path, level=request.param)
    return GenerationModel.load(folder, read_card(folder / "card.json"), CPU)


@pytest.mark.parametrize(
    "text", ["A dog.", "x", "  Two  dogs\nrun ", "Ünïcode 😀 שלום e\u0301", "ﬁne ½", "a" * 90]
)
def test_traces_are_valid_for_any_text(model: GenerationModel, text: str) -> None:
    (trace,) = model.trace([Request("tiny-area", text)])
    validate(trace)
    source = trace.fields["source"]
    assert source.raw == text
    for label, (start, end) in zip(source.labels[:-1], source.anchors[:-1], strict=True):
        assert text[start:end].strip() in (label, label.strip())


def test_target_reads_as_its_text(model: GenerationModel) -> None:
    (trace,) = model.trace([Request("tiny-area", "A small dog")])
    target = trace.fields["target"]
    spans = "".join(target.raw[start:end] for start, end in target.anchors)
    assert "".join(spans.split()) == "".join(target.raw.split())
    assert len(trace.output.probabilities) == len(trace.output.alternatives) == len(target)


def test_history_is_the_decoder_input(model: GenerationModel) -> None:
    (trace,) = model.trace([Request("tiny-area", "A small dog")])
    assert trace.fields["history"].labels == ("⟨start⟩", *trace.fields["target"].labels[:-1])


def test_probabilities_are_those_of_the_decoding(model: GenerationModel) -> None:
    asked = Request("tiny-area", "A small dog")
    parts = model.read_inputs([asked])
    (hypothesis,) = model.generate([asked], parts)
    (trace,) = model.record_traces([asked], parts, [hypothesis])
    assert np.log(trace.output.probabilities).sum() == pytest.approx(
        hypothesis.log_probability, abs=1e-3
    )


@pytest.mark.parametrize("method", ["greedy", "beam"])
def test_batch_neighbours_change_nothing(model: GenerationModel, method: str) -> None:
    texts = ["A dog", "Two old friends drink tea", "x"]
    requests = [Request("tiny-area", text, method, 3) for text in texts]
    alone = [model.generate_outputs([request])[0] for request in requests]
    assert model.generate_outputs(requests) == alone


def same(trace: Trace, other: Trace) -> None:
    """Check that two traces are equal except for rounding."""
    validate(trace)
    assert trace.fields.keys() == other.fields.keys()
    likely, beside = (float(one.details["log-probability"]) for one in (trace, other))
    assert likely == pytest.approx(beside, abs=2e-3)
    assert {**trace.details, "log-probability": ""} == {**other.details, "log-probability": ""}
    for name, field in trace.fields.items():
        assert field.labels == other.fields[name].labels
    assert trace.maps.keys() == other.maps.keys()
    for site, attention in trace.maps.items():
        assert attention.grid == other.maps[site].grid
        np.testing.assert_allclose(attention.weights, other.maps[site].weights, atol=1e-5)
        for name in ("chosen", "strength"):
            found, beside = getattr(attention, name), getattr(other.maps[site], name)
            if found is not None:
                np.testing.assert_allclose(found, beside, atol=1e-4)
    np.testing.assert_allclose(trace.output.probabilities, other.output.probabilities, atol=1e-5)
    for own, neighbour in zip(trace.output.alternatives, other.output.alternatives, strict=True):
        shares = [share for _, share in own]
        np.testing.assert_allclose(shares, [share for _, share in neighbour], atol=1e-5)


def test_batched_traces_equal_single_traces(model: GenerationModel) -> None:
    texts = ["x", "A dog", "Two old friends drink tea", "A small dog runs over the grass."]
    requests = [Request("tiny-area", text) for text in texts]
    for trace, request in zip(model.trace(requests), requests, strict=True):
        same(trace, model.trace([request])[0])


def test_too_large_batch_is_read_in_parts(
    model: GenerationModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = [Request("tiny-area", text) for text in ("A dog", "Two old friends drink tea", "x")]
    whole = model.trace(requests)
    monkeypatch.setattr(generation, "MAX_PASS_BYTES", 1)
    for trace, other in zip(model.trace(requests), whole, strict=True):
        same(trace, other)


def test_area_size_one_is_regular_attention(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path)
    card = read_card(folder / "card.json")
    resized = GenerationModel.load(folder, card, CPU, area_size=1)
    regular = network(card.config["vocabulary"], area_size=1)
    load_weights(regular, folder, card.files)
    ids = torch.tensor([[4, 5, 6, 3]])
    torch.testing.assert_close(resized.network(ids, ids), regular(ids, ids))


@pytest.mark.parametrize(
    "learned", [{"key_mode": "features"}, {"key_mode": "boundary"}, {"size_bias": True}]
)
def test_learned_areas_shrink_by_masking_larger_ones(
    tmp_path: Path, learned: dict[str, Any]
) -> None:
    """Smaller areas leave out the larger ones, so the remaining weights are only renormalised."""
    folder = checkpoint(tmp_path, **learned)
    card = read_card(folder / "card.json")
    whole, smaller = (
        GenerationModel.load(folder, card, CPU, area_size=size).network for size in (None, 2)
    )
    ids = torch.tensor([[4, 5, 6, 7, 3]])
    count = AreaGrid(1, 5, 1, 2).count
    kept = whole.attend(ids, ids).weights["encoder self"][0][..., :count]
    found = smaller.attend(ids, ids).weights["encoder self"][0]
    torch.testing.assert_close(found, kept / kept.sum(-1, keepdim=True))
    with pytest.raises(InputError, match="Choose a size from 1 to 3"):
        GenerationModel.load(folder, card, CPU, area_size=4)


def test_layer_without_areas_ignores_large_areas(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path, area_layers=1)
    (trace,) = GenerationModel.load(folder, read_card(folder / "card.json"), CPU).trace(
        [Request("tiny-area", "A dog runs")]
    )
    weights_LHQA = trace.maps["encoder self"].weights
    items = len(trace.fields["source"])
    assert weights_LHQA[0, ..., items:].sum() > 0
    assert weights_LHQA[1, ..., items:].sum() == 0


def test_invisible_text_is_refused(model: GenerationModel) -> None:
    with pytest.raises(InputError, match="no visible character"):
        model.trace([Request("tiny-area", "\u200b \u200b")])


def test_too_large_trace_is_refused_with_the_limit(
    model: GenerationModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(GenerationModel, "generate", lambda *_: pytest.fail("it ran"))
    with pytest.raises(InputError, match="at most [0-9]+. Shorten"):
        model.trace([Request("tiny-area", "ab " * 1365)])


def test_unknown_symbols_are_reported(model: GenerationModel) -> None:
    (trace,) = model.trace([Request("tiny-area", "A dog 😀")])
    assert "😀" in trace.details["warning"]


def test_only_texts_beyond_training_length_are_reported(model: GenerationModel) -> None:
    text, found = "A dog runs.", Hypothesis((3,), 0.0, True)
    tokens = len(model.tokenizer.tokens(text))
    for trained, told in ((tokens, False), (tokens - 1, True)):
        said = list_output_warnings(
            replace(model.card, trained_length=trained), model.tokenizer, text, found
        )
        assert any("Longer than anything" in note for note in said) == told


def test_output_length_is_limited() -> None:
    assert LengthLimit(1.5, 4)(10) == 19


def test_damaged_files_are_named(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path)
    card = read_card(folder / "card.json")
    whole = (folder / "model.safetensors").read_bytes()
    for content in (whole[:100], b"", b"\x00" * len(whole)):
        (folder / "model.safetensors").write_bytes(content)
        with pytest.raises(BackendError, match=r"model\.safetensors is damaged"):
            GenerationModel.load(folder, card, CPU)
    (folder / "model.safetensors").unlink()
    with pytest.raises(BackendError, match=r"model\.safetensors is missing"):
        GenerationModel.load(folder, card, CPU)


def test_every_family_loads_and_traces() -> None:
    for family in MODELS.values():
        assert callable(family.load) and callable(family.trace)


@pytest.mark.parametrize("most", [1, 2, 1000, 65_536])
def test_longest_finds_the_largest_valid_count(most: int) -> None:
    assert find_longest_length(lambda count: count <= most) == most
