"""Areas of captioners beside those of the network before training."""

from __future__ import annotations

import numpy as np
import pytest

from areaviz.lab.tasks.captions import OF_AREAS, Read, measure_areas
from areaviz.samples.dataset import GroundedSentence
from areaviz.trace.areas import AreaGrid

BOX = (0.0, 0.0, 0.5, 1.0)
SENTENCE = GroundedSentence("a dog", ((1, (BOX,)),))


def read(grid: AreaGrid, area: int) -> Read:
    """Return one sentence whose second word puts all its attention on one area."""
    weights = np.zeros((1, 2, grid.count), np.float32)
    weights[0, 1, area] = 1
    return Read([], [SENTENCE], [[weights]], [[0, 1]], [grid])


def test_areas_are_compared_with_untrained_network() -> None:
    grid = AreaGrid(2, 2, 2, 2)
    left = next(i for i in range(grid.count) if grid.items_of(grid.area(i)) == (0, 2))
    found = measure_areas(read(grid, left), read(grid, 1), (0, 0))
    assert found["multi_words"] == found["area_hit"] == 1 and found["overlap"] == pytest.approx(1)
    assert found["multi_words_untrained"] == found["area_hit_untrained"] == 0
    assert {f"{name}_untrained" for name in OF_AREAS} <= found.keys()


def test_single_cells_have_no_figures_of_areas() -> None:
    grid = AreaGrid(2, 2, 1, 1)
    assert measure_areas(read(grid, 0), read(grid, 1), (0, 0)) == {}
