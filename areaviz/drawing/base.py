"""What a view is: it finds something in a trace, draws it for screen and paper, and lists it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from matplotlib.figure import Figure as PrintFigure
from plotly.graph_objects import Figure

from areaviz.drawing.labels import counted
from areaviz.drawing.sites import layer_noun
from areaviz.drawing.theme import Drawing, finish
from areaviz.trace.areas import AreaGrid
from areaviz.trace.record import Gaze, Trace
from areaviz.trace.request import Focus, Request

Row = tuple[str | int | float, ...]
"""One line of a table."""
Drawn = TypeVar("Drawn")
At = Callable[[Trace, Focus], Drawn]
"""What is worked out from a trace at a focus."""
ScreenFigure = Figure
"""A figure that a page draws: the pages' name for it, which know no plotly."""


@dataclass(frozen=True, slots=True)
class Table:
    """The numbers of a figure: for CSV, for JSON, and as text beside the picture."""

    columns: tuple[str, ...]
    rows: Sequence[Row]

    def filled(self) -> Table:
        """The table without the columns that have nothing in any row."""
        kept = [k for k in range(len(self.columns)) if any(row[k] != "" for row in self.rows)]
        names = tuple(self.columns[k] for k in kept)
        return Table(names, [tuple(row[k] for k in kept) for row in self.rows])


@dataclass(frozen=True, slots=True, kw_only=True)
class Takeaway:
    """What can be taken away as files."""

    # Part of the file names, and of a view its key in links.
    name: str
    table: At[Table]
    # By matplotlib's object-oriented Figure (never pyplot), for SVG, PDF and PNG.
    print: At[PrintFigure]
    # An animated GIF, where time is part of the picture.
    movie: At[bytes] | None = None
    # What the marks of the picture mean, in two lines of text.
    how_to_read: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Played(Drawing):
    """Pictures that the page shows one after another, each with one word of a sentence marked."""

    # Visible texts, markup unescaped.
    words: tuple[str, ...]
    # As data addresses: one for each word, all of one size.
    pictures: tuple[str, ...]
    # How long each picture stays.
    milliseconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class View(Takeaway):
    """One way of looking at a trace: one file, one line in the registry."""

    # For people.
    title: str
    # The one question it answers.
    question: str
    # Whether it has something to show for this trace and focus.
    fits: At[bool]
    # For the screen.
    figure: At[Figure]
    # Whether a page may open with it, where nobody has chosen a view yet.
    leads: At[bool] = lambda trace, focus: True
    # Of a view that is played: what the page shows in place of `figure`.
    played: At[Played] | None = None


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
    """A view whose figure, table and print are made of one record, which `find` works out."""
    return View(
        name=name,
        title=title,
        question=question,
        fits=fits,
        figure=lambda trace, focus: figure(find(trace, focus)),
        table=lambda trace, focus: table(find(trace, focus)),
        print=lambda trace, focus: finish(paper(find(trace, focus))),
        how_to_read=how_to_read,
        leads=leads,
    )


ALL = "all heads"
"""A caption's words for a focus on no head."""


def caption(
    trace: Trace,
    focus: Focus,
    all_layers: bool = False,
) -> str:
    """One line under every figure: model, decoding, site, layer, head and normalisation.

    Of the only layer, or the only head, nothing is said.

    Of a gaze: model, site, steps, scales, and how places were chosen and read. A print carries the
    line itself; a screen figure has it in `layout.meta["caption"]`, and the page sets it as text.

    Args:
        all_layers: the figure shows every layer, not the focused one.
    """
    if focus.site not in trace.maps:
        return _gaze_caption(trace.request, trace.gazes[focus.site])
    attention = trace.maps[focus.site]
    where = [attention.site]
    if attention.layers > 1:
        noun = layer_noun(attention.site)
        one = f"{noun} {focus.layer + 1} of {attention.layers}"
        where.append(f"all {attention.layers} {noun}s" if all_layers else one)
    if attention.heads > 1:
        one = f"head {(focus.head or 0) + 1} of {attention.heads}"
        where.append(ALL if focus.head is None else one)
    derived = f" · derived {attention.derived}" if attention.derived else ""
    return (
        f"{model_words(trace)} · {', '.join(where)} · {attention.normalisation},"
        f" {areas_words(attention.grid)}{derived}{changes_words(trace.request)}"
    )


def model_words(trace: Trace) -> str:
    """The model and, where it wrote a text item by item, how it chose the items."""
    request = trace.request
    if "history" not in trace.fields:
        return request.model
    short = request.method if request.method == "greedy" else f"beam {request.beam}"
    return f"{request.model}, {given_words(trace) or short}"


def given_words(trace: Trace) -> str:
    """That an output was given, in words; "" where it was written."""
    is_given = trace.request.target is not None
    return "given text" if is_given else trace.details.get("decoding", "")


def changes_words(request: Request) -> str:
    """How many changes a run had, so that nobody takes its figures for those of another."""
    return f" · with {counted(len(request.changes), 'change')}" if request.changes else ""


def areas_words(grid: AreaGrid) -> str:
    """The largest area: of a text in items, of a picture in rows and columns of cells."""
    is_text = grid.height == 1
    if grid.max_height == grid.max_width == 1:
        return "single items" if is_text else f"single cells of {grid.height}×{grid.width}"
    if is_text:
        return f"areas up to {grid.max_width} items"
    largest = f"{grid.max_height}×{grid.max_width}"
    return f"areas up to {largest} cells of {grid.height}×{grid.width}"


def _gaze_caption(request: Request, gaze: Gaze) -> str:
    """A gaze has no layers, heads and areas, but steps, scales and pixels."""
    steps, scales, side, _ = gaze.seen.shape
    site, places = gaze.site, ", most probable places"
    reading = "labels: softmax over classes"
    if gaze.site == "transformer":
        site, places = "spatial transformer", ""
        reading = "bilinear sampling, zero outside the picture"
    elif request.sample:
        places = f", places drawn by seed {request.seed}"
    return (
        f"{request.model}{places} · {site}, {counted(steps, 'step')}, {counted(scales, 'scale')}"
        f" · {side}×{side} pixels each, {reading}"
    )
