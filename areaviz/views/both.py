"""Text and picture: what each word attends to in both (Arslan et al. 2018, Fig. 7)."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure as PrintFigure
from plotly.graph_objects import Figure, Scatter

from areaviz.drawing.axes import HOVER, add_text, hover_points
from areaviz.drawing.base import Row, Table, view
from areaviz.drawing.film import Stills
from areaviz.drawing.labels import drawable, escape, show_invisibles, truncate
from areaviz.drawing.pictures import to_data_uri
from areaviz.drawing.theme import (
    ACCENT,
    PRINT_FONT,
    PRINT_WIDTH,
    SCREEN_FONT,
    print_figure,
    screen_figure,
)
from areaviz.drawing.two_memories import fits_both
from areaviz.views.both_panels import (
    CUT,
    DIM,
    LEAVES,
    READ,
    SEEN,
    WIDEST,
    WORD,
    Panel,
    Panels,
    SourceLink,
    curve,
    panels,
)
from areaviz.views.film import frame_text, most_text

# Opacity of lines, and of source words whose share is not written.
_FAINT = 0.8
# One px in inches and in points.
_INCH, _PT = 1 / 96, 72 / 96
# Width of the figure on paper, in inches.
_WIDE = PRINT_WIDTH - 0.3


def figure(drawn: Panels) -> Figure:
    """Draw one panel per word: the picture, the word, and the source words."""
    result = screen_figure(drawn, drawn.height, above=10, below=6)
    stills = drawn.film.stills(250, DIM)
    line = {"color": ACCENT, "width": 1.5}
    for panel in drawn.panels:
        result.add_layout_image(
            source=to_data_uri(stills.of(panel.frame)),
            layer="below",
            xref="x",
            yref="y",
            x=SEEN,
            y=panel.middle,
            sizex=SEEN,
            sizey=panel.height,
            xanchor="right",
            yanchor="middle",
            sizing="contain",
        )
        y = panel.middle
        result.add_shape(
            type="line",
            x0=SEEN,
            x1=LEAVES,
            y0=y,
            y1=y,
            line=line,
        )
        result.add_traces([_line(panel, tie, end) for tie, end in panel.places()])
    middles = [panel.middle for panel in drawn.panels]
    hovers = [_hover(drawn, panel) for panel in drawn.panels]
    words = [escape(truncate(panel.frame.label, CUT)) for panel in drawn.panels]
    bold = {"size": SCREEN_FONT + 1, "weight": 600}
    count = len(middles)
    result.add_traces(
        [
            hover_points([0.7 * SEEN] * count, middles, hovers, 0.7 * drawn.panels[0].height),
            add_text(
                [WORD] * count, middles, words, bold, "top center", opacity=1, cliponaxis=False
            ),
            _sources(drawn, strong=True),
            _sources(drawn, strong=False),
        ]
    )
    result.update_xaxes(visible=False, range=[0, 1])
    return result.update_yaxes(visible=False, range=[drawn.height, 0])


def _line(
    panel: Panel,
    tie: SourceLink,
    end: float,
) -> Scatter:
    x, y = curve(panel.middle, end)
    line = {
        "color": ACCENT,
        "width": round(WIDEST * tie.share, 2),
        "dash": "dot" if tie.rest else "solid",
        # By default Plotly simplifies lines, which would straighten the curves.
        "simplify": False,
    }
    pair = f"{escape(panel.frame.label)} → {escape(tie.label)}"
    text = f"{pair}<br>{tie.share:.1%} of the attention to the source"
    return Scatter(
        x=x, y=y, mode="lines", line=line, opacity=_FAINT, text=text, hovertemplate=HOVER
    )


def _hover(drawn: Panels, panel: Panel) -> str:
    most = most_text(drawn.film, panel.frame)
    word = escape(frame_text(panel.frame))
    return f"{word}<br>{escape(most)} of the attention to the picture"


def _sources(drawn: Panels, strong: bool) -> Scatter:
    """Draw the source words; those with a written share are bold."""
    y, texts = [], []
    for panel in drawn.panels:
        for tie, place in panel.places():
            if tie.strong == strong:
                y.append(place)
                texts.append(escape(tie.text))
    font = {"size": SCREEN_FONT, "weight": 600 if strong else 400}
    opacity = 1 if strong else _FAINT
    x = [READ] * len(y)
    return add_text(
        x,
        y,
        texts,
        font,
        "middle right",
        opacity=opacity,
        cliponaxis=False,
    )


def table(drawn: Panels) -> Table:
    """Tabulate what each word attends to: first all source words, then all picture cells."""
    cells = [
        (cell, show_invisibles(label)) for cell, label in enumerate(drawn.film.cells.labels, 1)
    ]
    words = [(first + 1, label) for first, label in drawn.sources]
    rows: list[Row] = []
    for panel in drawn.panels:
        own = (panel.frame.first + 1, panel.frame.label)
        for place, share in zip(words, panel.shares.tolist(), strict=True):
            rows.append((*own, "text", *place, share))
        for place, share in zip(cells, panel.frame.shares.ravel().tolist(), strict=True):
            rows.append((*own, "picture", *place, share))
    return Table(("position", "item", "looks at", "its position", "word or cell", "share"), rows)


def paper(drawn: Panels) -> PrintFigure:
    """Draw the figure for print."""
    whole = drawn.height * _INCH
    result, axes = print_figure(drawn, whole)
    stills = drawn.film.stills(400, DIM)
    for panel in drawn.panels:
        _print_panel(axes, stills, panel)
    axes.set(
        xlim=(0, _WIDE),
        ylim=(whole, 0),
        xticks=[],
        yticks=[],
        aspect="equal",
    )
    return result


def _print_panel(
    axes: Axes,
    stills: Stills,
    panel: Panel,
) -> None:
    """Draw one panel on paper; all lengths are in inches."""
    middle, right = panel.middle * _INCH, SEEN * _WIDE
    still = stills.of(panel.frame)
    height, width = still.shape[:2]
    scale = min(right / width, panel.height * _INCH / height)
    half = scale * height / 2
    extent = (right - scale * width, right, middle + half, middle - half)
    axes.imshow(still, extent=extent, interpolation="nearest")
    axes.plot([right, LEAVES * _WIDE], [middle, middle], color=ACCENT, linewidth=1)
    axes.text(
        WORD * _WIDE,
        middle - 0.03,
        drawable(truncate(panel.frame.label, CUT)),
        ha="center",
        va="bottom",
        fontsize=9,
        fontweight="bold",
    )
    for tie, end in panel.places():
        x, y = curve(panel.middle, end)
        axes.plot(
            x * _WIDE,
            y * _INCH,
            color=ACCENT,
            linewidth=_PT * WIDEST * tie.share,
            linestyle=":" if tie.rest else "-",
            alpha=_FAINT,
            solid_capstyle="butt",
        )
        axes.text(
            READ * _WIDE,
            end * _INCH,
            drawable(tie.text),
            va="center_baseline",
            fontsize=PRINT_FONT,
            fontweight="bold" if tie.strong else "normal",
        )


VIEW = view(
    "both",
    "Text and picture",
    "Which source words and which part of the picture does each word look at?",
    fits_both,
    panels,
    figure,
    table,
    paper,
    how_to_read=(
        "The output word is in the middle. The parts of the picture that it attends to are on"
        " the left, the words of the sentence are on the right. Brighter parts and thicker"
        " lines mean more attention."
    ),
)
