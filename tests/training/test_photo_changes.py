"""Boxes follow their pictures when these are cropped and mirrored."""

from __future__ import annotations

import numpy as np
import torch

from areaviz.lab.pictures import PhotoChanges
from areaviz.samples.dataset import GroundedSentence

SIDE = 64


def changes(scale: tuple[float, float], shift: tuple[float, float]) -> PhotoChanges:
    plain = torch.zeros(1, 1), torch.ones(1, 1)
    return PhotoChanges(torch.tensor([scale]), torch.tensor([shift]), *plain)


def test_box_moves_with_its_object() -> None:
    drawn = PhotoChanges.draw(40, torch.Generator().manual_seed(0))
    box = (0.375, 0.25, 0.625, 0.5)
    pixels = torch.zeros(40, SIDE, SIDE, 3, dtype=torch.uint8)
    pixels[:, SIDE // 4 : SIDE // 2, 3 * SIDE // 8 : 5 * SIDE // 8] = 255
    changed = drawn.change(pixels).float().mean(3).numpy()
    for index in range(40):
        ((_, (moved,)),) = drawn.ground(index, GroundedSentence("a dog", ((1, (box,)),))).boxes
        bright = changed[index] > (changed[index].min() + changed[index].max()) / 2
        rows, columns = np.flatnonzero(bright.any(1)), np.flatnonzero(bright.any(0))
        seen = (columns[0], rows[0], columns[-1] + 1, rows[-1] + 1)
        np.testing.assert_allclose(np.array(moved) * SIDE, seen, atol=1.5)


def test_mirror_swaps_left_and_right() -> None:
    moved = changes((-1.0, 1.0), (0.0, 0.0)).ground(
        0, GroundedSentence("a", ((0, ((0.0, 0.1, 0.3, 0.4),)),))
    )
    np.testing.assert_allclose(moved.boxes[0][1][0], (0.7, 0.1, 1.0, 0.4), atol=1e-6)


def test_mostly_cropped_box_is_dropped() -> None:
    """Check a crop to the left half: one box is right of it, and most of another box is."""
    left = changes((0.5, 1.0), (-0.5, 0.0))
    boxes = ((0, ((0.8, 0, 1, 1),)), (1, ((0.45, 0, 0.95, 1),)), (2, ((0.1, 0, 0.2, 1),)))
    kept = left.ground(0, GroundedSentence("a b c", boxes)).boxes
    assert [word for word, _ in kept] == [2]
    np.testing.assert_allclose(kept[0][1][0], (0.2, 0, 0.4, 1), atol=1e-6)
