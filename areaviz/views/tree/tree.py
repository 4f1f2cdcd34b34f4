"""The tree of a parser, step by step: data for the component, and the view."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np

from areaviz.draw.labels import Ticks, truncate
from areaviz.draw.marks import (
    Axis,
    Cells,
    Dash,
    Frame,
    Mark,
    Panel,
    Path,
    Plot,
    Scale,
    Stroke,
    Texts,
)
from areaviz.draw.select import (
    find_top_span,
    find_touched_runs,
    fits_text,
    get_word_text,
    list_spoken_words,
)
from areaviz.draw.theme import EDGE, SECOND, Drawing, round_up_scale
from areaviz.draw.view import Row, Table, figure_caption, view_of_marks
from areaviz.trace.areas import FloatArray
from areaviz.trace.kinds import WORD, Node, Tree, is_linear, read_tree
from areaviz.trace.query import item_shares
from areaviz.trace.record import AttentionMap, Field, Trace
from areaviz.trace.request import Focus
from areaviz.views.message import serialise_message

# Data of the tree component: the brackets over the words, and every head's top area at each step.
#
# The script in `areaviz/views/tree` draws the tree. Users can let it grow step by step.


def make_tree_payload(trace: Trace, focus: Focus) -> dict[str, Any]:
    """Return the tree, its words and the top areas of the heads.

    `header["id"]` is a hash of the content.

    Args:
        trace: a trace in which the tokens of a tree attend to a sentence.
        focus: the selection: a site, a layer, and a head if only one head is shown.
    """
    attention = trace.maps[focus.site]
    source, query = trace.fields[attention.memory], trace.fields[attention.query]
    runs = list_spoken_words(source)
    tokens = [query.raw[start:end].strip() for start, end in query.anchors.tolist()]
    nodes = [
        [one.label, one.first, one.behind, one.depth, one.opening]
        for one in read_tree(tokens).nodes
    ]
    heads = range(attention.heads) if focus.head is None else [focus.head]
    header = {
        "words": [get_word_text(source, run) for run in runs],
        "tokens": tokens,
        "nodes": nodes,
        "heads": list(heads),
        "tops": [
            [_find_top(attention, focus.layer, head, step, runs) for head in heads]
            for step in range(len(tokens))
        ],
    }
    digest = hashlib.sha256(serialise_message(header, {})).hexdigest()[:16]
    return {"header": {"id": digest, **header}, "arrays": {}}


def _find_top(
    attention: AttentionMap, layer: int, head: int, step: int, runs: list[tuple[int, int]]
) -> list[float]:
    """Return the first word, the end (exclusive) and the weight of a head's top area at one step.

    If the area touches no word, the first word and the end are 0.
    """
    span, weight = find_top_span(attention, layer, head, step)
    return [*find_touched_runs(span, runs), round(float(weight), 4)]


def choose_first_step(header: Mapping[str, Any]) -> int:
    """Return the step that is shown first.

    At this step, the last phrase of the first two thirds opens.
    """
    steps = len(header["tokens"])
    opening = [node[-1] for node in header["nodes"] if node[-1] <= 2 * steps / 3]
    return int(opening[-1]) if opening else steps - 1


# View of the tree that a parser has written up to a token, above the words it attended to.
#
# See Vinyals et al. 2015, Figs. 2 and 4. The tree is above its words. The alignment below them has
# one row per token and shares the tree's columns. Shapes: T tokens of the tree, W words, M items.


LEVEL = 1.5
"""Height of a level of the tree, in rows."""
_LONGEST = 14
"""Maximum number of characters of a word above its column."""

Span = tuple[int, int]
"""First word and end (exclusive)."""
Line = tuple[tuple[float, float], tuple[float, float]]
"""Line from one position to another, in columns and rows."""


@dataclass(frozen=True, slots=True, eq=False)
class PartialTree(Drawing):
    """The tree and the alignment.

    Rows count downwards from the first token. The tree is above row 0.
    """

    # The complete tree.
    tree: Tree
    # All tokens, the word that each `XX` represents, and the last step that is drawn.
    tokens: tuple[str, ...]
    words: tuple[str, ...]
    step: int
    # Attention that each word receives: float32 [T, W].
    weights: FloatArray
    # For each token, the words of its top area as (first, end).
    spans: tuple[Span, ...]
    # Whether the user selected the step. A selected step gets a frame.
    is_chosen: bool

    @property
    def top(self) -> float:
        """Upper end of the colour scale."""
        return round_up_scale(float(self.weights.max()))

    @property
    def words_row(self) -> float:
        """Row of the words."""
        return -1.2

    @property
    def upper(self) -> float:
        """Upper edge of the figure, in rows."""
        deepest = max((node.depth for node in self.tree.nodes), default=0)
        return self.words_row - LEVEL * (deepest + 1.6)

    def place(self, node: Node) -> tuple[float, float]:
        """Return the position of a node's label, which is centred above the words of the node."""
        middle = (node.first + max(node.behind, node.first + 1) - 1) / 2
        return middle, self.upper + LEVEL * (node.depth + 0.6)

    def nodes(self) -> list[Node]:
        """Return the nodes whose bracket has been opened up to the step."""
        return [node for node in self.tree.nodes if node.opening <= self.step]

    def is_open(self, node: Node) -> bool:
        """Return whether the node's bracket is still open at the step."""
        return node.closing is None or node.closing > self.step

    def branches(self) -> Iterator[tuple[Line, bool]]:
        """Yield every line of the tree up to the step, and whether its upper node is still open."""
        above: list[Node] = []
        for node in self.nodes():
            del above[node.depth :]
            if above:
                yield (self.place(above[-1]), self.place(node)), self.is_open(above[-1])
            above.append(node)
        for word, holder in self._holders():
            yield (self.place(holder), (word, self.words_row - 0.5)), self.is_open(holder)

    def _holders(self) -> Iterator[tuple[int, Node]]:
        """Yield every word written up to the step, with the innermost node around it."""
        word, opened = 0, []
        by_token = {node.opening: node for node in self.tree.nodes}
        closing = {node.closing for node in self.tree.nodes}
        for number, token in enumerate(self.tokens[: self.step + 1]):
            if number in by_token:
                opened.append(by_token[number])
            elif number in closing:
                opened.pop()
            elif token == WORD:
                if word == self.tree.words:
                    return
                if opened:
                    yield word, opened[-1]
                word += 1


def fits(trace: Trace, focus: Focus) -> bool:
    """Return whether the focused map attends from a linear tree to a text."""
    if not fits_text(trace, focus):
        return False
    query = trace.fields[trace.maps[focus.site].query]
    return is_linear(query.raw.split()) and "(" in query.raw


def find_partial_tree(trace: Trace, focus: Focus) -> PartialTree:
    """Return the tree up to the first focused token, or the whole tree if none is focused."""
    attention = trace.maps[focus.site]
    source, query = trace.fields[attention.memory], trace.fields[attention.query]
    runs = list_spoken_words(source)
    tokens = tuple(get_token_text(query, number) for number in range(len(query)))
    tree = read_tree(tokens)
    words = [get_word_text(source, run) for run in runs]
    words += ["?"] * (tree.words - len(words))
    shares_TM = item_shares(attention, focus.layer, focus.head)
    weights_TW = np.zeros((len(tokens), len(words)), np.float32)
    for number, (start, end) in enumerate(runs):
        weights_TW[:, number] = shares_TM[:, start:end].sum(1)
    is_chosen = bool(focus.items) and focus.side == "query"
    step = min(focus.items) if is_chosen else len(tokens) - 1
    spans = []
    for number in range(len(tokens)):
        span, _ = find_top_span(attention, focus.layer, focus.head, number)
        spans.append(find_touched_runs(span, runs))
    return PartialTree(
        title=_make_title(tokens, words, spans[step], step, is_chosen),
        note=_make_note(tree, len(runs)),
        caption=figure_caption(trace, focus),
        tree=tree,
        tokens=tokens,
        words=tuple(words),
        step=step,
        weights=weights_TW,
        spans=tuple(spans),
        is_chosen=is_chosen,
    )


def get_token_text(query: Field, number: int) -> str:
    """Return the text of a token of the tree, or "" for the end symbol."""
    start, end = query.anchors[number].tolist()
    return query.raw[start:end].strip()


def _make_title(
    tokens: Sequence[str], words: Sequence[str], span: Span, step: int, is_chosen: bool
) -> str:
    if not is_chosen:
        return f"The tree of “{truncate(' '.join(words), 60)}”"
    looked_at = truncate(" ".join(words[slice(*span)]), 40) or "the end symbol"
    name = tokens[step] or "the end"
    return f"Token {step + 1} of {len(tokens)}, {name}: its top area is “{looked_at}”"


def _make_note(tree: Tree, words: int) -> str:
    note = "above: the tree so far, dotted where a bracket is open; below: each token's attention"
    if tree.problem:
        return f"{note}. The tree is broken: {tree.problem}"
    if tree.words != words:
        return f"{note}. It has {tree.words} words, the sentence {words}."
    return note


def plot(drawn: PartialTree) -> Plot:
    """Draw the tree, its words and the alignment on one pair of axes."""
    rows, columns = len(drawn.tokens), len(drawn.words)
    bottom = rows - 0.5
    marks: list[Mark] = [Cells(drawn.weights, _list_hovers(drawn)), *_make_tree_marks(drawn)]
    marks += [Frame(*box, Stroke(SECOND, (2, 1))) for box in _iterate_frames(drawn)]
    tokens = tuple(token or "end" for token in drawn.tokens)
    panel = Panel(
        marks=marks,
        across=Axis(ends=(-0.5, columns - 0.5), is_seen=False),
        down=Axis(ends=(bottom, drawn.upper), ticks=Ticks(tuple(range(rows)), tokens)),
    )
    high = bottom - drawn.upper
    return Plot(
        drawing=drawn,
        panels=[panel],
        height=(float(np.clip(15 * high, 260, 1200)), float(np.clip(0.13 * high, 2.0, 8.5))),
        below=12,
        scale=Scale(drawn.top, "attention of the word"),
    )


def _make_tree_marks(drawn: PartialTree) -> Iterator[Mark]:
    """Draw the tree up to the step, and its words."""
    dashes: tuple[tuple[bool, Dash], ...] = ((False, "solid"), (True, "dot"))
    for is_open, dash in dashes:
        x, y = _join_lines([line for line, still in drawn.branches() if still == is_open])
        if x:
            yield Path(x, y, Stroke(EDGE, (1.2, 0.7), dash))
    nodes = drawn.nodes()
    if nodes:
        across, down = zip(*map(drawn.place, nodes), strict=True)
        yield Texts(across, down, [node.label for node in nodes], is_bold=True)
    columns = len(drawn.words)
    shown = [truncate(word, _LONGEST) for word in drawn.words]
    yield Texts(list(range(columns)), [drawn.words_row] * columns, shown)


def _join_lines(lines: Sequence[Line]) -> tuple[list[float], list[float]]:
    """Join lines into one path with gaps, shortened at both ends to keep labels clear."""
    x: list[float] = []
    y: list[float] = []
    for (left, top), (right, bottom) in lines:
        x += [left, right, nan]
        y += [top + 0.45, bottom - 0.45, nan]
    return x, y


def _list_hovers(drawn: PartialTree) -> list[list[str]]:
    """Write the hover text of every word at every token."""
    texts = []
    for token, weights in zip(drawn.tokens, drawn.weights.tolist(), strict=True):
        name = token or "end"
        row = []
        for word, weight in zip(drawn.words, weights, strict=True):
            row.append(f"{name} → {word}\n{weight:.1%}")
        texts.append(row)
    return texts


def _iterate_frames(drawn: PartialTree) -> Iterator[tuple[float, float, float, float]]:
    """Yield frames around the selected token's top area: around its words, and in its row."""
    first, behind = drawn.spans[drawn.step]
    if drawn.is_chosen and first < behind:
        yield first - 0.5, drawn.words_row - 0.55, behind - first, 1.1
        yield first - 0.5, drawn.step - 0.5, behind - first, 1.0


def tabulate(drawn: PartialTree) -> Table:
    """Return a table with a row per token: its top area in words, and attention to every word."""
    names = [f"{number} {word}" for number, word in enumerate(drawn.words, start=1)]
    rows: list[Row] = []
    for number, (token, weights) in enumerate(zip(drawn.tokens, drawn.weights, strict=True)):
        covered = " ".join(drawn.words[slice(*drawn.spans[number])])
        rows.append((number + 1, token or "end", covered, *map(float, weights)))
    return Table(("token", "written", "heaviest area", *names), rows)


VIEW = view_of_marks(
    "tree",
    "Growing tree",
    "How far is the tree, and which words does each bracket attend to?",
    fits,
    find_partial_tree,
    plot,
    tabulate,
    how_to_read=(
        "Choose a token in the bracketed sentence above. The tree is drawn up to that token,"
        " and a frame shows its top area. Under the words, each row is a token, and brighter"
        " means more attention to the word. A parser that sees phrases frames exactly the"
        " words of the bracket that it opens."
    ),
)
