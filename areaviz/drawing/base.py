"""What a view is: a pure function from (trace, focus) to a figure, the same numbers as a table, and
a print version.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure as PrintFigure
from plotly.graph_objects import Figure

from areaviz.trace.areas import AreaGrid
from areaviz.trace.record import Gaze, Trace
from areaviz.trace.request import Focus, Request


@dataclass(frozen=True, slots=True)
class Table:
    """The numbers a figure shows: what CSV, JSON and the text version beside every picture are made
    of.
    """

    columns: tuple[str, ...]
    rows: Sequence[tuple[str | int | float, ...]]


@dataclass(frozen=True, slots=True)
class Takeaway:
    """What can be taken away as files: numbers, and a picture for print.

    name: part of the file names. table: the numbers. print: the picture, by matplotlib's
    object-oriented Figure (never pyplot), for SVG, PDF and PNG. movie: the same as an animated GIF,
    where time is part of it.
    """

    name: str
    table: Callable[[Trace, Focus], Table]
    print: Callable[[Trace, Focus], PrintFigure]
    movie: Callable[[Trace, Focus], bytes] | None = None


@dataclass(frozen=True, slots=True)
class Played:
    """Pictures that a screen shows one after another, each while one word of a sentence is marked.

    title, note, caption: as of a figure. words: visible texts, markup unescaped. pictures: one for
    each word, all of one size, as data addresses. milliseconds: how long each of them stays.
    """

    title: str
    note: str
    caption: str
    words: tuple[str, ...]
    pictures: tuple[str, ...]
    milliseconds: int


@dataclass(frozen=True, slots=True)
class View:
    """One way of looking at a trace. One file and one registry line each.

    name: its key in links. title: for people. question: the one question it answers. fits: whether
    it has something to show for this trace and focus. figure, table: for the screen. print: the
    same as `figure` for print; movie: see `Takeaway`. played: of a view that is played, what a page
    shows in the place of `figure`, which then is all of it standing still.
    """

    name: str
    title: str
    question: str
    fits: Callable[[Trace, Focus], bool]
    figure: Callable[[Trace, Focus], Figure]
    table: Callable[[Trace, Focus], Table]
    print: Callable[[Trace, Focus], PrintFigure]
    movie: Callable[[Trace, Focus], bytes] | None = None
    played: Callable[[Trace, Focus], Played] | None = None

    @property
    def takeaway(self) -> Takeaway:
        """The part of the view that becomes files."""
        return Takeaway(self.name, self.table, self.print, self.movie)


def caption(trace: Trace, focus: Focus, all_layers: bool = False) -> str:
    """One line that names model, decoding, site, layer, head and normalisation: stands under every
    figure.

    Where the site is a gaze: model, site, steps, scales, and how places were chosen and read.
    all_layers: the figure shows every layer, not the focused one. The printed figure carries the
    line itself; the figure for the screen has it in `layout.meta["caption"]`, and the page sets it
    as text below.
    """
    if focus.site not in trace.maps:
        return _gaze_caption(trace, trace.gazes[focus.site])
    attention = trace.maps[focus.site]
    head = "all heads" if focus.head is None else f"head {focus.head + 1} of {attention.heads}"
    one_layer = f"layer {focus.layer + 1} of {attention.layers}"
    layer = f"all {attention.layers} layers" if all_layers and attention.layers > 1 else one_layer
    derived = f" · derived {attention.derived}" if attention.derived else ""
    return (
        f"{model_words(trace)} · {attention.site}, {layer}, {head} · {attention.normalisation},"
        f" areas up to {_extent(attention.grid)}{derived}{changes_words(trace.request)}"
    )


def model_words(trace: Trace) -> str:
    """The model and, where it wrote a text item by item, how it chose them."""
    request = trace.request
    decoding = request.method if request.method == "greedy" else f"beam {request.beam}"
    chosen = trace.details.get("decoding", decoding)
    return f"{request.model}, {chosen}" if "history" in trace.fields else request.model


def changes_words(request: Request) -> str:
    """That a run was changed, for captions: so that no picture of it is taken for one
    that was not.
    """
    count = len(request.changes)
    return f" · with {count} change{'s' * (count > 1)}" if count else ""


def _extent(grid: AreaGrid) -> str:
    """The largest area: of a text in items, of a picture in rows and columns of cells."""
    if grid.height == 1:
        return f"{grid.max_width} item{'s' * (grid.max_width > 1)}"
    return f"{grid.max_height}×{grid.max_width} cells of {grid.height}×{grid.width}"


def _gaze_caption(trace: Trace, gaze: Gaze) -> str:
    """The same of places that were read: there are no layers, heads and areas, but steps, scales
    and pixels.
    """
    request, (steps, scales, side, _) = trace.request, gaze.seen.shape
    if gaze.site == "transformer":
        site, places, reading = (
            "spatial transformer",
            "",
            "bilinear sampling, zero outside the picture",
        )
    else:
        places = (
            f", places drawn by seed {request.seed}" if request.sample else ", most probable places"
        )
        site, reading = gaze.site, "labels: softmax over classes"
    many = [
        f"{count} {name}{'s' * (count > 1)}" for count, name in ((steps, "step"), (scales, "scale"))
    ]
    return (
        f"{request.model}{places} · {site}, {', '.join(many)} · {side}×{side} pixels each,"
        f" {reading}"
    )
