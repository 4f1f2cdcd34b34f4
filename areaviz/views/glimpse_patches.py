"""Views of the patches that a model read at each glimpse, and of its coarse look before them.

A coarse look is an overview of the whole picture with low resolution. The second view compares the
first glimpse with and without the coarse look (survey, Fig. 14).
"""

from __future__ import annotations

import numpy as np

from areaviz.draw import tiles
from areaviz.draw.labels import truncate
from areaviz.draw.pictures import Pixels, draw_boxes, gray_to_rgb, shrink_to_fit
from areaviz.draw.theme import ACCENT, SECOND
from areaviz.draw.tiles import Sheet, Tile
from areaviz.draw.view import Table, figure_caption, view_of_marks
from areaviz.drawing.gaze_steps import (
    CONTEXT,
    GLIMPSES,
    WITHOUT,
    Answer,
    choose_steps,
    compute_centres,
    fits_glimpses,
    get_picture,
    get_step_colour,
    has_gaze,
    list_step_answers,
    split_channels,
)
from areaviz.trace.record import Gaze, Trace
from areaviz.trace.request import Focus

# Maximum side of a picture, and width of a patch's frame, in px.
_PICTURE, _FRAME = 260, 5


def arrange_patches(trace: Trace, focus: Focus) -> Sheet:
    """Arrange patches: one row per scale, one column per focused glimpse.

    Below each column is the model's prediction after that glimpse.
    """
    gaze = trace.gazes[focus.site]
    steps, answers = choose_steps(gaze, focus), list_step_answers(trace, gaze)
    scales, side = gaze.seen.shape[1:3]
    found, rows = [], []
    for scale in range(scales):
        left, right = gaze.corners[0, scale, :2]
        rows.append(f"scale {scale + 1}: {np.hypot(*(right - left)):.0f} px")
        for step in steps:
            answer, texts = answers[step], []
            if scale == scales - 1:
                texts.append(f"{step + 1}: {truncate(answer.label, 10)}")
                if answer.probability is not None:
                    texts.append(f"{answer.probability:.0%}")
            hover = (f"glimpse {step + 1}, scale {scale + 1}", f"then {answer.text}")
            found.append(Tile(frame_patch(gaze, step, scale), texts, hover))
    return Sheet(
        title="What each glimpse saw",
        note=(
            f"rows: scales by width in the picture, each resized to {side}×{side} pixels;"
            " below: prediction at that step"
        ),
        caption=figure_caption(trace, focus),
        tiles=found,
        across=len(steps),
        height=float(np.clip(560 / len(steps), 44, 110)),
        rows=rows,
        numbers=_patch_table(gaze, steps, answers),
    )


def frame_patch(
    gaze: Gaze,
    step: int,
    scale: int,
) -> Pixels:
    """Return an enlarged patch with a frame in the colour of its step: uint8 [H, W, 3]."""
    inner = shrink_to_fit(gray_to_rgb(gaze.seen[step, scale]), 120)
    height, width = inner.shape[:2]
    frame = np.empty((height + 2 * _FRAME, width + 2 * _FRAME, 3), np.uint8)
    frame[:] = split_channels(get_step_colour(step, len(gaze.seen)))
    frame[_FRAME:-_FRAME, _FRAME:-_FRAME] = inner
    return frame


def _patch_table(
    gaze: Gaze,
    steps: tuple[int, ...],
    answers: tuple[Answer, ...],
) -> Table:
    """Return a table with a row per glimpse and scale: the label after it, and pixels, 0..255."""
    side = gaze.seen.shape[2]
    names = [f"row {row + 1}, column {column + 1}" for row, column in np.ndindex(side, side)]
    rows = []
    for step in steps:
        answer = answers[step]
        likely = "" if answer.probability is None else answer.probability
        for scale, patch in enumerate(gaze.seen[step], 1):
            rows.append((step + 1, scale, answer.label, likely, *patch.ravel().tolist()))
    return Table(("glimpse", "scale", "label", "probability", *names), rows)


def fits_context(trace: Trace, focus: Focus) -> bool:
    """Return whether the focus is on a gaze that ran with and without the coarse look."""
    sites = {GLIMPSES, CONTEXT, WITHOUT}
    return has_gaze(trace, focus) and sites <= trace.gazes.keys()


def arrange_context(trace: Trace, focus: Focus) -> Sheet:
    """Arrange three pictures: the coarse look, and the first glimpses with and without it."""
    coarse = trace.gazes[CONTEXT].seen[0, 0]
    side = len(coarse)
    first = Tile(
        shrink_to_fit(gray_to_rgb(coarse), _PICTURE),
        ("the coarse look", f"{side}×{side} pixels"),
        ("the overview of the whole picture that the model sees first",),
    )
    return Sheet(
        title="The first glimpse, with the coarse look and without it",
        note=(
            "boxes: scales of the first glimpse; right: the same model without its"
            " low-resolution overview"
        ),
        caption=figure_caption(trace, focus),
        tiles=(
            first,
            _draw_first_glimpse(trace, GLIMPSES, "with it", ACCENT),
            _draw_first_glimpse(trace, WITHOUT, "without it", SECOND),
        ),
        across=3,
        height=220,
        numbers=_tabulate_context(trace),
    )


def _draw_first_glimpse(
    trace: Trace,
    site: str,
    words: str,
    colour: str,
) -> Tile:
    """Draw the picture with every scale of a gaze's first glimpse outlined."""
    picture, gaze = get_picture(trace), trace.gazes[site]
    small = shrink_to_fit(picture, _PICTURE)
    corners = gaze.corners[0] * (small.shape[1] / picture.shape[1])
    boxes = np.concatenate([corners.min(1), corners.max(1)], 1).tolist()
    x, y = compute_centres(gaze)[0]
    texts = (f"first glimpse {words}", f"at {x:.0f}, {y:.0f} px")
    return Tile(draw_boxes(small, [(box, colour) for box in boxes], 2), texts, texts)


def _tabulate_context(trace: Trace) -> Table:
    """Return a table of the centres of glimpses with and without the coarse look, and distances."""
    seeing = compute_centres(trace.gazes[GLIMPSES])
    blind = compute_centres(trace.gazes[WITHOUT])
    rows = []
    for step, (one, other) in enumerate(zip(seeing, blind, strict=True), 1):
        apart = float(np.hypot(*(one - other)))
        rows.append((step, *one.tolist(), *other.tolist(), apart))
    return Table(("glimpse", "with: x", "with: y", "without: x", "without: y", "apart (px)"), rows)


VIEW = view_of_marks(
    "retina",
    "What each glimpse saw",
    "What did each glimpse show the model, and what did it then predict?",
    fits_glimpses,
    arrange_patches,
    tiles.plot_tiles_on_screen,
    tiles.tabulate_tiles,
    print_plot=tiles.plot_tiles_in_print,
    how_to_read=(
        "Each column is a glimpse: its patches from sharp and small to coarse and large, with"
        " the prediction at that step below."
    ),
)
COARSE_LOOK = view_of_marks(
    "context",
    "Coarse look",
    "Does the low-resolution overview change the first glimpse?",
    fits_context,
    arrange_context,
    tiles.plot_tiles_on_screen,
    tiles.tabulate_tiles,
    print_plot=tiles.plot_tiles_in_print,
    how_to_read=(
        "The small picture is the low-resolution overview that the model sees first. If the"
        " first glimpse is at the same place in every picture, the model does not use it."
    ),
)
