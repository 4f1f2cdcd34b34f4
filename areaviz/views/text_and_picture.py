"""Two views of a translation with a picture: the attention of words, and the balance.

What both views share comes first, then the layout of the panels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from areaviz.draw.labels import Ticks, pluralise, show_invisibles, truncate
from areaviz.draw.marks import (
    Axis,
    Bars,
    Hover,
    Image,
    Key,
    Mark,
    Pair,
    Panel,
    Path,
    Plot,
    Points,
    Rule,
    Stroke,
    Texts,
)
from areaviz.draw.pictures import CASING
from areaviz.draw.select import (
    fits_map,
    fits_text,
    group_items,
    group_labels,
    group_words,
    name_field,
    select,
)
from areaviz.draw.theme import (
    ACCENT,
    EDGE,
    PRINT_WIDTH,
    SCREEN_FONT,
    SECOND,
    STEPS,
    Drawing,
    ease_in_out,
)
from areaviz.draw.view import Row, Table, figure_caption, view_of_marks
from areaviz.trace import query
from areaviz.trace.areas import FloatArray
from areaviz.trace.query import merge_items
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.views.film.film import (
    Film,
    Frame,
    Stills,
    describe_brightest_cell,
    describe_frame,
    find_film,
    fits_film,
    name_unit,
)

# Functions that views of a translation with a picture share. It attends to text and picture.
#
# Shapes: H heads, Q queries.


TEXT, PICTURE = "encoder-decoder", "encoder-decoder picture"
"""The two sites whose context vectors are added (Arslan et al. 2018, Eq. 5)."""


def move_focus(focus: Focus, site: str) -> Focus:
    """Return a focus on another site with its queries. Focused memory items are dropped."""
    return replace(
        focus, site=site, side="query", items=focus.items if focus.side == "query" else ()
    )


def fits_both(trace: Trace, focus: Focus) -> bool:
    """Return whether the focus is on one of the sites, and words attend to text and picture."""
    return (
        focus.site in (TEXT, PICTURE)
        and fits_map(trace, focus)
        and fits_text(trace, move_focus(focus, TEXT))
        and fits_film(trace, move_focus(focus, PICTURE))
        and trace.maps[TEXT].query == trace.maps[PICTURE].query
    )


def fits_strengths(trace: Trace, focus: Focus) -> bool:
    """Return whether `fits_both` is true and the trace has the lengths of both context vectors."""
    if not fits_both(trace, focus):
        return False
    text, picture = trace.maps[TEXT].strength, trace.maps[PICTURE].strength
    return text is not None and picture is not None and text.shape == picture.shape


def compute_text_shares(trace: Trace, layer: int) -> FloatArray:
    """Return the text's share of the lengths of both context vectors: float32 [H, Q], 0..1.

    The share is NaN if both lengths are 0.
    """
    text, picture = trace.maps[TEXT].strength, trace.maps[PICTURE].strength
    assert text is not None and picture is not None
    text_HQ = text[layer]
    total_HQ = text_HQ + picture[layer]
    shares_HQ: FloatArray = np.full_like(total_HQ, np.nan)
    np.divide(text_HQ, total_HQ, out=shares_HQ, where=total_HQ > 0)
    return shares_HQ


def describe_both_sites(trace: Trace, focus: Focus) -> str:
    """Return one line that names the model, the decoding, and layer and head of both sites."""
    text, picture = (figure_caption(trace, move_focus(focus, site)) for site in (TEXT, PICTURE))
    return f"{text} · {picture.partition(' · ')[2]}"


# Layout of the view "Text and picture": one panel per word.
#
# From left to right, a panel shows the picture dimmed by the word's attention, the word on a line
# from the picture, and lines from the word to the source words. Shapes: R runs of target items, S
# runs of source items.


MAX_PANELS, MAX_SOURCE_WORDS = 6, 12
"""Maximum number of words, and maximum number of source words per word."""
DIM_BRIGHTNESS = 0.4
"""Brightness without attention.

It is higher than in the film strip, because the undimmed picture is not shown next to it.
"""

SEEN, LEAVES, READ = 0.32, 0.55, 0.7
"""Positions as shares of the width: right edge of the picture, start of the lines, left edge of
the source words."""
WORD = (SEEN + LEAVES) / 2
WIDEST = 14.0
"""Width in px of a line that carries all of the attention."""
# Distance between source words in px.
_LINE = 14.0
MAX_WORD_CHARACTERS = 14
"""Maximum number of characters of a word. More would not fit on half a page."""


@dataclass(frozen=True, slots=True)
class SourceLink:
    """A source word that a word attends to, or the weaker source words as one link."""

    # First item, 0-based.
    first: int
    label: str
    # Share of the attention to the source, summed over the merged words.
    share: float
    # Whether the word is bold, with its share next to it.
    strong: bool
    # Whether this is the merged rest: the weaker words of a long sentence.
    rest: bool = False

    @property
    def text(self) -> str:
        """The label, shortened if needed, with the share of a bold word or of the merged rest."""
        label = truncate(self.label, 15)
        return f"{label} {self.share:.0%}" if self.strong or self.rest else label


@dataclass(frozen=True, slots=True, eq=False)
class WordPanel:
    """One target word and the position of its panel. All lengths are in px."""

    frame: Frame
    # Source words in the order of the source, the merged rest last.
    ties: Sequence[SourceLink]
    # Share of every source word: float32 [S].
    shares: FloatArray
    top: float
    # Height of the picture and of the source words.
    height: float

    @property
    def middle(self) -> float:
        """Vertical centre of the picture and of the word."""
        return self.top + self.height / 2

    def places(self) -> Iterator[tuple[SourceLink, float]]:
        """Yield every source word with its vertical position."""
        y = self.middle - (len(self.ties) - 1) * _LINE / 2
        for number, tie in enumerate(self.ties):
            yield tie, y + number * _LINE


@dataclass(frozen=True, slots=True, eq=False)
class WordPanels(Drawing):
    """All panels of the figure."""

    film: Film
    panels: Sequence[WordPanel]
    # First item and label of every source word.
    sources: Sequence[tuple[int, str]]

    @property
    def height(self) -> float:
        """Lower edge of the last panel."""
        return self.panels[-1].top + self.panels[-1].height


def lay_out_panels(trace: Trace, focus: Focus) -> WordPanels:
    """Lay out panels for the focused words, or for the first words that are long enough.

    With `focus.unit` "word", items are merged into words.
    """
    chosen, drawn = (
        select(trace, move_focus(focus, TEXT)),
        find_film(trace, move_focus(focus, PICTURE)),
    )
    marked = [frame for frame in drawn.frames if frame.marked]
    frames = choose_frames(marked or drawn.frames, chosen.focused)
    targets = group_items(chosen.query, focus.unit)
    sources = group_words(chosen.memory, focus.unit)
    shares_QN = query.item_shares(chosen.attention, chosen.layer, chosen.head)
    shares_RS = query.merge_items(shares_QN, targets, sources)
    row_of = {start: row for row, (start, _) in enumerate(targets)}
    labels = group_labels(chosen.memory, sources)
    named = list(zip([start for start, _ in sources], labels, strict=True))
    # With few panels, each picture can be larger.
    height = {1: 220.0, 2: 170.0, 3: 140.0}.get(len(frames), 112.0)
    height = max(height, _LINE * min(len(named), MAX_SOURCE_WORDS))
    found = []
    for number, frame in enumerate(frames):
        shares_S = shares_RS[row_of[frame.first]]
        top = number * (height + 16.0)
        found.append(WordPanel(frame, make_source_links(shares_S, named), shares_S, top, height))
    unit = name_unit(chosen.query, focus.unit)
    note = "brightness: attention to the picture; lines: to the source, full width at 100%"
    missing = len(marked or drawn.frames) - len(frames)
    if missing:
        note += f"; {pluralise(missing, unit)} left out"
        note += "" if chosen.focused else ", short ones first"
    name = f"{name_field(chosen.query)} {unit}"
    return WordPanels(
        title=f"What each {name} looks at in the text and in the picture, {chosen.head_words}",
        note=note,
        caption=(
            f"{describe_both_sites(trace, focus)} · brightness: {DIM_BRIGHTNESS:.0%} without"
            f" attention, full in each {unit}'s own largest cell"
        ),
        film=drawn,
        panels=found,
        sources=named,
    )


def choose_frames(frames: Sequence[Frame], focused: bool) -> Sequence[Frame]:
    """Choose at most `MAX_PANELS` words to draw.

    They are the first focused words. Without focused words, words with letters are preferred, and
    among them words of at least four characters.
    """
    if focused:
        return frames[:MAX_PANELS]
    spoken = [frame for frame in frames if any(map(str.isalnum, frame.label))] or frames
    # Words of up to three letters are mostly articles and prepositions.
    first = sorted(spoken, key=lambda frame: len(frame.label) < 4)[:MAX_PANELS]
    return sorted(first, key=lambda frame: frame.first)


def make_source_links(shares_S: FloatArray, named: Sequence[tuple[int, str]]) -> list[SourceLink]:
    """Return one link per source word of a short sentence.

    For a longer sentence, return links to the strongest words and one link to all remaining words.
    """
    kept = len(named) if len(named) <= MAX_SOURCE_WORDS else MAX_SOURCE_WORDS - 1
    strongest = np.argsort(-shares_S, kind="stable")[:kept]
    top = float(shares_S.max(initial=0))
    found = []
    for number in sorted(strongest.tolist()):
        first, label = named[number]
        share = float(shares_S[number])
        # Write shares of at least 10 % next to the word, and the largest share in any case.
        found.append(SourceLink(first, label, share, share >= min(top, 0.1) > 0))
    if kept < len(named):
        left = 1 - sum(tie.share for tie in found) if top else 0.0
        others = f"{len(named) - kept} others"
        found.append(SourceLink(len(named), others, max(left, 0.0), strong=False, rest=True))
    return found


def compute_curve(start: float, end: float) -> tuple[FloatArray, FloatArray]:
    """Return the curve from a word at height `start` to a source word at height `end`.

    Returns:
        x as shares of the width, and y in px.
    """
    x = LEAVES + (0.69 - LEAVES) * STEPS
    return x.astype(np.float32), ease_in_out(start, end)


# View of the parts of text and picture that each word attends to (Arslan et al. 2018, Fig. 7).


# Opacity of lines, and of source words whose share is not written.
_FAINT = 0.8
# The size of one px in inches and in points.
_INCH, _PT = 1 / 96, 72 / 96
# Width of the figure on paper, in inches.
_WIDE = PRINT_WIDTH - 0.3


def plot_text_and_picture(drawn: WordPanels) -> Plot:
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
    return Plot(drawing=drawn, panels=[panel_of_all], height=height, above=10, below=6)


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


def tabulate_text_and_picture(drawn: WordPanels) -> Table:
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


TEXT_AND_PICTURE = view_of_marks(
    "both",
    "Text and picture",
    "Which source words and which part of the picture does each word look at?",
    fits_both,
    lay_out_panels,
    plot_text_and_picture,
    tabulate_text_and_picture,
    print_plot=print_plot,
    how_to_read=(
        "The output word is in the middle. The parts of the picture that it attends to are on"
        " the left, the words of the sentence are on the right. Brighter parts and thicker"
        " lines mean more attention."
    ),
)


# Balance view: the shares of each word's context that come from the text and from the picture.
#
# Shapes: H heads, Q queries, R runs of queries, M marks.


MEASURE_NOTE = "length of each context vector, before they are added (Eq. 5), share of their sum"
# Distance from one word to the next in px, and the share of it that a bar fills.
_PITCH, _BROAD = 26.0, 0.62
# Maximum number of words with a mark for every head and with written percentages.
_MARKED = 40
_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Balance(Drawing):
    """The text's share of every word's context, or NaN if both contexts have length zero.

    The picture's share is 1 minus the text's share.
    """

    # First item of each word, 0-based.
    positions: tuple[int, ...]
    labels: tuple[str, ...]
    # Share per head and word: float32 [H, R].
    heads: FloatArray
    # Share per word of the focused head, or the mean over heads: float32 [R].
    drawn: FloatArray
    # The heads that get marks.
    marked: range
    # Whether each word is focused. All are True if no word is focused.
    chosen: tuple[bool, ...]

    @property
    def height(self) -> float:
        """Height of all bars together, in px."""
        return float(np.clip(_PITCH * len(self.labels), 2 * _PITCH, 900.0))

    @property
    def opacity(self) -> list[float]:
        """Opacity of each word's bars: focused words are opaque."""
        return [1.0 if chosen else 0.4 for chosen in self.chosen]

    def bars(self) -> tuple[tuple[str, str, FloatArray, FloatArray], ...]:
        """Return the name, colour, starts and lengths of the text bars and of the picture bars."""
        text, rest = np.nan_to_num(self.drawn), np.nan_to_num(1 - self.drawn)
        return (("text", ACCENT, 0 * text, text), ("picture", SECOND, text, rest))

    def marks(self) -> tuple[FloatArray, FloatArray, list[int]]:
        """Return the share, row position and head of every mark.

        Within a bar, the first head is at the top.
        """
        heads = len(self.marked)
        head_M, row_M = (axis.ravel() for axis in np.indices((heads, len(self.labels))))
        down_M = row_M + _BROAD * ((head_M + 0.5) / max(heads, 1) - 0.5)
        return self.heads[self.marked].ravel(), down_M.astype(np.float32), head_M.tolist()

    def numbers(self) -> list[str]:
        """Return both shares of every word as text.

        Returns:
            Percentages such as "60% · 40%", "–" where the share is unknown, or empty strings if
            there are too many words to label.
        """
        if len(self.labels) > _MARKED:
            return [""] * len(self.labels)
        texts = [f"{share:.0%} · {1 - share:.0%}" for share in self.drawn.tolist()]
        missing = np.isnan(self.drawn)
        return ["–" if absent else text for text, absent in zip(texts, missing, strict=True)]


def compute_balance(trace: Trace, focus: Focus) -> Balance:
    """Compute the text's share for every produced item.

    With `focus.unit` "word", the share of a word is the mean over its items.
    """
    chosen = select(trace, move_focus(focus, TEXT))
    runs, heads = group_words(chosen.query, focus.unit), chosen.heads
    heads_HR = merge_items(compute_text_shares(trace, chosen.layer).T, runs).T
    unit = f"{name_field(chosen.query)} {name_unit(chosen.query, focus.unit)}"
    several = len(heads) > 1
    who = f"mean of the shares of {len(heads)} heads" if several else chosen.head_words
    marked = heads if several and len(runs) <= _MARKED else range(0)
    queries = set(chosen.queries)
    return Balance(
        title=f"Where the context of each {unit} comes from, {who}",
        note=f"{MEASURE_NOTE}; dots: single heads, the first on top" if marked else MEASURE_NOTE,
        caption=describe_both_sites(trace, focus),
        positions=tuple(start for start, _ in runs),
        labels=group_labels(chosen.query, runs),
        heads=heads_HR,
        drawn=average_over_heads(heads_HR) if chosen.head is None else heads_HR[chosen.head],
        marked=marked,
        chosen=tuple(not queries.isdisjoint(range(*run)) for run in runs),
    )


def average_over_heads(shares_HR: FloatArray) -> FloatArray:
    """Return the mean over the heads that have a share: float32 [R], or NaN without such heads."""
    known_HR = ~np.isnan(shares_HR)
    count_R = known_HR.sum(0)
    total_R = np.where(known_HR, shares_HR, 0).sum(0, dtype=np.float32)
    mean_R: FloatArray = np.full_like(total_R, np.nan)
    np.divide(total_R, count_R, out=mean_R, where=count_R > 0)
    return mean_R


def plot_balance(drawn: Balance) -> Plot:
    """Draw one bar per word, with the text's share on the left and the picture's on the right."""
    count = len(drawn.labels)
    rows = list(range(count))
    marks: list[Mark] = []
    for side, colour, base, length in drawn.bars():
        hovers = []
        for label, share in zip(drawn.labels, length.tolist(), strict=True):
            hovers.append(f"{label}\n{share:.1%} from the {side}")
        bars = Bars(
            rows,
            length,
            colour,
            _BROAD,
            base,
            opacity=drawn.opacity,
            is_upright=False,
            hovers=hovers,
            name=f"from the {side}",
        )
        marks.append(bars)
    marks.append(_make_dots(drawn))
    marks.append(Texts([1.005] * count, rows, drawn.numbers(), side="middle right"))
    marks.append(Rule(0.5, Stroke(EDGE, (1, 0.6), "dot")))
    shares = Ticks(_SHARES, tuple(f"{share:.0%}" for share in _SHARES))
    panel = Panel(
        marks=marks,
        across=Axis(ends=(0, 1.14), print_ends=(0, 1.09), ticks=shares),
        down=Axis(ends=(count - 0.5, -0.5), labels=drawn.labels),
    )
    return Plot(
        drawing=drawn,
        panels=[panel],
        height=(drawn.height, drawn.height / 96),
        above=30,
        below=30,
        key=Key("above"),
    )


def _make_dots(drawn: Balance) -> Points:
    """Draw one dot per head, with a dark edge that makes it visible on both colours."""
    share_M, down_M, heads = drawn.marks()
    texts = []
    for head, share in zip(heads, share_M.tolist(), strict=True):
        texts.append(f"head {head + 1}: {share:.1%} from the text")
    edge = Stroke(CASING, (1, 0.6))
    return Points(share_M, down_M, (5, 2.65), "#FFFFFF", edge, hovers=texts)


def tabulate_balance(drawn: Balance) -> Table:
    """Return a table with a row per word: both drawn shares, and the text's share in every head.

    Unknown shares are NaN.
    """
    heads = [f"text, head {head + 1}" for head in range(len(drawn.heads))]
    rows = []
    for row, share in enumerate(drawn.drawn.tolist()):
        # Compute the picture's share in the float32 precision of the text's share.
        rest = float(1 - drawn.drawn[row])
        own = drawn.heads[:, row].tolist()
        rows.append((drawn.positions[row] + 1, drawn.labels[row], share, rest, *own))
    return Table(("position", "item", "text", "picture", *heads), rows)


BALANCE = view_of_marks(
    "balance",
    "Text or picture",
    "Does a word's context come from the text or from the picture?",
    fits_strengths,
    compute_balance,
    plot_balance,
    tabulate_balance,
    how_to_read=(
        "One bar per word: how much of its context came from the sentence and how much from"
        " the picture. A long picture part marks a word that the model took from the picture."
    ),
)
