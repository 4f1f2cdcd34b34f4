"""Pictures of digits to be looked for: alone, moved, among clutter, and in pairs (Mnih et al. 2014,
Ba et al. 2015).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from areaviz.data.mnist import SIDE, Images, Labels

KINDS = {"centred": 28, "translated": 60, "cluttered": 60, "pairs": 100}
"""The kinds of pictures and their sides in pixels."""

CLUTTER, CLUTTER_SIDE = 4, 8
_INK = 32

Boxes = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class DigitScenes:
    """B pictures of K digits each.

    pictures: uint8 [B, S, S], 0 is ground. labels: int64 [B, K], from left to right. boxes: int64
    [B, K, 4], the left, top, right and bottom of each digit's ink in pixels, right and bottom
    exclusive.
    """

    pictures: Images
    labels: Labels
    boxes: Boxes


def compose(kind: str, digits: Images, labels: Labels, rng: np.random.Generator) -> DigitScenes:
    """Pictures of a kind; each digit [N, 28, 28] is used once, in pairs one after the other.

    "centred" is the digit itself; "translated" puts it anywhere in 60 x 60; "cluttered" adds four
    pieces of 8 x 8 pixels cut from other digits; "pairs" puts two digits in 100 x 100 that do not
    overlap.

    Raises:
        KeyError: an unknown kind.
    """
    side, each = KINDS[kind], 2 if kind == "pairs" else 1
    pictures = np.zeros((len(digits) // each, side, side), dtype=np.uint8)
    if kind == "cluttered":
        _add_clutter(pictures, digits, rng)
    corners_BK2 = _corners(len(pictures), each, side, rng)
    patches_BKSS = digits[: len(pictures) * each].reshape(-1, each, SIDE, SIDE)
    for index in range(each):
        _paste(pictures, patches_BKSS[:, index], corners_BK2[:, index])
    return DigitScenes(
        pictures,
        labels[: len(pictures) * each].reshape(-1, each),
        _boxes(patches_BKSS, corners_BK2),
    )


def _corners(count: int, each: int, side: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Top-left corners (row, column) [B, K, 2]; of two digits the first is the left one, and they
    do not overlap.
    """
    corners = rng.integers(0, side - SIDE + 1, (count, each, 2))
    while each == 2:
        clash = np.flatnonzero((np.abs(corners[:, 0] - corners[:, 1]) < SIDE).all(1))
        if not len(clash):
            break
        corners[clash] = rng.integers(0, side - SIDE + 1, (len(clash), each, 2))
    return np.take_along_axis(
        corners, np.argsort(corners[:, :, 1], 1, kind="stable")[:, :, None], 1
    )


def _add_clutter(pictures: Images, digits: Images, rng: np.random.Generator) -> None:
    count, side = len(pictures), pictures.shape[1]
    for _ in range(CLUTTER):
        donors = digits[rng.integers(len(digits), size=count)]
        rows, columns = rng.integers(0, SIDE - CLUTTER_SIDE + 1, (2, count))
        span = np.arange(CLUTTER_SIDE)
        each = np.arange(count)[:, None, None]
        pieces = donors[each, rows[:, None, None] + span[:, None], columns[:, None, None] + span]
        _paste(pictures, pieces, rng.integers(0, side - CLUTTER_SIDE + 1, (count, 2)))


def _paste(pictures: Images, patches: Images, corners: npt.NDArray[np.int64]) -> None:
    """Lay one patch on each picture; where ink meets ink the stronger stays (0 is ground, 255 is
    full ink).
    """
    span = np.arange(patches.shape[1])
    rows = corners[:, 0, None, None] + span[:, None]
    columns = corners[:, 1, None, None] + span
    each = np.arange(len(pictures))[:, None, None]
    pictures[each, rows, columns] = np.maximum(pictures[each, rows, columns], patches)


def _boxes(patches_BKSS: Images, corners_BK2: npt.NDArray[np.int64]) -> Boxes:
    ink = np.greater(patches_BKSS, _INK)
    rows, columns = np.any(ink, axis=3), np.any(ink, axis=2)
    top, left = rows.argmax(2), columns.argmax(2)
    bottom, right = SIDE - rows[:, :, ::-1].argmax(2), SIDE - columns[:, :, ::-1].argmax(2)
    y, x = corners_BK2[..., 0], corners_BK2[..., 1]
    return np.stack([x + left, y + top, x + right, y + bottom], 2)
