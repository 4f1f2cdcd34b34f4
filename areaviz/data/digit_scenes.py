"""Pictures of digits for models that search them: alone, moved, among clutter, and in pairs.

They follow Mnih et al. 2014 and Ba et al. 2015.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

SIDE = 28
"""Side of a digit in pixels."""
KINDS = {"centred": 28, "translated": 60, "cluttered": 60, "pairs": 100}
"""The kinds of pictures and their sides in pixels."""

CLUTTER, CLUTTER_SIDE = 4, 8
_INK = 32

Images = npt.NDArray[np.uint8]
Labels = npt.NDArray[np.int64]
Boxes = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class DigitScenes:
    """B pictures of K digits each."""

    # uint8 [B, S, S], 0 is background.
    pictures: Images
    # int64 [B, K], from left to right.
    labels: Labels
    # int64 [B, K, 4]: left, top, right and bottom of each digit's ink in pixels, the last two
    # exclusive.
    boxes: Boxes


def compose_scenes(
    kind: str, digits: Images, labels: Labels, rng: np.random.Generator
) -> DigitScenes:
    """Create pictures of a kind from digits [N, 28, 28], each of which is used once.

    - "centred": the digit itself.
    - "translated": the digit at a random position in 60 x 60 pixels.
    - "cluttered": also four pieces of 8 x 8 pixels cut from other digits.
    - "pairs": two of the digits in 100 x 100 pixels, without overlap.

    Raises:
        KeyError: The kind is unknown.
    """
    side, each = KINDS[kind], 2 if kind == "pairs" else 1
    pictures = np.zeros((len(digits) // each, side, side), dtype=np.uint8)
    if kind == "cluttered":
        _add_clutter(pictures, digits, rng)
    corners_BK2 = _draw_corners(len(pictures), each, side, rng)
    patches_BKSS = digits[: len(pictures) * each].reshape(-1, each, SIDE, SIDE)
    for index in range(each):
        _paste_patches(pictures, patches_BKSS[:, index], corners_BK2[:, index])
    return DigitScenes(
        pictures,
        labels[: len(pictures) * each].reshape(-1, each),
        _find_ink_boxes(patches_BKSS, corners_BK2),
    )


def _draw_corners(
    count: int, each: int, side: int, rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Return top-left corners (row, column) [B, K, 2] of digits that do not overlap.

    The digits of a picture are ordered from left to right.
    """
    corners = rng.integers(0, side - SIDE + 1, (count, each, 2))
    while each == 2:
        clash = np.flatnonzero((np.abs(corners[:, 0] - corners[:, 1]) < SIDE).all(1))
        if not len(clash):
            break
        corners[clash] = rng.integers(0, side - SIDE + 1, (len(clash), each, 2))
    order = np.argsort(corners[:, :, 1], 1, kind="stable")
    return np.take_along_axis(corners, order[:, :, None], 1)


def _add_clutter(pictures: Images, digits: Images, rng: np.random.Generator) -> None:
    count, side = len(pictures), pictures.shape[1]
    for _ in range(CLUTTER):
        donors = digits[rng.integers(len(digits), size=count)]
        corners = rng.integers(0, SIDE - CLUTTER_SIDE + 1, (2, count)).T
        pieces = donors[_index_squares(corners, CLUTTER_SIDE)]
        _paste_patches(pictures, pieces, rng.integers(0, side - CLUTTER_SIDE + 1, (count, 2)))


def _paste_patches(pictures: Images, patches: Images, corners: npt.NDArray[np.int64]) -> None:
    """Paste one patch into each picture. Where ink overlaps, the stronger value is kept."""
    place = _index_squares(corners, patches.shape[1])
    pictures[place] = np.maximum(pictures[place], patches)


def _index_squares(corners: npt.NDArray[np.int64], side: int) -> tuple[npt.NDArray[np.int64], ...]:
    """Return the index of one square in each of B pictures, from its corner (row, column)."""
    span = np.arange(side)
    each = np.arange(len(corners))[:, None, None]
    return each, corners[:, 0, None, None] + span[:, None], corners[:, 1, None, None] + span


def _find_ink_boxes(patches_BKSS: Images, corners_BK2: npt.NDArray[np.int64]) -> Boxes:
    ink = np.greater(patches_BKSS, _INK)
    rows, columns = np.any(ink, axis=3), np.any(ink, axis=2)
    top, left = rows.argmax(2), columns.argmax(2)
    bottom, right = SIDE - rows[:, :, ::-1].argmax(2), SIDE - columns[:, :, ::-1].argmax(2)
    y, x = corners_BK2[..., 0], corners_BK2[..., 1]
    return np.stack([x + left, y + top, x + right, y + bottom], 2)
