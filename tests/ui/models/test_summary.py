"""Summary of a model in the index: targets as dots, its result, its twin and its training."""

from __future__ import annotations

from dataclasses import replace

from areaviz.app.models import (
    compare_with_twin,
    count_targets,
    describe_model,
    draw_target_dots,
    find_twin,
    format_main_value,
    format_parameters,
    format_training_time,
    get_start_run,
    sort_best_first,
)
from areaviz.cards.card import TargetResult
from tests.pages import folder

AREA, REGULAR = folder.card("area", "area"), folder.card("regular", "regular")


def target(reached: bool | None) -> TargetResult:
    """Return a target with this result."""
    return TargetResult("what", "at least 1", "1", reached, "")


def test_target_dots_puts_reached_targets_first() -> None:
    targets = [target(False), *[target(True)] * 6, target(None)]
    assert draw_target_dots(targets) == "●●●●●●○○ 6 of 8"
    assert count_targets(targets) == "6 of 8"
    assert draw_target_dots([]) == count_targets([]) == "none set"


def test_best_first_orders_errors_upwards_and_scores_downwards() -> None:
    unknown = replace(AREA, name="unknown", figures={})
    assert sort_best_first([unknown, REGULAR, AREA]) == [AREA, REGULAR, unknown]
    low, high = (
        replace(AREA, name=str(error), task="digits", figures={"test": {"error": error}})
        for error in (0.01, 0.2)
    )
    assert sort_best_first([high, low]) == [low, high]
    assert format_main_value(low) == "Error 1.00%"


def test_parameters_and_training_have_units() -> None:
    assert format_parameters(replace(AREA, parameters=1_984_576)) == "2.0 million"
    assert format_parameters(replace(AREA, parameters=41_850)) == "41,850"
    assert format_training_time(replace(AREA, trained_on="CPU (1 thread), x86_64, 1.7 hours")) == (
        "1.7 hours"
    )
    assert format_training_time(replace(AREA, trained_on="")) == "–"


def test_card_names_the_run_whose_weights_it_started_from() -> None:
    trained = replace(AREA, trained_on="CPU (1 thread), x86_64, 0.2 hours")
    assert get_start_run(trained) == "" and "started" not in describe_model(trained)
    later = replace(trained, recipe={**AREA.recipe, "start_run": "first"})
    assert get_start_run(later) == "first"
    assert describe_model(later).endswith(
        " The time does not include that of first, from whose weights it started."
    )


def test_twin_differs_only_in_attention() -> None:
    area, regular = replace(AREA, pair="p"), replace(REGULAR, pair="p")
    seed = replace(AREA, pair="p", name="another seed")
    assert find_twin(area, [seed, area, regular]) == regular
    assert find_twin(replace(area, pair=""), [regular]) is None
    assert compare_with_twin(area, regular).startswith("+1.30 BLEU compared with its twin")
    assert "differs only" in compare_with_twin(area, replace(regular, figures={}))
