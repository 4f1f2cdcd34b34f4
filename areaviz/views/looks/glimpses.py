"""Views of glimpses: their path, the patches that they read, and the label after each one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from areaviz.draw import tiles
from areaviz.draw.labels import show_invisibles, truncate
from areaviz.draw.marks import Dash, Key, Mark, Pair, Panel, Plot, Points, Stroke, Texts
from areaviz.draw.matrix import Matrix, plot_matrix
from areaviz.draw.pictures import CASING, Box, Pixels, draw_boxes, gray_to_rgb, shrink_to_fit
from areaviz.draw.theme import ACCENT, SCREEN_FONT, SCREEN_WIDTH, SECOND, Drawing, colour_at
from areaviz.draw.tiles import Sheet, Tile, draw_cased_line, make_picture_marks, make_stage_axes
from areaviz.draw.view import Table, figure_caption, view_of_marks
from areaviz.trace.areas import FloatArray
from areaviz.trace.record import Gaze, Trace
from areaviz.trace.request import Focus
from areaviz.views.looks.looks import (
    CONTEXT,
    GLIMPSES,
    WITHOUT,
    Answer,
    choose_ink,
    choose_steps,
    compute_centres,
    compute_view_box,
    fits_glimpses,
    fits_transformer,
    get_picture,
    get_step_colour,
    has_gaze,
    list_step_answers,
    split_channels,
)

# View of the glimpses of a model, in their order (Mnih et al. 2014, Fig. 4).


# Opacity of steps that are not focused, and of scales wider than the finest.
_FAINT, _WIDER = 0.3, 0.55
_TRAIL = "#FFFFFF"
_LINES: tuple[tuple[Pair, Dash], ...] = (((2.2, 1.5), "solid"), ((1.2, 0.9), "dot"))
"""Width and dash of the box of the finest scale, and of wider scales."""


@dataclass(frozen=True, slots=True, eq=False)
class GlimpsePath(Drawing):
    """The glimpses of a gaze, with the focused steps highlighted."""

    picture: Pixels
    gaze: Gaze
    # The focused steps, or all steps if none is focused.
    chosen: tuple[int, ...]
    # Position of each step's number: float32 [Q, 2].
    places: FloatArray
    # The visible part of the picture, in pixels of the picture.
    box: Box
    answers: tuple[Answer, ...]

    @property
    def order(self) -> list[int]:
        """The steps in drawing order. Focused steps are last and drawn over the others."""
        return sorted(range(len(self.answers)), key=lambda step: step in self.chosen)

    def opacity(self, step: int, scale: int = 0) -> float:
        """Return the opacity of a step's box. Focused steps and the finest scale are strongest."""
        opacity = 1.0 if step in self.chosen else _FAINT
        return _WIDER * opacity if scale else opacity

    def colour(self, step: int) -> str:
        """Return the colour of a step."""
        return get_step_colour(step, len(self.answers))

    def iterate_outlines(self) -> Iterator[tuple[int, int, FloatArray]]:
        """Yield step, scale and closed outline [5, 2] of each patch, the widest scale first."""
        for scale in reversed(range(self.gaze.corners.shape[1])):
            for step in self.order:
                yield step, scale, self.gaze.corners[step, scale, [0, 1, 2, 3, 0]]


def find_path(trace: Trace, focus: Focus) -> GlimpsePath:
    """Find the glimpses of a gaze and the position of their numbers."""
    gaze, picture = trace.gazes[focus.site], get_picture(trace)
    wider = "; dotted: wider scales" if gaze.seen.shape[1] > 1 else ""
    box = compute_view_box(picture, gaze.corners)
    left, top, right, bottom = box
    return GlimpsePath(
        title="Where the model looked, glimpse after glimpse",
        note=(
            f"numbers: order of glimpses; boxes: their finest scale{wider}; key: the label after"
            " each"
        ),
        caption=figure_caption(trace, focus),
        picture=picture,
        gaze=gaze,
        chosen=choose_steps(gaze, focus),
        # Numbers that are closer than this would overlap.
        places=number_places(gaze, 0.07 * max(right - left, bottom - top)),
        box=box,
        answers=list_step_answers(trace, gaze),
    )


def number_places(gaze: Gaze, near: float) -> FloatArray:
    """Return the position of each glimpse's number: float32 [Q, 2].

    The number is at the centre of its glimpse, or at a corner of its box if another number is
    within `near` px of the centre.
    """
    places: list[FloatArray] = []
    for step, middle in enumerate(compute_centres(gaze)):
        place = middle
        for option in (middle, *np.roll(gaze.corners[step, 0], -step, axis=0)):
            if all(np.hypot(*(option - other)) >= near for other in places):
                place = option
                break
        places.append(place)
    return np.array(places, dtype=np.float32)


def plot_path(drawn: GlimpsePath) -> Plot:
    """Draw the path on the picture. The key lists the label after each glimpse."""
    left, top, right, bottom = drawn.box
    share = (bottom - top) / (right - left)
    # An entry of the key is about 92 px wide.
    rows = 1 + len(drawn.answers) * 92.0 // SCREEN_WIDTH
    across, down = make_stage_axes(drawn.box)
    return Plot(
        drawing=drawn,
        panels=[Panel(marks=list(_make_marks(drawn)), across=across, down=down, is_square=True)],
        height=(float(np.clip(500 * share, 180, 420)), float(np.clip(5.2 * share, 1.5, 4.2))),
        above=4,
        below=16 + 22 * rows,
        key=Key("right", "label after each glimpse"),
    )


def _make_marks(drawn: GlimpsePath) -> Iterator[Mark]:
    yield from make_picture_marks(drawn.picture)
    for step, scale, outline in drawn.iterate_outlines():
        width, dash = _LINES[scale > 0]
        yield draw_cased_line(outline, drawn.colour(step), width, drawn.opacity(step, scale), dash)
    middles = compute_centres(drawn.gaze)
    yield draw_cased_line(middles, _TRAIL, (1.4, 1.0), 0.9)
    # Keep a dot at the centre of every glimpse on screen, because its number may be at a corner.
    colours = [drawn.colour(step) for step in range(len(middles))]
    x, y = middles.T
    yield Points(x, y, (7, 0), colours, Stroke(CASING, (1, 0)))
    for step in drawn.order:
        yield _make_number(drawn, step, *middles[step])


def _make_number(drawn: GlimpsePath, step: int, middle_x: float, middle_y: float) -> Points:
    colour, (x, y) = drawn.colour(step), drawn.places[step].tolist()
    number, answer = step + 1, drawn.answers[step].text
    hover = f"glimpse {number} at {middle_x:.0f}, {middle_y:.0f} px\nthen {answer}"
    return Points(
        [x],
        [y],
        (19, 12),
        colour,
        Stroke(CASING, (1.2, 0.7)),
        texts=[str(number)],
        text_colour=choose_ink(colour),
        opacity=max(drawn.opacity(step), 0.5),
        hovers=[hover],
        name=f"{number}: {answer}",
        rank=number,
    )


def tabulate_path(drawn: GlimpsePath) -> Table:
    """Return a table with a row per glimpse and scale: its place, and the label after it."""
    rows = []
    for step, answer in enumerate(drawn.answers):
        likely = "" if answer.probability is None else answer.probability
        for scale, corners in enumerate(drawn.gaze.corners[step], 1):
            first, right, _, down = corners
            width, height = float(np.hypot(*(right - first))), float(np.hypot(*(down - first)))
            middle = corners.mean(0).tolist()
            rows.append((step + 1, scale, *middle, width, height, answer.label, likely))
    sizes = ("middle x (px)", "middle y (px)", "width (px)", "height (px)")
    return Table(("glimpse", "scale", *sizes, "label", "probability"), rows)


GLIMPSE_PATH = view_of_marks(
    "glimpses",
    "Glimpse path",
    "Where did the model look, and in what order?",
    fits_glimpses,
    find_path,
    plot_path,
    tabulate_path,
    how_to_read=(
        "Boxes show what each glimpse covered, numbered in order. Small boxes are read at"
        " full resolution, large ones at low resolution."
    ),
)


# Views of the patches that a model read at each glimpse, and of its coarse look before them.
#
# A coarse look is an overview of the whole picture with low resolution. The second view compares
# the first glimpse with and without the coarse look (survey, Fig. 14).


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


def frame_patch(gaze: Gaze, step: int, scale: int) -> Pixels:
    """Return an enlarged patch with a frame in the colour of its step: uint8 [H, W, 3]."""
    inner = shrink_to_fit(gray_to_rgb(gaze.seen[step, scale]), 120)
    height, width = inner.shape[:2]
    frame = np.empty((height + 2 * _FRAME, width + 2 * _FRAME, 3), np.uint8)
    frame[:] = split_channels(get_step_colour(step, len(gaze.seen)))
    frame[_FRAME:-_FRAME, _FRAME:-_FRAME] = inner
    return frame


def _patch_table(gaze: Gaze, steps: tuple[int, ...], answers: tuple[Answer, ...]) -> Table:
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


def _draw_first_glimpse(trace: Trace, site: str, words: str, colour: str) -> Tile:
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


GLIMPSE_PATCHES = view_of_marks(
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


# Heat map of the probability of each label after each glimpse.


def label_probabilities(trace: Trace) -> tuple[list[str], FloatArray]:
    """Return the labels that were produced or are alternatives, with their probabilities.

    Returns:
        The labels in rising order, with numbers sorted as numbers, and their probabilities, float32
        [labels, steps]. NaN means that a label is not among the alternatives of a step.
    """
    output = trace.output
    listed = []
    for label, likely, others in zip(
        trace.fields[output.field].labels,
        output.probabilities.tolist(),
        output.alternatives,
        strict=True,
    ):
        listed.append({label: likely} | dict(others))
    names = sorted(set().union(*listed), key=_rank)
    rows = [[options.get(name, np.nan) for options in listed] for name in names]
    return names, np.array(rows, dtype=np.float32)


def _rank(name: str) -> tuple[int, float, str]:
    return (0, float(name), name) if name.isdecimal() else (1, 0, name)


def label_matrix(trace: Trace, focus: Focus) -> Matrix:
    """Build the matrix of probabilities with focused steps outlined."""
    names, likely = label_probabilities(trace)
    is_glimpse = focus.site == GLIMPSES
    look = "glimpse" if is_glimpse else "step"
    return Matrix(
        title=f"Probability of each label after each {look}",
        note="a column has the likeliest labels only; cells of other labels are blank",
        caption=figure_caption(trace, focus),
        values=likely,
        rows=tuple(map(show_invisibles, names)),
        columns=tuple(str(step + 1) for step in range(likely.shape[1])),
        row_title="label",
        column_title=look,
        unit="probability",
        top=1.0,
        marked_columns=tuple(sorted(set(focus.items))) if is_glimpse else (),
    )


def _make_numbers(drawn: Matrix) -> list[Mark]:
    """Return every cell's number, unless there are too many."""
    if drawn.values.size > 160 or drawn.values.shape[1] > 16:
        return []
    x, y, texts, inks = [], [], [], []
    for (row, column), share in np.ndenumerate(drawn.values):
        if not np.isnan(share):
            x.append(column)
            y.append(row)
            texts.append(f"{share:.0%}")
            inks.append(choose_ink(colour_at(float(share))))
    return [Texts(x, y, texts, size=(SCREEN_FONT, 6.5), colours=inks)]


def plot_labels(drawn: Matrix) -> Plot:
    """Draw labels as rows and glimpses as columns, with the percentage in each cell."""
    return plot_matrix(drawn, _make_numbers(drawn))


def tabulate_labels(drawn: Matrix) -> Table:
    """Tabulate one row per label and one column per glimpse. Cells of unlisted labels are NaN."""
    rows = []
    for name, values in zip(drawn.rows, drawn.values.tolist(), strict=True):
        rows.append((name, *values))
    return Table(("label", *(f"{drawn.column_title} {step}" for step in drawn.columns)), rows)


def _fits(trace: Trace, focus: Focus) -> bool:
    """Return whether the output has one label per glimpse."""
    if not (fits_glimpses(trace, focus) or fits_transformer(trace, focus)):
        return False
    return trace.gazes[focus.site].query == trace.output.field


GLIMPSE_LABELS = view_of_marks(
    "labels",
    "Labels",
    "How did the prediction change with each glimpse?",
    _fits,
    label_matrix,
    plot_labels,
    tabulate_labels,
    how_to_read=(
        "Columns are glimpses, rows are labels. Brighter cells mean a higher probability"
        " after that glimpse."
    ),
)
