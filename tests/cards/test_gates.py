"""Gates compare with a number, another measure or another model.

A gate with an unknown value is neither reached nor missed.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from areaviz.cards.card import Card, Gate, judge_targets, read_card
from areaviz.lab.loop import read_recipe
from tests.pages import folder

ROOT = Path(__file__).parents[2]
SHIPPED = sorted((ROOT / "checkpoints").glob("*/card.json"))


def model(name: str, *gates: dict[str, Any], **figures: float) -> Card:
    made = replace(
        folder.card(name, "area"), task="digits", figures={"test": figures} if figures else {}
    )
    return replace(made, attention={"looks, test": {"hit": 0.9}}, gates=gates)


ERROR = {"what": "Error", "measure": ["test", "error"]}


@pytest.mark.parametrize(
    ("bound", "error", "reached"),
    [
        ({"at_most": 0.04}, 0.04, True),
        ({"at_most": 0.04}, 0.0401, False),
        ({"at_least": 0.04}, 0.0401, True),
        ({"at_least": 0.04}, 0.03, False),
        ({"at_most": 0.04, "slack": 0.01}, 0.049, True),
        ({"at_least": 0.04, "slack": 0.01}, 0.031, True),
    ],
)
def test_gate_compares_with_a_number(bound: dict[str, float], error: float, reached: bool) -> None:
    one = judge_targets(model("a", {**ERROR, **bound, "why": "Too short."}, error=error), {})[0]
    assert one.reached is reached and one.why == ("" if reached else "Too short.")
    slack = bound.get("slack", 0.0)
    limit = bound["at_most"] + slack if "at_most" in bound else bound["at_least"] - slack
    assert one.measured == f"{error:.1%}" and one.wanted.endswith(f" {limit:.1%}")


def test_slack_shifts_the_bound_and_names_its_model() -> None:
    gate = {**ERROR, "at_least": ["b", "test", "error"], "slack": 0.02}
    other = {"b": model("b", error=0.5)}
    assert (
        judge_targets(model("a", gate, error=0.49), other)[0].wanted
        == "at least 48.0% (0.02 below b)"
    )
    gate = {**ERROR, "at_most": ["b", "test", "error"], "slack": 0.02}
    assert (
        judge_targets(model("a", gate, error=0.49), other)[0].wanted
        == "at most 52.0% (0.02 above b)"
    )


def test_bound_may_be_a_metric_or_a_model() -> None:
    own = {**ERROR, "at_most": ["test", "loss"]}
    other = {**ERROR, "at_most": ["b", "test", "error"]}
    card = model("a", own, other, error=0.1, loss=0.2)
    assert [one.reached for one in judge_targets(card, {"b": model("b", error=0.05)})] == [
        True,
        False,
    ]
    assert judge_targets(card, {"b": model("b", error=0.05)})[1].wanted == "at most 5.0% (b)"
    assert [one.reached for one in judge_targets(card, {})] == [True, None]
    assert judge_targets(card, {})[1].wanted == "at most – (b)"


def test_gate_may_measure_attention() -> None:
    gate = {"what": "Looks at a digit", "measure": ["looks, test", "hit"], "at_least": 0.8}
    one = judge_targets(model("a", gate), {})[0]
    assert (one.reached, one.measured, one.wanted) == (True, "90.0%", "at least 80.0%")


def test_bits_and_lifts_are_not_shares() -> None:
    for key, shown in (("dependence", "2.50"), ("long_exact_lift", "2.50"), ("aer", "250.0%")):
        gate = {"what": "A head", "measure": ["spans", key], "at_least": 2}
        card = replace(model("a", gate), attention={"spans": {key: 2.5}})
        assert judge_targets(card, {})[0].measured == shown


def test_unmeasured_gate_is_neither_reached_nor_missed() -> None:
    one = judge_targets(model("a", {**ERROR, "at_most": 0.1, "why": "Too short."}), {})[0]
    assert one.reached is None and one.measured == "–" and not one.why


@pytest.mark.parametrize(
    "entry", [ERROR, {**ERROR, "at_most": 1, "at_least": 0}, {**ERROR, "limit": 1}, {"what": "x"}]
)
def test_unclear_gate_is_refused(entry: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="gate"):
        Gate.of(entry)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.parent.name)
def test_shipped_cards_have_the_gates_of_their_recipes(path: Path) -> None:
    card = read_card(path)
    assert list(card.gates) == read_recipe(ROOT / "configs" / f"{card.name}.toml").get("gates", [])


@pytest.mark.parametrize(
    "path", sorted((ROOT / "configs").glob("*.toml")), ids=lambda path: path.stem
)
def test_gates_of_every_recipe_can_be_read(path: Path) -> None:
    for entry in read_recipe(path).get("gates", []):
        gate = Gate.of(entry)
        assert gate.what and len(gate.measure) == 2


def test_margin_is_over_the_best_baseline() -> None:
    gate = {**ERROR, "measure": ["test", "hit"], "over": ["hit_uniform", "hit_position"]}
    made = model("a", {**gate, "margin": 0.1}, hit=0.5, hit_uniform=0.1, hit_position=0.4)
    one = judge_targets(made, {})[0]
    assert one.reached and one.wanted.startswith("at least")
    missed = model("a", {**gate, "margin": 0.2}, hit=0.5, hit_uniform=0.1, hit_position=0.4)
    assert judge_targets(missed, {})[0].reached is False
    error = {**ERROR, "under": ["error_uniform", "error_best_cell"], "margin": 0.1}
    values = {"error_uniform": 0.5, "error_best_cell": 0.4}
    for value, reached in ((0.25, True), (0.35, False)):
        found = judge_targets(model("a", error, error=value, **values), {})[0]
        assert found.reached is reached
        assert found.wanted == "at most 30.0% (uniform 50.0%, best cell 40.0%)"
    unknown = model("a", {**gate, "margin": 0.1}, hit=0.5, hit_uniform=0.1)
    assert judge_targets(unknown, {})[0].reached is None
