"""The definition of a view, views over whole words, and the export of figures and tables.

Read `View` and `view` first. Every view of a trace is made with them.
"""

from __future__ import annotations

import base64
import csv
import io
import json
import math
import re
import textwrap
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeVar, cast
from xml.etree.ElementTree import Element, fromstring

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure as PrintFigure
from matplotlib.text import Text
from PIL import Image
from plotly.graph_objects import Figure

from areaviz.draw.labels import Markup, make_element, pluralise
from areaviz.draw.marks import Plot
from areaviz.draw.matplotlib import draw_in_print
from areaviz.draw.plotly import draw_on_screen
from areaviz.draw.select import Runs, Words, get_layer_noun, group_labels, group_words
from areaviz.draw.theme import PRINT_FONT, PRINT_LETTERS, PRINT_WIDTH, Drawing, finish_figure
from areaviz.old_names import old_names
from areaviz.trace.areas import AreaGrid, FloatArray, IntArray
from areaviz.trace.errors import check_range
from areaviz.trace.query import item_shares, merge_items
from areaviz.trace.record import AttentionMap, Field, Gaze, LayeredWeights, Trace
from areaviz.trace.request import Focus, Request

# Definition of a view, which finds something in a trace, draws it and lists its numbers.


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
    """One view of a trace: one call of `view` and one line in the registry."""

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


def figure_caption(trace: Trace, focus: Focus, all_layers: bool = False) -> str:
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


# Conversion of a map over subwords to a map in which each word of a text is one item.
#
# Attention to a word is the sum over its subwords, and attention from a word is the mean over its
# subwords, as in alignment error rates (Och and Ney 2003, Ghader and Monz 2017). A view of such a
# trace shows words and needs no code for subwords.
#
# Shapes: L layers, H heads, Q queries, N items, A areas, R query words, C memory words.


JOINED_NOTE = ", joined to words"


def make_word_view(view: View, spans: bool = False) -> View:
    """Return a view that shows words if the focus has the unit "word".

    Args:
        view: a view of a trace with any items.
        spans: whether the view shows areas, each widened to the words that it touches. Otherwise it
            shows the attention that items receive.
    """

    def at(draw: Callable[[Trace, Focus], Any]) -> Callable[[Trace, Focus], Any]:
        return lambda trace, focus: draw(*convert_to_words(trace, focus, spans))

    return replace(
        view, fits=at(view.fits), figure=at(view.figure), table=at(view.table), print=at(view.print)
    )


def convert_to_words(trace: Trace, focus: Focus, spans: bool = False) -> tuple[Trace, Focus]:
    """Return the focused map over words, and the focus in that map.

    Both are returned unchanged if the focus is not on words.

    Args:
        trace: a trace of any kind. Fields that are not texts keep their items.
        focus: a focus on a map.
        spans: whether areas stay areas. Otherwise weights become shares of words.
    """
    attention = trace.maps.get(focus.site)
    if attention is None or focus.unit != "word":
        return trace, focus
    query, memory = trace.fields[attention.query], trace.fields[attention.memory]
    rows, columns = group_words(query, "word"), group_words(memory, "word")
    if len(rows) == len(query) and len(columns) == len(memory):
        return trace, focus
    make = _make_word_spans if spans and attention.grid.height == 1 else _make_word_shares
    grid, fetch = make(attention, rows, columns)
    shape = attention.layers, attention.heads, len(rows), grid.count
    worded = replace(
        attention,
        grid=grid,
        weights=cast(FloatArray, LayeredWeights(shape, fetch)),
        normalisation=attention.normalisation + JOINED_NOTE,
        chosen=None,
        strength=None,
    )
    fields = {query.name: _join_field(query, rows), memory.name: _join_field(memory, columns)}
    runs, chosen = rows if focus.side == "query" else columns, set(focus.items)
    items = tuple(n for n, run in enumerate(runs) if not chosen.isdisjoint(range(*run)))
    found = replace(trace, fields={**trace.fields, **fields}, maps={focus.site: worded})
    return found, replace(focus, items=items)


def _join_field(field: Field, runs: Runs) -> Field:
    """Return a text with one item per word, or another field unchanged."""
    if field.kind != "text":
        return field
    anchors = [(field.anchors[first, 0], field.anchors[last - 1, 1]) for first, last in runs]
    labels = group_labels(field, runs)
    return Words(field.name, field.kind, field.raw, labels, np.array(anchors, np.int64))


Fetch = Callable[[int], FloatArray]


def _make_word_shares(attention: AttentionMap, rows: Runs, columns: Runs) -> tuple[AreaGrid, Fetch]:
    """Return a grid of single words, and a function that returns their shares in a layer.

    The share of a word is the sum over its items.
    """
    grid = AreaGrid(1, len(columns), 1, 1)
    if attention.grid.height > 1:
        grid = replace(attention.grid, max_height=1, max_width=1)
    return grid, partial(_compute_layer_shares, attention, rows, columns)


def _compute_layer_shares(
    attention: AttentionMap, rows: Runs, columns: Runs, layer: int
) -> FloatArray:
    heads = [item_shares(attention, layer, head) for head in range(attention.heads)]
    return np.stack([merge_items(shares_QN, rows, columns) for shares_QN in heads])


def _make_word_spans(attention: AttentionMap, rows: Runs, columns: Runs) -> tuple[AreaGrid, Fetch]:
    """Widen areas to whole words, and add the weights of areas that become equal.

    Returns:
        The grid of areas of words, and a function that returns the weights of a layer.
    """
    word_N = np.repeat(np.arange(len(columns)), [last - first for first, last in columns])
    _, left_A, _, width_A = attention.grid.table().T
    first_A, last_A = word_N[left_A], word_N[left_A + width_A - 1]
    grid = AreaGrid(1, len(columns), 1, int((last_A - first_A).max()) + 1)
    begins_S = np.array([grid.slab(1, width)[0] for width in range(1, grid.max_width + 1)])
    return grid, partial(
        _compute_layer_spans, attention, rows, begins_S[last_A - first_A] + first_A, grid
    )


def _compute_layer_spans(
    attention: AttentionMap, rows: Runs, place_A: IntArray, grid: AreaGrid, layer: int
) -> FloatArray:
    order_A = np.argsort(place_A, kind="stable")
    places, begins = np.unique(place_A[order_A], return_index=True)
    found = np.zeros((attention.heads, len(rows), grid.count), np.float32)
    for head in range(attention.heads):
        weights_QA = attention.weights[layer, head][:, order_A]
        found[head][:, places] = merge_items(np.add.reduceat(weights_QA, begins, axis=1), rows)
    return found


# Conversion of figures and tables to files, in memory.


EXPORT_FORMATS = ("svg", "pdf", "png")
_ACTIVE = r"=+\-@\t\r＝＋－＠"
"""Characters that start a formula in spreadsheets, including their East Asian full-width forms."""
_BEGINNING = r"(^|[;\t\r\n])"
"""Start of a cell. Some programs also split cells at semicolons or tabs and ignore quotes."""
_RUN = re.compile(rf"""{_BEGINNING}(?='|[ "]*[{_ACTIVE}])""")
_HELD = re.compile(rf"{_BEGINNING}'")


WIDTHS = {"A column": 3.35, "A page": PRINT_WIDTH, "A slide": 12.0}
"""Widths offered for figures, in inches."""
LETTERS = (6.0, PRINT_FONT, 9.0, 12.0, 18.0)
"""Font sizes offered for the labels of a figure, in points."""


@dataclass(frozen=True, slots=True)
class Paper:
    """Size of a figure in print.

    Args:
        width: in inches, 2 to 20.
        letters: font size of labels in points, 4 to 40. Titles scale with it.
    """

    width: float = PRINT_WIDTH
    letters: float = PRINT_FONT

    def checked(self) -> Paper:
        """Return this paper if its values are valid.

        Raises:
            InputError: a value is outside its range.
        """
        check_range("width", self.width, (2, 20))
        check_range("letters", self.letters, (4, 40))
        return self


def resize_for_paper(figure: PrintFigure, paper: Paper) -> PrintFigure:
    """Change a figure to the width and font size of a paper.

    The title, note and caption, which are the first three texts of the figure, are wrapped again.
    The height of the plot grows by the factor of the width or of the font size, whichever is
    larger.
    """
    if paper == Paper():
        return figure
    wider, larger = paper.width / PRINT_WIDTH, paper.letters / PRINT_FONT
    engine = figure.get_layout_engine()
    _, _, _, share = engine.get()["rect"]  # type: ignore[union-attr]
    plot = share * figure.get_figheight() * max(wider, larger)
    for text in figure.findobj(Text):
        text.set_fontsize(float(text.get_fontsize()) * larger)
    title, note, caption = figure.texts[:3]
    lines = []
    for text, letters in zip((title, note, caption), PRINT_LETTERS, strict=True):
        whole_line = " ".join(text.get_text().split())
        wrapped = textwrap.wrap(whole_line, max(10, int(letters * wider / larger)))
        text.set_text("\n".join(wrapped))
        lines.append(len(wrapped))
    head = larger * (0.13 + 0.15 * lines[0] + 0.17 * lines[1])
    foot = larger * (0.07 + 0.12 * lines[2])
    whole = plot + head + foot
    figure.set_size_inches(paper.width, whole)
    engine.set(rect=(0, foot / whole, 1, plot / whole))  # type: ignore[union-attr, call-arg]
    title.set_y(1 - 0.07 * larger / whole)
    note.set_y(1 - (head - 0.03 * larger) / whole)
    caption.set_y(0.06 * larger / whole)
    return figure


def encode_figure(figure: PrintFigure, kind: str, paper: Paper | None = None) -> bytes:
    """Write a print figure as an SVG, PDF or PNG file (300 dpi, white background).

    Args:
        figure: the figure.
        kind: one of `EXPORT_FORMATS`.
        paper: size of the figure. None keeps its size.

    Raises:
        ValueError: `kind` is not in `EXPORT_FORMATS`.
    """
    if kind not in EXPORT_FORMATS:
        raise ValueError(
            f"A figure cannot be written as {kind!r}. Choose one of {', '.join(EXPORT_FORMATS)}."
        )
    if paper is not None:
        resize_for_paper(figure, paper)
    # Leave out dates and random ids, so that two files of one figure are equal.
    dateless = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}[kind]
    buffer = io.BytesIO()
    with rc_context({"svg.hashsalt": "areaviz"}):
        figure.savefig(buffer, format=kind, dpi=300, facecolor="white", metadata=dateless)
    return buffer.getvalue()


def format_csv(table: Table) -> str:
    """Write a table as CSV with a header line. A missing number is an empty cell.

    A spreadsheet would run a text as a formula if it starts with = + - @, a tab or a carriage
    return. Such a text gets an apostrophe in front. A part of a text after a semicolon, a tab or a
    line break is treated like a whole text. A text or part that starts with an apostrophe gets a
    second one. `unescape_cell` removes the added apostrophes.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(map(escape_cell, table.columns))
    writer.writerows([_format_cell(value) for value in row] for row in table.rows)
    return buffer.getvalue()


def encode_csv(table: Table) -> bytes:
    """Write a table as a CSV file with a byte order mark, so that Excel also reads it as UTF-8."""
    return format_csv(table).encode("utf-8-sig")


def escape_cell(text: str) -> str:
    """Escape a text so that no spreadsheet runs it as a formula, see `format_csv`."""
    return _RUN.sub(r"\1'", text)


def unescape_cell(text: str) -> str:
    """Return the original text for a result of `escape_cell`."""
    return _HELD.sub(r"\1", text)


def format_json(table: Table) -> str:
    """Write a table as a JSON object with "columns" and "rows". A missing number is null."""
    rows = [[None if _is_missing(value) else value for value in row] for row in table.rows]
    return json.dumps({"columns": table.columns, "rows": rows}, ensure_ascii=False, allow_nan=False)


def _format_cell(value: str | int | float) -> str | int | float:
    if isinstance(value, str):
        return escape_cell(value)
    return "" if _is_missing(value) else value


def _is_missing(value: str | int | float) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


# Conversion of a print figure to inline SVG that any content security policy allows.
#
# The policy of a website may forbid scripts, style attributes and data URLs. It cannot forbid
# elements of the page. Every style therefore becomes a presentation attribute, and a picture
# becomes a mosaic of coloured paths.


MOSAIC_CELLS, MOSAIC_COLOURS = 64, 48
"""Cells along the longer side of a picture, and its number of colours."""
MOSAIC_DPI = 72
"""Resolution of pictures in dots per inch. A mosaic has fewer cells per inch than this."""
# Elements that are removed. Clip paths need references "url(#...)", which the pages do not allow,
# and they are not needed, because all marks are inside their axes.
_LEFT_OUT = ("metadata", "style", "clipPath")
_KEPT = (
    *("d", "x", "y", "width", "height", "transform", "href", "id", "viewBox", "role"),
    *("fill", "fill-rule", "stroke", "stroke-width", "stroke-linejoin", "stroke-linecap"),
    *("stroke-dasharray", "stroke-dashoffset", "stroke-opacity", "fill-opacity", "opacity"),
    *("shape-rendering", "aria-label", "font-size", "font-weight", "font-style", "font-family"),
)
_FONTS = "DejaVu Sans, Verdana, sans-serif"
"""Font of the figure, and a fallback of nearly equal width."""


def convert_to_inline_svg(figure: PrintFigure, alt: str) -> Markup:
    """Return a print figure as an `svg` element without styles and external URLs.

    Args:
        figure: the figure.
        alt: description for screen readers.
    """
    root = fromstring(_render_svg(figure))
    # matplotlib's style sheet sets these two properties for every line.
    root.attrib |= {"stroke-linejoin": "round", "stroke-linecap": "butt"}
    root.attrib |= {"role": "img", "aria-label": alt}
    return _convert_node(root)


def _render_svg(figure: PrintFigure) -> bytes:
    """Return a figure as SVG with text elements. It is smaller and faster than `encode_figure`.

    The layout engine is run and then removed. With an engine, `savefig` would draw the figure
    twice.
    """
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
        figure.set_layout_engine(None)
    buffer = BytesIO()
    with rc_context({"svg.hashsalt": "areaviz", "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", dpi=MOSAIC_DPI, facecolor="white")
    return buffer.getvalue()


def _convert_node(node: Element) -> Markup:
    name = _get_local_name(node.tag)
    if name in _LEFT_OUT:
        return Markup()
    attributes = {_get_local_name(key): value for key, value in node.attrib.items()}
    if name == "image":
        return _convert_image(attributes)
    for style in attributes.pop("style", "").split(";"):
        key, _, value = style.partition(":")
        attributes[key.strip()] = value.strip()
    if name == "text":
        attributes["font-family"] = _FONTS
    # Ids of figures, axes and patches are not referenced, and would repeat between figures.
    if name not in ("path", "symbol"):
        attributes.pop("id", None)
    kept = {key: " ".join(attributes[key].split()) for key in _KEPT if key in attributes}
    text = node.text if name == "text" and node.text else ""
    return make_element(name, text, *map(_convert_node, node), **kept)


def _get_local_name(name: str) -> str:
    """Return a name without its namespace. In HTML, the `svg` element implies the namespace."""
    return name.rpartition("}")[2]


def _convert_image(image: dict[str, str]) -> Markup:
    """Return one path per colour in place of a picture's `image` element."""
    data = base64.b64decode(image["href"].partition(",")[2])
    picture = Image.open(BytesIO(data)).convert("RGBA")
    white = Image.new("RGBA", picture.size, "white")
    picture = Image.alpha_composite(white, picture).convert("RGB")
    picture.thumbnail((MOSAIC_CELLS, MOSAIC_CELLS))
    few = picture.quantize(MOSAIC_COLOURS)
    columns, rows = few.size
    colours = few.getpalette() or []
    indices = few.tobytes()
    runs = defaultdict[int, list[str]](list)
    for row in range(rows):
        column = 0
        for colour, cells in groupby(indices[row * columns : (row + 1) * columns]):
            length = len(list(cells))
            runs[colour].append(f"M{column} {row}h{length}v1h-{length}z")
            column += length
    paths = []
    for colour, found in runs.items():
        red, green, blue = colours[3 * colour : 3 * colour + 3]
        paths.append(
            make_element("path", d="".join(found), fill=f"#{red:02x}{green:02x}{blue:02x}")
        )
    wide, high = float(image["width"]) / columns, float(image["height"]) / rows
    place = f"translate({image.get('x', '0')} {image.get('y', '0')}) scale({wide:.6g} {high:.6g})"
    cells_drawn = make_element("g", *paths, transform=place, shape_rendering="crispEdges")
    return make_element("g", cells_drawn, transform=image.get("transform", "translate(0 0)"))
