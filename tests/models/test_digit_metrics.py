"""Metrics of glimpses at digits, and the baselines that know nothing of the picture."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor, nn

from areaviz.models.digit_reader import Looks, measure_baselines, measure_looks, measure_reading
from areaviz.models.digits import ClassifierPass
from areaviz.samples.digits import DigitScenes

Array = npt.NDArray[np.floating]
SIDE, COUNT = 40, 400
CPU = torch.device("cpu")


def square(middle: Array, half: float) -> Array:
    """Return the corners [B, T, 4, 2] of squares around middles [B, T, 2]."""
    corners: Array = middle[:, :, None] + half * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    return corners


class Seeing(nn.Module):
    """A network that looks at the brightest pixel, or at the picture's middle.

    Its labels are always right.
    """

    def __init__(self, seeing: bool, looks: int = 2) -> None:
        super().__init__()
        self.seeing, self.looks = seeing, looks

    def forward(self, ink_BSS: Tensor, sample: bool) -> ClassifierPass:
        brightest = ink_BSS.flatten(1).argmax(1)
        places = torch.stack([brightest % SIDE, brightest // SIDE], 1).float() + 0.5
        middle = places if self.seeing else torch.full_like(places, SIDE / 2)
        corners = torch.from_numpy(
            square(middle[:, None].repeat(1, self.looks, 1).numpy(), 4)
        ).float()
        logits = torch.zeros(len(ink_BSS), self.looks, 10)
        return ClassifierPass(
            logits,
            1,
            corners=corners[:, :, None],
            seen=torch.zeros(len(ink_BSS), self.looks, 1, 8, 8),
        )


def scenes() -> DigitScenes:
    """Return scenes with one bright pixel, the digit "0", in the middle of a random 8 x 8 box."""
    rng = np.random.default_rng(1)
    corner = rng.integers(0, SIDE - 8, (COUNT, 2))
    pictures = np.zeros((COUNT, SIDE, SIDE), np.uint8)
    pictures[np.arange(COUNT), corner[:, 1] + 4, corner[:, 0] + 4] = 255
    boxes = np.concatenate([corner, corner + 8], 1)[:, None]
    return DigitScenes(pictures, np.zeros((COUNT, 1), np.int64), boxes)


def test_looks_on_the_digit_hit_and_cover_it() -> None:
    found = measure_reading(Seeing(True), scenes(), CPU)
    assert (found["hit"], found["first_hit"], found["error"]) == (1, 1, 0)
    assert found["coverage"] > 0.75


def test_seeing_network_beats_blind_baseline_looks() -> None:
    own, blind = (
        measure_reading(Seeing(True), scenes(), CPU),
        measure_baselines(Seeing(True), scenes(), CPU),
    )
    share = 8 * 8 / SIDE**2
    assert blind["hit_uniform"] == pytest.approx(share, abs=0.02)
    assert blind["coverage_uniform"] < 0.2
    assert blind["hit_position"] < 0.2 < own["hit"]


def test_fixed_place_network_has_no_gain() -> None:
    own, blind = (
        measure_reading(Seeing(False), scenes(), CPU),
        measure_baselines(Seeing(False), scenes(), CPU),
    )
    assert blind["hit_position"] == pytest.approx(own["hit"]) and own["hit"] < 0.2


def test_single_quadrilateral_has_overlap_instead_of_coverage() -> None:
    own, blind = (
        measure(Seeing(True, 1), scenes(), CPU) for measure in (measure_reading, measure_baselines)
    )
    assert own["overlap"] > 0.6 > blind["overlap_uniform"] and "coverage" not in own
    assert {"hit_uniform", "first_hit_position", "overlap_position"} <= blind.keys()


def test_looks_move_with_their_corners() -> None:
    middle = np.array([[[10.0, 20.0]]])
    moved = Looks(middle, square(middle, 2)).shift(np.array([[[5.0, -5.0]]]))
    np.testing.assert_array_equal(moved.middles, [[[15, 15]]])
    np.testing.assert_array_equal(moved.corners, square(np.array([[[15.0, 15.0]]]), 2))


def test_cells_have_only_hits() -> None:
    found = measure_looks(
        Looks(np.array([[[1.0, 1.0], [9.0, 9.0]]]), None), np.array([[[0, 0, 4, 4]]]), 10
    )
    assert found.keys() == {"hit", "first_hit"} and found["hit"].tolist() == [[1, 0]]
