"""Definition of a view, which finds something in a trace, draws it and lists its numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from matplotlib.figure import Figure as PrintFigure
from plotly.graph_objects import Figure

from areaviz.drawing.labels import pluralise
from areaviz.drawing.marks import Plot
from areaviz.drawing.print_renderer import draw_in_print
from areaviz.drawing.screen_renderer import draw_on_screen
from areaviz.drawing.sites import get_layer_noun
from areaviz.drawing.theme import Drawing, finish_figure
from areaviz.trace.areas import AreaGrid
from areaviz.trace.old_names import old_names
from areaviz.trace.record import Gaze, Trace
from areaviz.trace.request import Focus, Request

Row = tuple[str | int | float, ...]
"""One row of a table."""
Drawn = TypeVar("Drawn")
At = Callable[[Trace, Focus], Drawn]
"""Function that takes a trace and a focus and returns the data of a figure."""
ScreenFigure = Figure
"""Plotly's figure type under a name for pages, which must not import Plotly."""


@dataclass(frozen=True, slots=True)
class Table:
    """The numbers of a figure, for CSV, for JSON, and as text next to the figure."""

    columns: tuple[str, ...]
    rows: Sequence[Row]

    def filled(self) -> Table:
        """Return the table without columns that are empty in every row."""
        kept = [k for k in range(len(self.columns)) if any(row[k] != "" for row in self.rows)]
        names = tuple(self.columns[k] for k in kept)
        return Table(names, [tuple(row[k] for k in kept) for row in self.rows])


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """A figure and table that users can download."""

    # Part of the file names, and for a view also its key in links.
    name: str
    table: At[Table]
    # Draws the figure for SVG, PDF and PNG, with matplotlib's object-oriented Figure and not with
    # pyplot.
    print: At[PrintFigure]
    # Renders an animated GIF, for figures in which time matters.
    movie: At[bytes] | None = None
    # Explains the marks of the figure in about two lines.
    how_to_read: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Animation(Drawing):
    """Pictures that a page shows one after another, each with one word of a sentence marked."""

    # Visible texts, not HTML-escaped.
    words: tuple[str, ...]
    # Data URLs of the pictures, one per word, all of equal size.
    pictures: tuple[str, ...]
    # Duration of each picture.
    milliseconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class View(Download):
    """One view of a trace: one module and one line in the registry."""

    # Title for users.
    title: str
    # The one question that the view answers.
    question: str
    # Returns whether the view has something to show for a trace and focus.
    fits: At[bool]
    # Draws the figure for the screen.
    figure: At[Figure]
    # Returns whether a page may show this view by default.
    leads: At[bool] = lambda trace, focus: True
    # Returns an animation that the page shows instead of `figure`, or None for a still view.
    played: At[Animation] | None = None


def view(
    name: str,
    title: str,
    question: str,
    fits: At[bool],
    find: At[Drawn],
    figure: Callable[[Drawn], Figure],
    table: Callable[[Drawn], Table],
    paper: Callable[[Drawn], PrintFigure],
    how_to_read: str = "",
    leads: At[bool] = lambda trace, focus: True,
) -> View:
    """Build a view whose figure, table and print use the record that `find` returns."""
    return View(
        name=name,
        title=title,
        question=question,
        fits=fits,
        figure=lambda trace, focus: figure(find(trace, focus)),
        table=lambda trace, focus: table(find(trace, focus)),
        print=lambda trace, focus: finish_figure(paper(find(trace, focus))),
        how_to_read=how_to_read,
        leads=leads,
    )


def view_of_marks(
    name: str,
    title: str,
    question: str,
    fits: At[bool],
    find: At[Drawn],
    plot: Callable[[Drawn], Plot],
    table: Callable[[Drawn], Table],
    how_to_read: str = "",
    leads: At[bool] = lambda trace, focus: True,
    print_plot: Callable[[Drawn], Plot] | None = None,
) -> View:
    """Build a view whose function `plot` returns the marks for the screen and for print.

    If the positions of the marks differ in print, `print_plot` returns the marks for print.
    """
    return view(
        name,
        title,
        question,
        fits,
        find,
        lambda drawn: draw_on_screen(plot(drawn)),
        table,
        lambda drawn: draw_in_print((print_plot or plot)(drawn)),
        how_to_read,
        leads,
    )


ALL = "all heads"
"""The phrase in a caption if no head is focused."""


def figure_caption(
    trace: Trace,
    focus: Focus,
    all_layers: bool = False,
) -> str:
    """Return one line that names the model, decoding, site, layer, head and normalisation.

    Layer and head are left out if there is only one. The line of a gaze names the model, the site,
    the numbers of steps and scales, and how places were chosen and read. A print has the line in
    the figure. A screen figure has it in `layout.meta["caption"]`, and the page shows it as text.

    Args:
        trace: the trace of the figure.
        focus: the focus of the figure.
        all_layers: whether the figure shows every layer, not only the focused one.
    """
    if focus.site not in trace.maps:
        return _describe_gaze(trace.request, trace.gazes[focus.site])
    attention = trace.maps[focus.site]
    where = [attention.site]
    if attention.layers > 1:
        noun = get_layer_noun(attention.site)
        one = f"{noun} {focus.layer + 1} of {attention.layers}"
        where.append(f"all {attention.layers} {noun}s" if all_layers else one)
    if attention.heads > 1:
        one = f"head {(focus.head or 0) + 1} of {attention.heads}"
        where.append(ALL if focus.head is None else one)
    derived = f" · derived {attention.derived}" if attention.derived else ""
    return (
        f"{describe_model(trace)} · {', '.join(where)} · {attention.normalisation},"
        f" {describe_areas(attention.grid)}{derived}{describe_changes(trace.request)}"
    )


def describe_model(trace: Trace) -> str:
    """Return the name of the model and, if it wrote a text item by item, the decoding method."""
    request = trace.request
    if "history" not in trace.fields:
        return request.model
    short = request.method if request.method == "greedy" else f"beam {request.beam}"
    return f"{request.model}, {describe_given_text(trace) or short}"


def describe_given_text(trace: Trace) -> str:
    """Return "given text" for a given output, or else the trace's note on the decoding, or ""."""
    is_given = trace.request.target is not None
    return "given text" if is_given else trace.details.get("decoding", "")


def describe_changes(request: Request) -> str:
    """Return a phrase with the number of changes to a run, or "" for an unchanged run."""
    return f" · with {pluralise(len(request.changes), 'change')}" if request.changes else ""


def describe_areas(grid: AreaGrid) -> str:
    """Return a phrase for the largest area size, in items of a text or cells of a picture."""
    is_text = grid.height == 1
    if grid.max_height == grid.max_width == 1:
        return "single items" if is_text else f"single cells of {grid.height}×{grid.width}"
    if is_text:
        return f"areas up to {grid.max_width} items"
    largest = f"{grid.max_height}×{grid.max_width}"
    return f"areas up to {largest} cells of {grid.height}×{grid.width}"


def _describe_gaze(request: Request, gaze: Gaze) -> str:
    """Return the caption of a gaze, which has steps and scales instead of layers and heads."""
    steps, scales, side, _ = gaze.seen.shape
    site, places = gaze.site, ", most probable places"
    reading = "labels: softmax over classes"
    if gaze.site == "transformer":
        site, places = "spatial transformer", ""
        reading = "bilinear sampling, zero outside the picture"
    elif request.sample:
        places = f", places drawn by seed {request.seed}"
    return (
        f"{request.model}{places} · {site}, {pluralise(steps, 'step')},"
        f" {pluralise(scales, 'scale')}"
        f" · {side}×{side} pixels each, {reading}"
    )


# The old name works at run time only. Type checkers report it, so the package does not use it.
if not TYPE_CHECKING:
    __getattr__ = old_names(__name__, {"caption": "figure_caption"})
