"""Areas and words in a model beside the same network before training."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from areaviz.cards.card import read_card
from areaviz.lab.heads import (
    BESIDE_OF_HEAD,
    COMPARED_MEASURES,
    compare_spans,
    measure_heads_at_places,
)
from areaviz.measures.spans import measure_spans
from areaviz.models.generation import GenerationModel
from areaviz.trace.query import format_given_output
from areaviz.trace.request import Request
from tests.models.test_language_model import language_model
from tests.tiny import SENTENCES, checkpoint

SITE = "encoder-decoder"


@pytest.fixture
def trained(tmp_path: Path) -> GenerationModel:
    """Return a translator with boundary keys, whose spans sometimes win."""
    folder = checkpoint(tmp_path, key_mode="boundary", seed=1)
    return GenerationModel.load(folder, read_card(folder / "card.json"), torch.device("cpu"))


def test_untrained_network_reads_output_of_trained_one(trained: GenerationModel) -> None:
    requests = [Request(trained.card.name, text) for text in SENTENCES[:2]]
    found = compare_spans(trained, requests)
    outputs = [format_given_output(trained.trace([request])[0]) for request in requests]
    given = [
        Request(trained.card.name, text, target=output)
        for text, output in zip(SENTENCES[:2], outputs, strict=True)
    ]
    blind = trained.make_untrained()
    before = measure_spans(blind.trace([request])[0] for request in given)
    own = measure_spans(trained.trace([request])[0] for request in requests)
    for site, figures in own.items():
        assert figures.items() <= found[site].items()
        for name in COMPARED_MEASURES:
            assert found[site].get(f"{name}_untrained") == before[site].get(name)
    assert found[SITE]["area_size_untrained"] != found[SITE]["area_size"]


def test_language_model_reads_its_text_in_both_networks() -> None:
    reader = language_model()
    requests = [Request(reader.card.name, "A small dog runs.", target="")]
    found = compare_spans(reader, requests)
    before = measure_spans(reader.make_untrained().trace(requests))
    for site, figures in before.items():
        assert found[site]["multi_share_untrained"] == figures["multi_share"]


def test_head_is_compared_with_itself_before_training(trained: GenerationModel) -> None:
    requests = [Request(trained.card.name, SENTENCES[0], target=SENTENCES[2])]
    places = {SITE: (0, 1), "encoder self": None}
    found = measure_heads_at_places(trained, requests, places)
    assert found["encoder self"] == {"multi_share": 0.0}
    of_head = found[SITE]
    assert (of_head["layer"], of_head["head"]) == (0, 1)
    same = measure_heads_at_places(trained.make_untrained(), requests, places)[SITE]
    for name in BESIDE_OF_HEAD:
        assert of_head.get(f"{name}_untrained") == same.get(name)
