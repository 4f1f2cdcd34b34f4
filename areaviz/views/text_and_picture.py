"""View of the parts of text and picture that each word attends to (Arslan et al. 2018, Fig. 7)."""

from __future__ import annotations

from areaviz.draw.labels import show_invisibles, truncate
from areaviz.draw.marks import Axis, Hover, Image, Mark, Pair, Panel, Path, Plot, Stroke, Texts
from areaviz.draw.theme import ACCENT, PRINT_WIDTH, SCREEN_FONT
from areaviz.draw.view import Row, Table, view_of_marks
from areaviz.drawing.film import Stills
from areaviz.drawing.two_memories import fits_both
from areaviz.views.film import describe_brightest_cell, describe_frame
from areaviz.views.text_and_picture_panels import (
    DIM_BRIGHTNESS,
    LEAVES,
    MAX_WORD_CHARACTERS,
    READ,
    SEEN,
    WIDEST,
    WORD,
    SourceLink,
    WordPanel,
    WordPanels,
    compute_curve,
    lay_out_panels,
)

# Opacity of lines, and of source words whose share is not written.
_FAINT = 0.8
# The size of one px in inches and in points.
_INCH, _PT = 1 / 96, 72 / 96
# Width of the figure on paper, in inches.
_WIDE = PRINT_WIDTH - 0.3


def plot(drawn: WordPanels) -> Plot:
    """Return the plot for the screen, with the width 1 and heights in px."""
    return _plot(drawn, drawn.film.stills(250, DIM_BRIGHTNESS), (1, 1), is_square=False)


def print_plot(drawn: WordPanels) -> Plot:
    """Return the plot for print, with lengths in inches."""
    return _plot(drawn, drawn.film.stills(400, DIM_BRIGHTNESS), (_WIDE, _INCH), is_square=True)


def _plot(drawn: WordPanels, stills: Stills, unit: Pair, is_square: bool) -> Plot:
    """Draw one panel per word: the picture, the word, and the source words.

    Args:
        drawn: the panels.
        stills: the pictures.
        unit: length of the figure's width, and of a px, on the axes.
        is_square: whether a unit of both axes has the same length.
    """
    wide, px = unit
    marks: list[Mark] = []
    for panel in drawn.panels:
        y, right = panel.middle * px, SEEN * wide
        box = 0.0, panel.top * px, right, (panel.top + panel.height) * px
        marks.append(Image(stills.of(panel.frame), box, is_whole=True, across="right"))
        marks.append(Path([right, LEAVES * wide], [y, y], Stroke(ACCENT, (1.5, 1))))
        marks += [_draw_line(panel, tie, end, unit) for tie, end in panel.places()]
    middles = [panel.middle * px for panel in drawn.panels]
    count = len(middles)
    hovers = [_make_hover(drawn, panel) for panel in drawn.panels]
    size = 0.7 * drawn.panels[0].height
    words = Texts(
        [WORD * wide] * count,
        # In print, words are 0.03 inches above the line.
        [middle - (0.03 if is_square else 0) for middle in middles],
        [truncate(panel.frame.label, MAX_WORD_CHARACTERS) for panel in drawn.panels],
        side="top center",
        size=(SCREEN_FONT + 1, 9),
        is_bold=True,
        may_overhang=True,
    )
    marks += [Hover([0.7 * SEEN * wide] * count, middles, hovers, size), words]
    marks += [_draw_sources(drawn, unit, strong) for strong in (True, False)]
    panel_of_all = Panel(
        marks=marks,
        across=Axis(ends=(0, wide), is_seen=False),
        down=Axis(ends=(drawn.height * px, 0), is_seen=False),
        is_square=is_square,
    )
    height = drawn.height, drawn.height * _INCH
    return Plot(
        drawing=drawn,
        panels=[panel_of_all],
        height=height,
        above=10,
        below=6,
    )


def _draw_line(panel: WordPanel, tie: SourceLink, end: float, unit: Pair) -> Path:
    x, y = compute_curve(panel.middle, end)
    width = WIDEST * tie.share
    pair = f"{panel.frame.label} → {tie.label}"
    return Path(
        x * unit[0],
        y * unit[1],
        Stroke(ACCENT, (round(width, 2), _PT * width), "dot" if tie.rest else "solid", _FAINT),
        is_curve=True,
        hover=f"{pair}\n{tie.share:.1%} of the attention to the source",
    )


def _make_hover(drawn: WordPanels, panel: WordPanel) -> str:
    most = describe_brightest_cell(drawn.film, panel.frame)
    return f"{describe_frame(panel.frame)}\n{most} of the attention to the picture"


def _draw_sources(drawn: WordPanels, unit: Pair, strong: bool) -> Texts:
    """Draw the source words that have a written share, in bold, or the ones that do not.

    Args:
        drawn: the panels.
        unit: see `_plot`.
        strong: whether to draw the words with a written share.
    """
    y, texts = [], []
    for panel in drawn.panels:
        for tie, place in panel.places():
            if tie.strong == strong:
                y.append(place * unit[1])
                texts.append(tie.text)
    return Texts(
        [READ * unit[0]] * len(y),
        y,
        texts,
        side="middle right",
        is_bold=strong,
        opacity=1 if strong else _FAINT,
        may_overhang=True,
    )


def tabulate(drawn: WordPanels) -> Table:
    """Return a table of the attention of each word to all source words and picture cells."""
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


VIEW = view_of_marks(
    "both",
    "Text and picture",
    "Which source words and which part of the picture does each word look at?",
    fits_both,
    lay_out_panels,
    plot,
    tabulate,
    print_plot=print_plot,
    how_to_read=(
        "The output word is in the middle. The parts of the picture that it attends to are on"
        " the left, the words of the sentence are on the right. Brighter parts and thicker"
        " lines mean more attention."
    ),
)
