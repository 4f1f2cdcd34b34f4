"""Faithfulness, worked out by hand on a model that adds the evidence of the items it may read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from areaviz.cards.card import read_card
from areaviz.measures.faithfulness import (
    Contrast,
    Faithfulness,
    Probe,
    TooFew,
    compute_mean_and_deviation,
    measure_faithfulness,
    measure_inputs,
    pool_faithfulness,
)
from areaviz.models.generation import GenerationModel
from areaviz.trace.areas import AreaGrid
from areaviz.trace.changes import Weigh, compute_area_factors
from areaviz.trace.errors import InputError
from areaviz.trace.record import AttentionMap, Output, Trace
from areaviz.trace.request import Request
from tests import fakes
from tests.tiny import checkpoint
from tests.trace.sentence import assert_one_sentence

ASKED = Request("fake", "abcd", target="xy")
EVIDENCE = np.array([[0.4, 0.3, 0.1, 0.0], [0.0, 0.2, 0.2, 0.4]])
"""Amount that each of four items adds to the probability of each of two outputs, above 0.1."""


class Adding:
    """A model that writes "xy" and attends as specified.

    Its probability is 0.1 plus the evidence of all items that are not banned.
    """

    def __init__(self, weights: Sequence[Sequence[float]]) -> None:
        self.weights = np.array([[weights]], dtype=np.float32)
        self.asked: list[Request] = []

    def __call__(self, request: Request) -> Trace:
        self.asked.append(request)
        grid = AreaGrid(1, 4, 1, 1)
        weighs = [change for change in request.changes if isinstance(change, Weigh)]
        free = compute_area_factors(weighs, grid.table(), 4, 1, 2)[0] > 0
        likely = (0.1 + (EVIDENCE * free).sum(1)).astype(np.float32)
        fields = {
            name: fakes.text_field(name, text, end="")
            for name, text in (("source", "abcd"), ("target", "xy"))
        }
        attention = AttentionMap("encoder-decoder", "target", "source", grid, self.weights)
        return Trace(
            request, fields, Output("target", likely, ((), ())), {attention.site: attention}
        )


FAITHFUL = [[0.6, 0.3, 0.1, 0.0], [0.0, 0.1, 0.3, 0.6]]
"""Weights that follow the evidence, in its order."""


@pytest.mark.parametrize("unit", ["item", "area"])
@pytest.mark.parametrize(
    ("k", "comprehensiveness", "sufficiency"),
    [
        (1, (0.4 + 0.4) / 2, (0.4 + 0.4) / 2),
        (2, (0.7 + 0.6) / 2, (0.1 + 0.2) / 2),
        (3, 0.8, 0.0),
    ],
)
def test_probability_drops_by_hand(
    unit: str, k: int, comprehensiveness: float, sufficiency: float
) -> None:
    found = measure_faithfulness(ASKED, Probe(k=k, unit=unit), Adding(FAITHFUL))
    assert found.comprehensiveness == pytest.approx(comprehensiveness)
    assert found.sufficiency == pytest.approx(sufficiency)
    assert found.probability == pytest.approx(0.9)
    assert found.items == 2


def test_wrong_map_is_worse_than_chance() -> None:
    true, false = (
        measure_faithfulness(ASKED, Probe(k=1, draws=40), Adding(map_))
        for map_ in (FAITHFUL, FAITHFUL[::-1])
    )
    chance, deviation = compute_mean_and_deviation(true.random_comprehensiveness)
    assert chance == pytest.approx(0.2, abs=0.05)  # the mean of all evidence: 0.8 / 4
    assert deviation > 0
    assert false.comprehensiveness == pytest.approx(0.0, abs=1e-7)
    assert 0 < chance < true.comprehensiveness
    assert (
        true.sufficiency
        < compute_mean_and_deviation(true.random_sufficiency)[0]
        < false.sufficiency
    )
    assert true.random_comprehensiveness == false.random_comprehensiveness, (
        "chance knows nothing of the map"
    )


def test_model_output_is_used_unless_given() -> None:
    for asked, runs in ((ASKED, 1), (replace(ASKED, target=None), 2)):
        model = Adding(FAITHFUL)
        measure_faithfulness(asked, Probe(k=1, draws=3), model)
        assert len(model.asked) == runs + 2 * 4
        assert all(one.target == "xy" for one in model.asked[runs - 1 :])


def test_several_inputs_are_pooled_by_their_items() -> None:
    one = Faithfulness(0.1, 0.2, (0.0, 0.4), (0.2, 0.2), 0.5, 1)
    two = Faithfulness(0.4, 0.2, (0.4, 0.0), (0.6, 0.2), 0.9, 3)
    found = pool_faithfulness([one, two])
    assert found.comprehensiveness == pytest.approx((0.1 + 3 * 0.4) / 4)
    assert found.random_comprehensiveness == pytest.approx((0.3, 0.1))
    assert found.random_sufficiency == pytest.approx((0.5, 0.2))
    assert found.items == 4
    assert pool_faithfulness([one]) == one
    assert compute_mean_and_deviation((1.0, 3.0)) == pytest.approx((2.0, 2**0.5))


@pytest.mark.parametrize(
    ("probe", "part"),
    [
        (Probe(site="decoder self"), "Choose one of: encoder-decoder"),
        (Probe(layer=1), "1 layers"),
        (Probe(head=1), "1 heads"),
        (Probe(k=4), "fewer than 4"),
        (Probe(k=0), "between 1"),
        (Probe(draws=1), "between 2"),
        (Probe(unit="word"), "item, area"),
    ],
)
def test_missing_map_is_refused(probe: Probe, part: str) -> None:
    with pytest.raises(InputError, match=part):
        measure_faithfulness(ASKED, probe, Adding(FAITHFUL))


def test_inputs_with_too_few_items_are_omitted() -> None:
    long, short = replace(ASKED, seed=1), replace(ASKED, seed=2)
    model = Adding(FAITHFUL)

    def run(request: Request) -> Trace:
        return model(request) if request.seed == 1 else fakes.trace("ab", "xy", area_size=1)

    assert measure_inputs([short, long, short], Probe(k=3), run) == (
        measure_faithfulness(long, Probe(k=3), run),
        1,
    )
    with pytest.raises(
        InputError, match="None of the 2 inputs has more than 3 items. Choose fewer"
    ):
        measure_inputs([short, short], Probe(k=3), run)
    with pytest.raises(InputError, match="1 layers"):
        measure_inputs([long], Probe(layer=4), run)


@pytest.mark.parametrize("unit", ["item", "area"])
def test_real_model_is_measured_reproducibly(tmp_path: Path, unit: str) -> None:
    folder = checkpoint(tmp_path)
    model = GenerationModel.load(folder, read_card(folder / "card.json"), torch.device("cpu"))
    asked, done = Request("tiny-area", "A small dog", target="Ein Hund"), []
    probe = Probe(layer=1, head=1, k=3, unit=unit, draws=2)
    found = [
        measure_faithfulness(
            asked, probe, lambda one: model.trace([one])[0], lambda n, most: done.append((n, most))
        )
        for _ in range(2)
    ]
    assert found[0] == found[1]
    assert done[:3] == [(0, 3), (1, 3), (2, 3)]
    assert found[0].comprehensiveness != 0 and len(set(found[0].random_comprehensiveness)) == 2


SELF_EVIDENCE = np.array([[0.5, 0.0, 0.0], [0.2, 0.4, 0.0], [0.0, 0.3, 0.3]])
"""Amount that each earlier item adds to the probability of each of three items, above 0.1."""


class Remembering:
    """A language model of three characters, whose probabilities depend on the items before them."""

    def __init__(self, size: int = 1) -> None:
        self.asked: list[Request] = []
        self.grid = AreaGrid(1, 3, 1, size)

    def __call__(self, request: Request) -> Trace:
        self.asked.append(request)
        text = request.text + (request.target if request.target is not None else "c")
        weighs = [change for change in request.changes if isinstance(change, Weigh)]
        free_QA = compute_area_factors(weighs, self.grid.table(), 3, 1, 3)[0] > 0
        likely = (0.1 + (SELF_EVIDENCE * free_QA[:, :3]).sum(1)).astype(np.float32)
        weights = np.zeros((1, 1, 3, self.grid.count), np.float32)
        weights[0, 0, :, :3] = SELF_EVIDENCE / SELF_EVIDENCE.sum(1, keepdims=True)
        fields = {
            "target": fakes.text_field("target", text, end=""),
            "history": fakes.text_field("history", text, end=""),
        }
        attention = AttentionMap("decoder self", "target", "history", self.grid, weights)
        return Trace(
            request, fields, Output("target", likely, ((),) * 3), {"decoder self": attention}
        )


@pytest.mark.parametrize("given", ["", None])
def test_language_model_items_seeing_little_are_omitted(given: str | None) -> None:
    """Check the removal of one item by hand.

    The first item is omitted, because there is no choice of what to remove. The other two count.
    """
    model = Remembering()
    text = "abc" if given == "" else "ab"
    found = measure_faithfulness(
        Request("fake", text, target=given), Probe("", k=1, draws=20), model
    )
    assert found.items == 2 and found.probability == pytest.approx((0.7 + 0.7) / 2)
    assert found.comprehensiveness == pytest.approx((0.4 + 0.3) / 2)
    # The third item attends equally to two items, of which the first counts.
    assert found.sufficiency == pytest.approx((0.2 + 0.3) / 2)
    assert model.asked[-1].target == ("" if given == "" else "c")
    for request in model.asked[2:]:
        for change in request.changes:
            assert isinstance(change, Weigh) and change.query in (1, 2)
            # Later items cannot be removed.
            assert len(change.items) > 1 or change.items[0] <= change.query


def test_area_removal_in_language_model_by_hand() -> None:
    """Check the second item, which sees two items and their span, and the first, which sees one."""
    found = measure_faithfulness(
        Request("fake", "abc", target=""), Probe("decoder self", k=2, unit="area"), Remembering(2)
    )
    assert found.items == 2
    assert found.comprehensiveness == pytest.approx(0.6)


def test_language_model_word_needs_enough_prefix() -> None:
    asked, model = Request("fake", "abc", target=""), Remembering()
    found = measure_faithfulness(asked, Probe("", k=1, contrast=Contrast(2, 3, "x")), model)
    assert found.items == 1 and {one.text for one in model.asked} == {"abc", "abx"}
    with pytest.raises(TooFew, match="later word") as refused:
        measure_faithfulness(asked, Probe("", k=2, contrast=Contrast(1, 2, "x")), model)
    assert_one_sentence(refused.value)
