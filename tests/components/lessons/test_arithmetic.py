"""The arithmetic of the lessons in the browser agrees with that in Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from areaviz.learn import arithmetic
from areaviz.learn.arithmetic import REWARDS, SCORES, Choice, compute_variance, find_best_baseline
from areaviz.learn.computed_questions import get_key_weights
from areaviz.trace.areas import Area, AreaGrid
from tests.components.live.node import run_node

SCRIPT = str(Path(__file__).parent / "compute.mjs")
RELATIVE = 1e-9


def computed(*asked: tuple[str, list[Any]]) -> list[Any]:
    return run_node(SCRIPT, asked)


def near(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(np.asarray(found, float), expected, rtol=RELATIVE, atol=1e-12)


def plain(area: Area) -> list[int]:
    return [area.top, area.left, area.height, area.width]


@pytest.mark.parametrize("sizes", [(1, 7, 1, 4), (3, 4, 2, 3), (2, 2, 4, 4), (8, 8, 3, 3)])
def test_areas_have_the_order_of_the_models(sizes: tuple[int, int, int, int]) -> None:
    grid = AreaGrid.clamped(sizes[:2], sizes[2:])
    found, down, across = computed(
        ("allAreas", list(sizes)),
        ("runCount", [sizes[0], sizes[2]]),
        ("runCount", [sizes[1], sizes[3]]),
    )
    assert found == [plain(area) for area in arithmetic.list_areas(grid)]
    assert down * across == grid.count


def test_sums_means_and_deviations_of_all_areas_agree() -> None:
    x_HWD = np.random.default_rng(5).normal(3, 2, (4, 5, 2))
    grid = AreaGrid(4, 5, 3, 3)
    held = [arithmetic.select_items(x_HWD, area).tolist() for area in arithmetic.list_areas(grid)]
    areas = [plain(area) for area in arithmetic.list_areas(grid)]
    assert computed(*(("vectorsOf", [x_HWD.tolist(), area]) for area in areas)) == held
    for name, reference in (
        ("sumOf", arithmetic.compute_area_sums),
        ("meanOf", arithmetic.compute_area_means),
        ("deviationOf", arithmetic.compute_area_deviations),
    ):
        near(computed(*((name, [vectors]) for vectors in held)), reference(x_HWD, grid))


@pytest.mark.parametrize("query", [(1.0, 0.0), (-1.7, 0.4), (2.0, 2.0)])
@pytest.mark.parametrize("longest", [1, 3, 4])
def test_attention_to_spans_agrees(query: tuple[float, float], longest: int) -> None:
    expected = arithmetic.attend_spans(np.array(query), longest)
    keys, values = arithmetic.KEYS_ND.tolist(), arithmetic.VALUES_ND.tolist()
    (found,) = computed(("attendSpans", [list(query), keys, values, longest]))
    near(found["logits"], expected.logits)
    near(found["weights"], expected.weights)
    near(found["shares"], expected.coverage)
    near(found["output"], expected.output)


@pytest.mark.parametrize("scores", [(0, 0, 0), (0.3, -0.4, 0.1), (-1, 1, 1)])
def test_boundary_scores_agree(scores: tuple[float, float, float]) -> None:
    expected = arithmetic.attend_boundaries(*scores)
    own = dict(zip(("bias", "start", "end"), scores, strict=True))
    own |= {"begins": arithmetic.BEGINS, "ends": arithmetic.ENDS}
    logits = arithmetic.ITEM_LOGITS.tolist()
    (found,) = computed(("attendBoundaries", [logits, arithmetic.BOUNDARY_GRID.max_width, own]))
    near(found["logits"], expected.logits)
    near(found["weights"], expected.weights)


def test_keys_of_all_areas_agree() -> None:
    memory = arithmetic.MEMORY_HWD.tolist()
    areas = arithmetic.list_areas(arithmetic.FEATURES_GRID)
    found = computed(*(("keyOfArea", [memory, plain(area), get_key_weights()]) for area in areas))
    for one, area in zip(found, areas, strict=True):
        expected = arithmetic.compute_key(area)
        for name in ("mean", "deviation", "shape", "hidden", "active", "key"):
            near(one[name], getattr(expected, name))


@pytest.mark.parametrize(("items", "longest"), [(16, 1), (256, 5), (1024, 10)])
def test_counted_operations_are_equal(items: int, longest: int) -> None:
    expected = arithmetic.count_operations(AreaGrid(1, items, 1, longest))
    (found,) = computed(("operationsOf", [items, longest, arithmetic.COST_DEPTH]))
    assert found["areas"] == expected["areas"]
    assert found["built"] == expected["built areas"]
    for name in ("regular", "factored", "recurrence", "table"):
        assert found[name] == expected[name]


def test_table_and_corners_agree_with_python() -> None:
    memory = arithmetic.TABLE_MEMORY.tolist()
    (table,) = computed(("tableOf", [memory]))
    assert table == arithmetic.compute_table().tolist()
    areas = arithmetic.list_areas(arithmetic.TABLE_GRID)
    found = computed(*(("cornersOf", [table, plain(area)]) for area in areas))
    assert found == [arithmetic.get_corners(area) for area in areas]


@pytest.mark.parametrize("scores", SCORES)
@pytest.mark.parametrize("rewards", REWARDS)
def test_hard_choice_agrees_with_python(scores: str, rewards: str) -> None:
    choice = Choice(SCORES[scores], REWARDS[rewards])
    given = [choice.scores.tolist(), choice.rewards.tolist()]
    found, once, often = computed(
        ("choiceOf", given), ("variance", [*given, 1, -1.3]), ("variance", [*given, 64, 0.7])
    )
    near(found["weights"], choice.weights)
    near(found["expected"], choice.expected)
    near(found["gradient"], choice.gradient)
    near(found["best"], find_best_baseline(choice))
    near(once, compute_variance(choice, 1, -1.3))
    near(often, compute_variance(choice, 64, 0.7))


@pytest.mark.parametrize("theta", [(0.5, 0.1, -0.2, -0.3, 0.8, 0.4), (1.4, 0, 0.3, 0, 1.4, 0)])
def test_window_samples_agree_with_torch(theta: tuple[float, ...]) -> None:
    pixels_HWC = np.random.default_rng(3).integers(0, 256, (7, 9, 3)).astype(float)
    given = {"height": 7, "width": 9, "rgb": pixels_HWC.ravel().tolist()}
    (found,) = computed(("warpedPixels", [given, list(theta), 8]))
    matrix = torch.tensor(theta, dtype=torch.float64).view(1, 2, 3)
    places = torch.nn.functional.affine_grid(matrix, [1, 3, 8, 8], align_corners=False)
    picture = torch.tensor(pixels_HWC).permute(2, 0, 1)[None]
    expected = torch.nn.functional.grid_sample(picture, places, align_corners=False)
    np.testing.assert_allclose(
        np.array(found).T.reshape(3, 8, 8), expected[0].numpy(), rtol=RELATIVE, atol=1e-9
    )
