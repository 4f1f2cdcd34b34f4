"""Drawn digits: strokes, pictures of digits to be searched, and clips of moving digits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

# Drawn digits: pen strokes through randomly moved points, which imitate handwriting.
#
# No copyright restricts their use.


DRAWN_SIDE = 28
_OVERSAMPLING = 4
_STEPS = 12

Points = npt.NDArray[np.float64]


_WAYS = """
0: arc .5 .5 .27 .4 -.25 .77 15
1: .52 .1, .51 .5, .5 .9
1: .36 .28, .46 .19, .54 .1 | .54 .1, .53 .5, .52 .9
2: arc .48 .31 .23 .21 .52 1.08 8, .52 .6, .25 .88 | .25 .88, .78 .86
3: arc .46 .3 .22 .2 .55 1.22 8 | arc .46 .69 .25 .21 -.24 .42 9
4: .32 .1, .25 .52, .76 .5 | .66 .14, .64 .5, .62 .9
4: .58 .1, .2 .6, .8 .6 | .6 .1, .6 .5, .59 .9
5: .72 .12, .34 .13 | .34 .13, .3 .45 | .3 .45, arc .46 .65 .25 .23 -.27 .4 9
6: .62 .1, .4 .3, .28 .6, arc .48 .68 .2 .2 .5 -.5 11
7: .24 .14, .76 .14 | .76 .14, .56 .5, .44 .9
7: .24 .16, .76 .13 | .76 .13, .56 .5, .44 .9 | .38 .52, .54 .5, .7 .5
8: arc .5 .3 .19 .19 .25 -.75 11 | arc .5 .7 .23 .21 -.25 .75 11
9: arc .48 .31 .2 .2 0 -1 11 | .68 .31, .65 .6, .56 .9
9: arc .48 .31 .2 .2 0 -1 11 | .68 .31, .68 .65, arc .48 .7 .2 .19 0 .4 5
"""
"""One line per way to write a digit: strokes separated by bars, in the unit square. A stroke
consists of points "x y" and arcs "arc x y rx ry start stop points". An arc is part of an ellipse
around x, y, with angles in turns, clockwise from the right.
"""


def _load_ways() -> dict[int, list[list[Points]]]:
    """Return the ways to write each digit. A way is a list of strokes."""
    ways: dict[int, list[list[Points]]] = {}
    for line in _WAYS.strip().splitlines():
        digit, _, strokes = line.partition(": ")
        ways.setdefault(int(digit), []).append(
            [_parse_points(part) for part in strokes.split(" | ")]
        )
    return ways


def _parse_points(stroke: str) -> Points:
    """Parse the points of a stroke: [N, 2]."""
    points = []
    for part in stroke.split(", "):
        numbers = [float(number) for number in part.removeprefix("arc ").split()]
        if not part.startswith("arc"):
            points.append(numbers)
            continue
        x, y, rx, ry, start, stop, count = numbers
        for i in range(int(count)):
            angle = 2 * math.pi * (start + (stop - start) * i / (int(count) - 1))
            points.append([x + rx * math.cos(angle), y + ry * math.sin(angle)])
    return np.array(points)


_STROKES: Mapping[int, list[list[Points]]] = _load_ways()


def draw_digit(digit: int, rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    """Draw a digit in imitation of handwriting: uint8 [28, 28], 0 for background and 255 for ink.

    The points of the digit are moved slightly, then slanted, turned and scaled. The digit is drawn
    with a round pen at four times the final size, and centred by its mass.
    """
    ways = _STROKES[digit]
    strokes = ways[rng.integers(len(ways))]
    slant = _draw_slant(rng)
    side = DRAWN_SIDE * _OVERSAMPLING
    image = Image.new("L", (side, side))
    pen = ImageDraw.Draw(image)
    radius = _OVERSAMPLING * rng.uniform(0.85, 1.7)
    for stroke in strokes:
        points = stroke + rng.normal(0, 0.016, stroke.shape)
        for x, y in (_smooth_points(points) - 0.5) @ slant.T * 20 * _OVERSAMPLING + side / 2:
            pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=255)
    small = np.asarray(image.resize((DRAWN_SIDE, DRAWN_SIDE), Image.Resampling.BOX))
    return _centre_image(small)


def draw_digits(labels: npt.NDArray[np.int64], rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    """Return one drawn digit for each label: uint8 [N, 28, 28]."""
    return np.stack([draw_digit(int(label), rng) for label in labels])


def _draw_slant(rng: np.random.Generator) -> Points:
    """Return a random transform of slant, rotation and scale: [2, 2]."""
    turn, shear = rng.normal(0, 0.1), rng.normal(-0.12, 0.16)
    width, height = rng.uniform(0.82, 1.12), rng.uniform(0.9, 1.05)
    rotation = np.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])
    slant: Points = rotation @ np.array([[width, shear * height], [0, height]])
    return slant


def _smooth_points(points: Points) -> Points:
    """Return a Catmull-Rom curve through the points, with `_STEPS` points between neighbours."""
    ends = np.concatenate([2 * points[:1] - points[1:2], points, 2 * points[-1:] - points[-2:-1]])
    t = np.linspace(0, 1, _STEPS)[:, None]
    pieces = []
    for p0, p1, p2, p3 in zip(ends[:-3], ends[1:-2], ends[2:-1], ends[3:], strict=True):
        cubic = 3 * p1 - 3 * p2 + p3 - p0
        pieces.append(p1 + 0.5 * t * (p2 - p0 + t * (2 * p0 - 5 * p1 + 4 * p2 - p3 + t * cubic)))
    return np.concatenate(pieces)


def _centre_image(image: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Return the image shifted so that its centre of mass is in the middle, as in MNIST."""
    ink = image / image.sum()
    rows, columns = ink.sum(1) @ np.arange(DRAWN_SIDE), ink.sum(0) @ np.arange(DRAWN_SIDE)
    shift = (round((DRAWN_SIDE - 1) / 2 - rows), round((DRAWN_SIDE - 1) / 2 - columns))
    return np.roll(image, shift, (0, 1))


# Pictures of digits for models that search them: alone, moved, among clutter, and in pairs.
#
# They follow Mnih et al. 2014 and Ba et al. 2015.


DIGIT_SIDE = 28
"""Side of a digit in pixels."""
DIGIT_KINDS = {"centred": 28, "translated": 60, "cluttered": 60, "pairs": 100}
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
    side, each = DIGIT_KINDS[kind], 2 if kind == "pairs" else 1
    pictures = np.zeros((len(digits) // each, side, side), dtype=np.uint8)
    if kind == "cluttered":
        _add_clutter(pictures, digits, rng)
    corners_BK2 = _draw_corners(len(pictures), each, side, rng)
    patches_BKSS = digits[: len(pictures) * each].reshape(-1, each, DIGIT_SIDE, DIGIT_SIDE)
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
    corners = rng.integers(0, side - DIGIT_SIDE + 1, (count, each, 2))
    while each == 2:
        clash = np.flatnonzero((np.abs(corners[:, 0] - corners[:, 1]) < DIGIT_SIDE).all(1))
        if not len(clash):
            break
        corners[clash] = rng.integers(0, side - DIGIT_SIDE + 1, (len(clash), each, 2))
    order = np.argsort(corners[:, :, 1], 1, kind="stable")
    return np.take_along_axis(corners, order[:, :, None], 1)


def _add_clutter(pictures: Images, digits: Images, rng: np.random.Generator) -> None:
    count, side = len(pictures), pictures.shape[1]
    for _ in range(CLUTTER):
        donors = digits[rng.integers(len(digits), size=count)]
        corners = rng.integers(0, DIGIT_SIDE - CLUTTER_SIDE + 1, (2, count)).T
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
    bottom, right = (
        DIGIT_SIDE - rows[:, :, ::-1].argmax(2),
        DIGIT_SIDE - columns[:, :, ::-1].argmax(2),
    )
    y, x = corners_BK2[..., 0], corners_BK2[..., 1]
    return np.stack([x + left, y + top, x + right, y + bottom], 2)


# Short clips of a digit that does two actions one after the other, with a sentence for each clip.
#
# The clips are drawn by this code, and no copyright restricts their use. In "the three moves left
# and then grows", the digit rests, acts, rests again and acts again. The frames of both actions are
# known.
#
# Shapes: B clips, T frames, S side in pixels.


CLIP_FRAMES, CLIP_SIDE = 16, 48
"""Number of frames per clip, and the side of its frames in pixels."""
DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
CLIP_FUNCTION_WORDS = frozenset({"the", "and", "then"})
"""Words of the sentences that no frame of a clip shows."""


@dataclass(frozen=True, slots=True)
class Action:
    """An action of a digit: how it changes the digit's position, rotation and size."""

    # Shift to the right and down, in shares of the side.
    across: float = 0.0
    down: float = 0.0
    # Clockwise rotation in turns.
    turn: float = 0.0
    # Factor by which the size changes.
    size: float = 1.0


ACTIONS: Mapping[str, Action] = {
    "moves left": Action(across=-0.28),
    "moves right": Action(across=0.28),
    "moves up": Action(down=-0.28),
    "moves down": Action(down=0.28),
    "turns left": Action(turn=-0.2),
    "turns right": Action(turn=0.2),
    "grows": Action(size=1.6),
    "shrinks": Action(size=1 / 1.6),
}
"""Every action, by its words."""
_LASTS, _PAUSE = (3, 5), 1
"""Minimum and maximum number of frames of an action, and minimum number of frames between two
actions.
"""
_SMALLEST, _LARGEST = 0.46, 0.76
"""Minimum and maximum size of a digit's square, as shares of the side."""
_ROOM = 0.24
"""Maximum distance of a digit's centre from the centre of the picture, as a share of the side."""
_NOISE = 0.06

Window = tuple[int, int]
"""First frame and end frame (exclusive) of an action."""
FloatArray = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class MovingDigit:
    """A clip of a digit with two actions."""

    # uint8 [T, S, S], 0 is background.
    frames: npt.NDArray[np.uint8]
    digit: int
    # Keys of `ACTIONS`.
    actions: tuple[str, str]
    windows: tuple[Window, Window]

    @property
    def text(self) -> str:
        """The sentence that describes the clip."""
        first, second = self.actions
        return f"the {DIGITS[self.digit]} {first} and then {second}"

    def gold(self) -> list[Window | None]:
        """Return the frames that show each word of the text.

        The list has None for a word that no particular frames show.
        """
        first, second = (len(action.split()) for action in self.actions)
        return [None, None, *[self.windows[0]] * first, None, None, *[self.windows[1]] * second]


class DigitBank:
    """Drawn digits to choose from. Equal seeds give equal digits.

    Args:
        each: Number of drawings per digit.
        seed: Seed of the drawings. Use a different seed for held-out digits.
    """

    def __init__(self, each: int, seed: int) -> None:
        # Drawing needs Pillow, which a machine for training may lack.

        rng = np.random.default_rng(seed)
        drawn = [[draw_digit(digit, rng) for _ in range(each)] for digit in range(len(DIGITS))]
        self._images = np.array(drawn)

    def draw_digit(self, digit: int, rng: np.random.Generator) -> npt.NDArray[np.uint8]:
        """Return a random drawing of a digit: uint8 [28, 28]."""
        picture: npt.NDArray[np.uint8] = self._images[digit, rng.integers(self._images.shape[1])]
        return picture


def make_moving_digits(bank: DigitBank, rng: np.random.Generator, count: int) -> list[MovingDigit]:
    """Return `count` random clips."""
    plans = []
    for _ in range(count):
        digit = int(rng.integers(len(DIGITS)))
        first, second = rng.choice(len(ACTIONS), 2, replace=False).tolist()
        names = tuple(ACTIONS)
        plans.append((digit, (names[first], names[second]), _draw_windows(rng)))
    return render_actions(bank, rng, plans)


def render_actions(
    bank: DigitBank,
    rng: np.random.Generator,
    plans: Sequence[tuple[int, tuple[str, str], tuple[Window, Window]]],
) -> list[MovingDigit]:
    """Return clips with random poses and drawings.

    Args:
        bank: the drawings.
        rng: the source of randomness.
        plans: for each clip, the digit, its two actions, and the first and end frame of each
            action.
    """
    poses_BT4 = np.stack([_draw_poses(rng, actions, windows) for _, actions, windows in plans])
    digits = np.stack([bank.draw_digit(digit, rng) for digit, _, _ in plans])
    pictures_BTSS = _render_poses(digits, poses_BT4)
    noisy_BTSS = pictures_BTSS + rng.normal(0, _NOISE, pictures_BTSS.shape)
    frames_BTSS = (np.clip(noisy_BTSS, 0, 1) * 255).astype(np.uint8)
    found = []
    for frames_TSS, (digit, actions, windows) in zip(frames_BTSS, plans, strict=True):
        found.append(MovingDigit(frames_TSS, digit, actions, windows))
    return found


def _draw_windows(rng: np.random.Generator) -> tuple[Window, Window]:
    """Return the first and end frame of both actions, drawn at random.

    The remaining frames are distributed at random before, between and after the actions. A model
    that knows only when actions usually happen therefore learns little about a single clip.
    """
    first, second = rng.integers(_LASTS[0], _LASTS[1] + 1, 2).tolist()
    left = CLIP_FRAMES - _PAUSE - first - second
    start, again = sorted(rng.integers(0, left + 1, 2).tolist())
    begins = again + first + _PAUSE
    return (start, start + first), (begins, begins + second)


def _draw_poses(
    rng: np.random.Generator, actions: tuple[str, str], windows: tuple[Window, Window]
) -> FloatArray:
    """Return the pose in every frame: shift right, shift down, turn and size, float32 [T, 4].

    The pose in the first frame is drawn so that the digit never leaves the picture or becomes too
    large.
    """
    changes_T4 = np.zeros((CLIP_FRAMES, 4))
    for name, (start, end) in zip(actions, windows, strict=True):
        action = ACTIONS[name]
        # The digit has already moved in the first frame of an action.
        share_T = np.clip((np.arange(CLIP_FRAMES) - start + 1) / (end - start), 0, 1)
        whole_4 = (action.across, action.down, action.turn, np.log(action.size))
        changes_T4 += share_T[:, None] * np.array(whole_4)
    first_4 = np.zeros(4)
    limits = ((-_ROOM, _ROOM), (-_ROOM, _ROOM), None, (np.log(_SMALLEST), np.log(_LARGEST)))
    for part, limit in enumerate(limits):
        if limit is not None:
            lowest = limit[0] - changes_T4[:, part].min()
            highest = limit[1] - changes_T4[:, part].max()
            first_4[part] = rng.uniform(min(lowest, highest), highest)
    poses_T4 = changes_T4 + first_4
    poses_T4[:, 3] = np.exp(poses_T4[:, 3])
    return poses_T4.astype(np.float32)


def _render_poses(digits_BNN: npt.NDArray[np.uint8], poses_BT4: FloatArray) -> FloatArray:
    """Return the digits in their poses on an empty background: float32 [B, T, S, S], 0..1."""
    # Imported here, so that clips can be listed without torch.
    import torch
    from torch.nn import functional as F

    across, down, turn, size = torch.from_numpy(poses_BT4).flatten(0, 1).unbind(1)
    angle = 2 * np.pi * turn
    # The transform from a position in the picture to a position in the digit's square, in the
    # format of `affine_grid`.
    cosine, sine = torch.cos(angle) / size, torch.sin(angle) / size
    back_N23 = torch.stack(
        [
            torch.stack([cosine, sine, -2 * (cosine * across + sine * down)], 1),
            torch.stack([-sine, cosine, -2 * (-sine * across + cosine * down)], 1),
        ],
        1,
    )
    pictures = torch.from_numpy(digits_BNN.astype(np.float32) / 255)
    pictures_N1 = pictures.repeat_interleave(CLIP_FRAMES, 0)[:, None]
    grid = F.affine_grid(back_N23, [len(back_N23), 1, CLIP_SIDE, CLIP_SIDE], align_corners=False)
    drawn = F.grid_sample(pictures_N1, grid, align_corners=False)
    rendered: FloatArray = drawn.view(len(digits_BNN), CLIP_FRAMES, CLIP_SIDE, CLIP_SIDE).numpy()
    return rendered
