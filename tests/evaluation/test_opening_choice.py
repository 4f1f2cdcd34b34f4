"""Pages open with spans if enough of them win, else with the map closest to links made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from areaviz.cards.card import Opening, read_card
from areaviz.lab import measure as module
from areaviz.lab.heads import LinkedCounts
from areaviz.lab.measure import (
    choose_linked_opening,
    choose_openings,
    has_enough_spans,
    make_pointing_opening,
    measure_agreement,
)
from areaviz.measures.spans import find_word_runs
from areaviz.models.generation import GenerationModel
from areaviz.samples.dataset import Dataset
from areaviz.trace.areas import Area
from areaviz.trace.query import densest_areas, item_shares
from areaviz.trace.request import Request
from tests.sets import read_lines
from tests.tiny import SENTENCES, checkpoint


def figures(multi: list[float], depends: list[float]) -> dict[str, Any]:
    """Return the figures of one layer."""
    return {"multi_share": [multi], "dependence": [depends], "dependence_untrained": 1.0}


def test_site_opens_on_spans_with_enough_of_them() -> None:
    heads = {
        "encoder self": figures([0.5, 0.7], [2.0, 1.5]),
        "decoder self": figures([0.25, 0.0], [1.5, 3.0]),
    }
    assert choose_openings(heads) == {
        "encoder self": Opening("heaviest", 0, 1),
        "decoder self": Opening("heaviest", 0, 0),
    }


def test_spans_of_independent_heads_do_not_count() -> None:
    heads = {"decoder self": figures([0.9, 0.1], [1.0, 2.0])}
    assert choose_openings(heads) == {"decoder self": Opening("coverage", 0, 1)}
    assert not has_enough_spans(heads["decoder self"], "decoder self").any()


def test_captioner_opens_on_the_best_pointing_head() -> None:
    found = figures([0.9, 0.1], [2.0, 2.0])
    assert make_pointing_opening(found, (0, 0)) == Opening("heaviest", 0, 0, pointing_head=(0, 0))
    assert make_pointing_opening(found, (0, 1)).reading == "coverage"


def linked() -> Dataset:
    lines = {"s": SENTENCES[0].encode(), "t": SENTENCES[2].encode(), "l": b"0-0 1-1 2-2 3p3 6-6"}
    return read_lines("s", lines, ("t",), "l")


@pytest.fixture
def model(tmp_path: Path) -> GenerationModel:
    folder = checkpoint(tmp_path, key_mode="boundary", seed=1)
    return GenerationModel.load(folder, read_card(folder / "card.json"), torch.device("cpu"))


def test_agreement_matches_slow_count(model: GenerationModel) -> None:
    (example,) = linked().examples
    request = Request("a", example.text, target=example.references[0])
    trace = model.trace([request])[0]
    attention = trace.maps["encoder-decoder"]
    sources, targets = (find_word_runs(trace.fields[name]) for name in ("source", "target"))
    rated = measure_agreement(model, linked())
    shares_QN, densest = item_shares(attention, 1, None), densest_areas(attention, 1, None)
    shown = {
        "coverage": [{int(item)} for item in shares_QN.argmax(-1)],
        "densest": [items(one.area) if one else set() for one in densest],
    }
    for reading, of_query in shown.items():
        found = []
        for j, (start, end) in enumerate(targets):
            links = [sources[i] for i, other in example.possible | example.sure if other == j]
            wanted = {item for run in links for item in range(*run)}
            for q in range(start, end if wanted else start):
                both = len(of_query[q] & wanted)
                found.append(2 * both / (len(of_query[q]) + len(wanted)))
        assert rated[reading, (1, None)] == pytest.approx(np.mean(found))
    assert ("heaviest", (1, None)) not in rated and ("heaviest", (1, 1)) in rated


def items(area: Area) -> set[int]:
    return set(range(area.left, area.left + area.width))


HELD = {
    **dict.fromkeys(("span_whole", "span_random", "span_random_whole", "single"), [0.0, 0.0]),
    **dict.fromkeys(("single_whole", "pair", "pair_whole"), [0.0, 0.0]),
    **dict.fromkeys(("span_diagonal", "span_diagonal_whole"), [0.0, 0.0]),
    "queries": [10.0, 10.0],
    "spans": [5.0, 5.0],
    "span": [1.0, 4.0],
}
"""Counts of two heads. Spans of the second head contain the linked word more often."""


def test_translator_opens_on_the_head_whose_spans_are_right(
    model: GenerationModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    rated = {
        ("heaviest", (0, 0)): 0.9,
        ("heaviest", (0, 1)): 0.7,
        ("densest", (0, None)): 0.8,
        ("coverage", (0, 1)): 0.5,
    }
    monkeypatch.setattr(module, "measure_agreement", lambda *_: rated)
    held = LinkedCounts({name: np.array([values]) for name, values in HELD.items()})
    monkeypatch.setattr(module, "count_linked", lambda *_: held)
    few, many = figures([0.1, 0.1], [2.0, 2.0]), figures([0.1, 0.3], [2.0, 2.0])
    assert choose_linked_opening(model, few, linked()) == Opening("densest", 0, None)
    assert choose_linked_opening(model, many, linked()) == Opening("heaviest", 0, 1)
