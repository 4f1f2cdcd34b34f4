"""Summary of a model in the index: targets as dots, its result, its twin and its training."""

from __future__ import annotations

from dataclasses import replace

from areaviz.cards.gates import Judged
from areaviz.ui.models.summary import (
    best_first,
    headline_text,
    parameters_words,
    target_counts,
    target_dots,
    training_words,
    twin_of,
    twin_words,
)
from tests.pages import folder

AREA, REGULAR = folder.card("area", "area"), folder.card("regular", "regular")


def target(reached: bool | None) -> Judged:
    """Return a target with this result."""
    return Judged("what", "at least 1", "1", reached, "")


def test_target_dots_puts_reached_targets_first() -> None:
    targets = [target(False), *[target(True)] * 6, target(None)]
    assert target_dots(targets) == "●●●●●●○○ 6 of 8"
    assert target_counts(targets) == "6 of 8"
    assert target_dots([]) == target_counts([]) == "none set"


def test_best_first_orders_errors_upwards_and_scores_downwards() -> None:
    unknown = replace(AREA, name="unknown", figures={})
    assert best_first([unknown, REGULAR, AREA]) == [AREA, REGULAR, unknown]
    low, high = (
        replace(AREA, name=str(error), task="digits", figures={"test": {"error": error}})
        for error in (0.01, 0.2)
    )
    assert best_first([high, low]) == [low, high]
    assert headline_text(low) == "Error 1.00%"


def test_parameters_and_training_have_units() -> None:
    assert parameters_words(replace(AREA, parameters=1_984_576)) == "2.0 million"
    assert parameters_words(replace(AREA, parameters=41_850)) == "41,850"
    assert training_words(replace(AREA, trained_on="CPU (1 thread), x86_64, 1.7 hours")) == (
        "1.7 hours"
    )
    assert training_words(replace(AREA, trained_on="")) == "–"


def test_twin_differs_only_in_attention() -> None:
    area, regular = replace(AREA, pair="p"), replace(REGULAR, pair="p")
    seed = replace(AREA, pair="p", name="another seed")
    assert twin_of(area, [seed, area, regular]) == regular
    assert twin_of(replace(area, pair=""), [regular]) is None
    assert twin_words(area, regular).startswith("+1.30 BLEU compared with its twin")
    assert "differs only" in twin_words(area, replace(regular, figures={}))
