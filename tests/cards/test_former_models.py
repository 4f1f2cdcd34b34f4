"""Removed models have successors that are shipped, and targets keep comparing with them."""

from __future__ import annotations

from dataclasses import replace

from areaviz.cards.card import (
    FORMER_MODELS,
    FormerModel,
    describe_replacements,
    find_successor,
    judge_targets,
)
from areaviz.samples.paths import CHECKPOINTS
from tests.pages import folder


def test_former_models_are_gone_and_their_successors_are_shipped() -> None:
    for name, former in FORMER_MODELS.items():
        assert not (CHECKPOINTS / name).exists()
        assert (CHECKPOINTS / former.successor / "card.json").exists()


def test_successor_of_keeps_every_other_name() -> None:
    name, former = next(iter(FORMER_MODELS.items()))
    assert find_successor(name, [former.successor]) == former.successor
    assert find_successor(name, [name, former.successor]) == name
    # Without the successor, the error names the model that was asked for.
    assert find_successor(name, []) == name
    assert find_successor("my-model", [former.successor]) == "my-model"


def test_every_replaced_model_is_named_once_with_its_successor() -> None:
    name, former = next(iter(FORMER_MODELS.items()))
    (sentence,) = describe_replacements([name, "my-model"], [former.successor, "my-model"])
    assert f"The model {name} is no longer included" in sentence and former.successor in sentence


def test_gate_compares_with_a_former_model() -> None:
    name, former = next(iter(FORMER_MODELS.items()))
    assert isinstance(former, FormerModel)
    limit = former.figures["test"]["cider_d"]
    gate = {
        "what": "CIDEr-D",
        "measure": ["test", "cider_d"],
        "at_least": [name, "test", "cider_d"],
    }
    for value, reached in ((limit + 0.01, True), (limit - 0.01, False)):
        card = replace(
            folder.card("a", "area"), figures={"test": {"cider_d": value}}, gates=(gate,)
        )
        assert judge_targets(card, {})[0].reached is reached
