"""Logit terms of models: differences of logits are logarithms of ratios of weights."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from areaviz.cards.card import read_card
from areaviz.models.generation import GenerationModel
from areaviz.trace.areas import Area
from areaviz.trace.changes import Hide, Weigh
from areaviz.trace.derived import Logits, change_part
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Request
from tests.tiny import FORMS, checkpoint
from tests.trace.sentence import assert_one_sentence

ASKED = Request("tiny-area", "A small dog")
SUMS = [form for form in FORMS if form.get("key_mode", "mean") in ("mean", "boundary")]
CHANGES = (
    Weigh("encoder-decoder", areas=(Area(0, 1, 1, 3),), factor=4.0, head=1),
    Weigh("decoder self", (0,), factor=0.3),
    Hide("source", (4,)),
)


def loaded(folder: Path, **options: Any) -> GenerationModel:
    path = checkpoint(folder, **options)
    return GenerationModel.load(path, read_card(path / "card.json"), torch.device("cpu"))


def check(model: GenerationModel, request: Request) -> None:
    """Check some queries of every site, layer and head, with all their areas."""
    (trace,) = model.trace([request])
    for site, attention in trace.maps.items():
        queries = attention.weights.shape[2]
        for layer in range(attention.layers):
            logits = model.logits(request, site, layer)
            for head, query in product(range(attention.heads), {0, queries // 2, queries - 1}):
                check_query(trace, logits, site, layer, head, query)


def check_query(trace: Trace, logits: Logits, site: str, layer: int, head: int, query: int) -> None:
    attention = trace.maps[site]
    weights_A = attention.weights[layer, head, query]
    totals, weights = [], []
    for index in range(logits.grid.count):
        area = logits.grid.area(index)
        total = sum(logits.parts(head, query, area).values())
        total += change_part(trace, site, layer, head, query, area)
        weight = float(weights_A[attention.grid.index(area)])
        assert (total == -np.inf) == (weight == 0)
        if weight:
            totals.append(total)
            weights.append(weight)
    if totals:
        apart = np.array(totals) - totals[0] - np.log(weights) + np.log(weights[0])
        assert np.abs(apart).max() < 1e-5


@pytest.mark.parametrize("form", SUMS, ids=str)
def test_logits_explain_the_weights_exactly(form: dict[str, Any], tmp_path: Path) -> None:
    check(loaded(tmp_path, **form, area_layers=1), ASKED)


@pytest.mark.parametrize("form", [{"key_mode": "boundary"}, {"area_size": 1}], ids=str)
def test_logits_hold_under_changes_and_given_output(form: dict[str, Any], tmp_path: Path) -> None:
    changes = CHANGES if form.get("area_size") != 1 else CHANGES[1:]
    check(loaded(tmp_path, **form), replace(ASKED, changes=changes, target="Ein Hund"))


@pytest.mark.parametrize("key_mode", ["max", "features"])
def test_keys_of_whole_areas_are_refused(key_mode: str, tmp_path: Path) -> None:
    model = loaded(tmp_path, key_mode=key_mode)
    assert not model.card.has_logits
    with pytest.raises(InputError) as refused:
        model.logits(ASKED, "encoder-decoder", 0)
    assert_one_sentence(refused.value)


@pytest.mark.parametrize(("site", "layer"), [("nowhere", 0), ("encoder self", 7)])
def test_missing_site_or_layer_is_refused(site: str, layer: int, tmp_path: Path) -> None:
    model = loaded(tmp_path)
    assert model.card.has_logits
    with pytest.raises(InputError, match="cannot be explained"):
        model.logits(ASKED, site, layer)
