"""The heads that together point best: chosen on validation, reported beside baselines."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from areaviz.cards.card import Opening
from areaviz.lab.measure import choose_best, choose_pointing_opening, measure_best_pointing
from areaviz.measures.pointing import PointedWords
from areaviz.trace.derived import BestAlignment
from tests.pages import folder

SITE = "encoder-decoder"
CARD = replace(folder.card("scene-area", "area"), opening={})


def seen(seed: int, heads: int = 3) -> PointedWords:
    """Return 40 words at random places. Each head but the first sees a part of the words."""
    random = np.random.default_rng(seed)
    places = random.integers(8, size=40)
    weights = random.random((1, heads, 41, 8)).astype(np.float32)
    for head in range(1, heads):
        own = np.arange(40) % (heads - 1) == head - 1
        weights[0, head, :40][own, places[own]] += 5
    right = np.arange(8) == places[:, None]
    return PointedWords.joined([PointedWords.of(weights, range(40), right)])


def blank() -> PointedWords:
    return seen(3, heads=1)


def test_chosen_heads_beat_single_and_open_if_allowed() -> None:
    best = choose_best(seen(1), "words", may_open=True)
    assert best is not None and set(best.heads) >= {(0, 1, 0), (0, 2, 0)}
    assert best.error < best.error_single and best.opens and best.examples == 40
    shown = choose_best(seen(1), "words", may_open=False)
    assert shown == replace(best, opens=False)


def test_single_head_at_own_step_is_not_a_set() -> None:
    words = seen(1, heads=2)
    alone = replace(words, rows=words.rows[:, :, 1:])
    assert choose_best(alone, "words", may_open=True) is None


def test_figures_include_baselines() -> None:
    best = BestAlignment(((0, 1, 0), (0, 2, 0)), 40, "words", 0.0, 0.5)
    single = {"pointing": 0.5, "pointing_middle": 0.4, "pointing_uniform": 0.1}
    found = measure_best_pointing("pointing", seen(2), seen(2, heads=1), best, single)
    assert found["best_pointing"] == 1.0 and found["best_heads"] == 2
    assert found["best_pointing_low"] == found["best_pointing_high"] == 1.0
    assert found["best_pointing_middle"] == 0.4 and found["best_pointing_uniform"] == 0.1
    assert found["best_pointing_position"] < 0.4 and found["best_pointing_untrained"] < 0.5
    assert measure_best_pointing("pointing", seen(2), blank(), None, single) == {}


def test_val_chooses_and_test_reads_the_card() -> None:
    chosen = choose_pointing_opening(CARD, SITE, (0, 1), seen(1), "val")
    assert chosen.pointing_head == (0, 1) and chosen.best is not None
    assert chosen.best.chosen_on == f"words of validation {CARD.pictures}" and not chosen.best.opens
    noted = replace(CARD, opening={SITE: chosen})
    assert choose_pointing_opening(noted, SITE, (0, 1), blank(), "test") == chosen
    single = pytest.approx(chosen.best.error_single)
    assert (
        choose_pointing_opening(replace(noted, mechanism="regular"), SITE, (0, 1), seen(1), "val")
        == (Opening("coverage", 0, 1, replace(chosen.best, opens=True), (0, 1)))
        and chosen.best.error_single == single
    )
