"""The growing tree: everything that is drawn at each token of a tiny trace, by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from areaviz.trace.areas import Area, AreaGrid
from areaviz.trace.record import AttentionMap, Field, Output, Trace
from areaviz.trace.request import Focus, Request
from areaviz.views.tree.tree import PartialTree, find_partial_tree
from areaviz.views.views import VIEWS
from tests import fakes
from tests.sampled import sampled

SITE = "encoder-decoder"
FOCUS, VIEW = Focus(SITE), VIEWS["tree"]
SENTENCE = "Ida paints boats"
TREE = "(S (NP XX )NP (VP XX (NP XX )NP )VP )S"
LOOKS = {0: (0, 3), 1: (0, 1), 4: (1, 2), 6: (2, 1)}
"""First word and number of words that each opening bracket attends to.

All other tokens attend to the end symbol.
"""
Looks = Mapping[int, tuple[int, int]]


def by_words(name: str, text: str) -> Field:
    return replace(fakes.caption_trace(text).fields["target"], name=name)


def tree_trace(tree: str = TREE, sentence: str = SENTENCE, looks: Looks = LOOKS) -> Trace:
    """Return a trace with one item per word.

    A token has 0.6 on its area and 0.4 on the end symbol.
    """
    source, target = by_words("source", sentence), by_words("target", tree)
    grid = AreaGrid.clamped((1, len(source)), (1, 3))
    weights = np.zeros((1, 2, len(target), grid.count), np.float32)
    weights[..., grid.index(Area(0, len(source) - 1, 1, 1))] = 0.4
    for token in range(len(target)):
        left, width = looks.get(token, (len(source) - 1, 1))
        weights[..., token, grid.index(Area(0, left, 1, width))] += 0.6
    attention = AttentionMap(SITE, "target", "source", grid, weights)
    history = Field("history", "text", tree, ("⟨start⟩", *target.labels[:-1]), target.anchors)
    likely = np.full(len(target), 0.9, np.float32)
    output = Output("target", likely, tuple(((label, 0.9),) for label in target.labels))
    fields = {"source": source, "target": target, "history": history}
    return Trace(Request("parser", sentence), fields, output, {SITE: attention})


def at(step: int, trace: Trace | None = None) -> PartialTree:
    return find_partial_tree(trace or tree_trace(), replace(FOCUS, items=(step,)))


def lines_of(drawn: PartialTree) -> set[tuple[str, str, bool]]:
    """Return every branch by the labels or words at its ends, with whether it is dotted."""
    names = {drawn.place(node): f"{node.opening}{node.label}" for node in drawn.nodes()}
    found = set()
    for (above, below), is_open in drawn.branches():
        name = names.get(below) or drawn.words[int(below[0])]
        found.add((names[above], name, is_open))
    return found


def test_complete_tree_has_all_branches() -> None:
    drawn = find_partial_tree(tree_trace(), FOCUS)
    assert [node.label for node in drawn.nodes()] == ["S", "NP", "VP", "NP"]
    assert not any(drawn.is_open(node) for node in drawn.nodes())
    assert lines_of(drawn) == {
        ("0S", "1NP", False),
        ("0S", "4VP", False),
        ("4VP", "6NP", False),
        ("1NP", "Ida", False),
        ("4VP", "paints", False),
        ("6NP", "boats", False),
    }
    assert drawn.words == ("Ida", "paints", "boats") and drawn.step == 11
    assert drawn.tokens == (*TREE.split(), "")


def test_step_shows_written_part_with_open_nodes_dotted() -> None:
    drawn = at(6)
    assert [node.label for node in drawn.nodes()] == ["S", "NP", "VP", "NP"]
    assert [drawn.is_open(node) for node in drawn.nodes()] == [True, False, True, True]
    # The last word is not written yet.
    assert lines_of(drawn) == {
        ("0S", "1NP", True),
        ("0S", "4VP", True),
        ("4VP", "6NP", True),
        ("1NP", "Ida", False),
        ("4VP", "paints", True),
    }
    assert lines_of(at(0)) == set() and [node.label for node in at(0).nodes()] == ["S"]
    assert lines_of(at(2)) == {("0S", "1NP", True), ("1NP", "Ida", True)}
    assert lines_of(at(3)) == {("0S", "1NP", True), ("1NP", "Ida", False)}


def test_nodes_are_centred_over_words_below_root() -> None:
    drawn = find_partial_tree(tree_trace(), FOCUS)
    s, subject, verb, thing = (drawn.place(node) for node in drawn.nodes())
    assert [place[0] for place in (s, subject, verb, thing)] == [1.0, 0.0, 1.5, 2.0]
    assert drawn.upper < s[1] < subject[1] == verb[1] < thing[1] < drawn.words_row < 0
    # Nodes keep their places while the tree grows.
    assert [at(4).place(node) for node in at(4).nodes()] == [s, subject, verb]


def test_rows_are_tokens_and_columns_word_attention() -> None:
    drawn = at(4)
    assert drawn.weights.shape == (12, 3)
    # 0.6 on an area of two items is 0.6 on each; 0.4 on the end symbol is not shown for any word.
    np.testing.assert_allclose(drawn.weights[4], [0, 0.6 / 1.6, 0.6 / 1.6], rtol=1e-6)
    np.testing.assert_allclose(drawn.weights[0], [0.6 / 2.2] * 3, rtol=1e-6)
    np.testing.assert_allclose(drawn.weights[1], [0.6, 0, 0], rtol=1e-6)
    assert not drawn.weights[[2, 3, 11]].any()
    assert drawn.spans[:5] == ((0, 3), (0, 1), (0, 0), (0, 0), (1, 3))


def test_words_of_several_items_are_one_column() -> None:
    """Check one item per character: an area that contains a part of a word covers the word."""
    trace = tree_trace("(S XX XX )S", "x y", {})
    source = fakes.text_field("source", "an ox")
    grid = AreaGrid.clamped((1, 6), (1, 3))
    weights = np.zeros((1, 1, 5, grid.count), np.float32)
    weights[..., grid.index(Area(0, 1, 1, 3))] = 1.0
    weights[0, 0, 1] = np.eye(grid.count)[grid.index(Area(0, 3, 1, 2))]
    attention = AttentionMap(SITE, "target", "source", grid, weights)
    trace = replace(trace, fields={**trace.fields, "source": source}, maps={SITE: attention})
    drawn = find_partial_tree(trace, FOCUS)
    assert drawn.words == ("an", "ox") and drawn.spans[:2] == ((0, 2), (1, 2))
    # The space between the words belongs to the word after it.
    np.testing.assert_allclose(drawn.weights[0], [1 / 3, 2 / 3], rtol=1e-6)
    np.testing.assert_allclose(drawn.weights[1], [0, 1], rtol=1e-6)


@pytest.mark.parametrize(
    ("items", "title"),
    [
        ((), "The tree of “Ida paints boats”"),
        ((0,), "Token 1 of 12, (S: its top area is “Ida paints boats”"),
        ((6,), "Token 7 of 12, (NP: its top area is “boats”"),
        ((8, 4, 6), "Token 5 of 12, (VP: its top area is “paints boats”"),
        ((11,), "Token 12 of 12, the end: its top area is “the end symbol”"),
    ],
)
def test_title_names_words_of_the_chosen_token(items: tuple[int, ...], title: str) -> None:
    drawn = find_partial_tree(tree_trace(), replace(FOCUS, items=items))
    assert drawn.title == title and drawn.is_chosen == bool(items)


def test_chosen_words_are_not_tokens() -> None:
    drawn = find_partial_tree(tree_trace(), replace(FOCUS, side="memory", items=(1,)))
    assert not drawn.is_chosen and drawn.step == 11 and drawn.title.startswith("The tree of")


TREES = {
    "whole": (TREE, ""),
    "open": ("(S (NP XX )NP (VP XX XX", ""),
    "wrong bracket": (
        "(S (NP XX )NP (VP XX )NP XX )S",
        ". The tree is broken: )NP stands where )VP has to.",
    ),
    "closes nothing": ("(S XX )S )NP", ". The tree is broken: )NP closes nothing."),
    "too few words": ("(S (NP XX )NP XX )S", ". It has 2 words, the sentence 3."),
    "too many words": ("(S XX XX XX (NP XX )NP )S", ". It has 4 words, the sentence 3."),
    "no words": ("(S (NP )NP )S", ". It has 0 words, the sentence 3."),
    "one bracket": ("(S", ". It has 0 words, the sentence 3."),
    "two roots": ("(S XX )S (NP XX XX )NP", ""),
}


@pytest.mark.parametrize(("tree", "note"), TREES.values(), ids=TREES)
def test_note_states_the_problem_of_a_tree(tree: str, note: str) -> None:
    plain = find_partial_tree(tree_trace(), FOCUS).note
    assert "dotted where a bracket is open" in plain
    assert find_partial_tree(tree_trace(tree, looks={}), FOCUS).note == plain + note


def test_word_missing_from_sentence_is_question_mark() -> None:
    drawn = find_partial_tree(tree_trace("(S XX XX XX (NP XX )NP )S"), FOCUS)
    assert drawn.words == ("Ida", "paints", "boats", "?") and drawn.weights.shape == (9, 4)
    assert not drawn.weights[:, 3].any() and ("4NP", "?", False) in lines_of(drawn)


def test_word_missing_from_tree_has_no_branch() -> None:
    drawn = find_partial_tree(tree_trace("(S (NP XX )NP XX )S"), FOCUS)
    assert drawn.words == ("Ida", "paints", "boats")
    assert {name for _, name, _ in lines_of(drawn)} == {"1NP", "Ida", "paints"}


def test_drawing_ends_at_a_mistake() -> None:
    """Check that words after a mistake are not drawn; the sentence has no column for them."""
    drawn = find_partial_tree(tree_trace("(S (NP XX )NP (VP XX )NP XX XX XX )S"), FOCUS)
    assert len(drawn.words) == 3
    assert {(below[0], is_open) for (_, below), is_open in drawn.branches()} == {
        (0.0, True),
        (0.0, False),
        (1.0, True),
    }


def test_blank_item_does_not_move_the_tree() -> None:
    """Check that a model may write its own space between two brackets."""
    trace = tree_trace("(S XX XX )S", "Boats sink", {})
    blank = Field(
        "target",
        "text",
        "(S  XX XX )S",
        ("(S", " ", "XX", "XX", ")S", "⟨end⟩"),
        np.array([(0, 2), (2, 3), (4, 6), (7, 9), (10, 12), (12, 12)]),
    )
    attention = trace.maps[SITE]
    wider = replace(attention, weights=attention.weights[:, :, [0, 0, 1, 2, 3, 4]])
    trace = replace(trace, fields={**trace.fields, "target": blank}, maps={SITE: wider})
    assert VIEW.fits(trace, FOCUS)
    whole = find_partial_tree(trace, FOCUS)
    assert lines_of(whole) == {("0S", "Boats", False), ("0S", "sink", False)}
    assert lines_of(at(2, trace)) == {("0S", "Boats", True)}
    assert lines_of(at(3, trace)) == {("0S", "Boats", True), ("0S", "sink", True)}


@pytest.mark.parametrize("name", sampled(TREES, *list(TREES)[:2]))
def test_every_step_is_drawn_printed_and_listed(name: str) -> None:
    tree, _ = TREES[name]
    trace = tree_trace(tree, looks={0: (0, 3), 1: (1, 1)})
    rows = len(tree.split()) + 1
    for items in [(), *((step,) for step in range(rows))]:
        focus = replace(FOCUS, items=items)
        assert VIEW.fits(trace, focus)
        drawn = find_partial_tree(trace, focus)
        branches = [is_open for _, is_open in drawn.branches()]
        alignment, *others = VIEW.figure(trace, focus).data
        assert np.array(alignment.z).shape == (rows, len(drawn.words))
        # A gap follows each line, and all lines of one kind are one path.
        expected = {one: 3 * branches.count(one) for one in (False, True) if one in branches}
        paths = [one for one in others if one.mode == "lines"]
        assert {one.line.dash == "dot": len(one.x) for one in paths} == expected
        *labels, words = [list(one.text) for one in others if one.mode == "text"]
        assert sum(map(len, labels)) == len(drawn.nodes()) and words == list(drawn.words)
        (axes, _) = VIEW.print(trace, focus).axes
        printed = {
            one.get_linestyle() == ":": len(np.asarray(one.get_xydata())) for one in axes.lines
        }
        assert printed == expected
        names = [node.label for node in drawn.nodes()]
        assert [text.get_text() for text in axes.texts] == [*names, *drawn.words]
        table = VIEW.table(trace, focus)
        assert len(table.rows) == rows and len(table.columns) == 3 + len(drawn.words)
        assert [row[1] for row in table.rows] == [*tree.split(), "end"]


def test_table_has_the_top_area_in_words() -> None:
    table = VIEW.table(tree_trace(), FOCUS)
    assert table.columns[:4] == ("token", "written", "heaviest area", "1 Ida")
    assert table.rows[4][:3] == (5, "(VP", "paints boats") and table.rows[2][2] == ""
    assert table.rows[4][3:] == pytest.approx((0, 0.375, 0.375))


@pytest.mark.parametrize(("step", "first", "width"), [(0, 0, 3), (4, 1, 2), (6, 2, 1)])
def test_frames_surround_words_of_the_heaviest_area(step: int, first: int, width: int) -> None:
    focus = replace(FOCUS, items=(step,))
    over, row = VIEW.figure(tree_trace(), focus).layout.shapes
    for box in (over, row):
        assert (box.x0, box.x1) == (first - 0.5, first + width - 0.5)
    assert (row.y0, row.y1) == (step - 0.5, step + 0.5)
    assert over.y0 < find_partial_tree(tree_trace(), focus).words_row < over.y1
    printed = VIEW.print(tree_trace(), focus).axes[0].patches
    assert [(box.get_x(), box.get_width()) for box in printed] == [(first - 0.5, width)] * 2


@pytest.mark.parametrize("items", [(), (2,), (11,)])
def test_no_attended_word_means_no_frame(items: tuple[int, ...]) -> None:
    focus = replace(FOCUS, items=items)
    assert len(VIEW.figure(tree_trace(), focus).layout.shapes) == 0
    assert len(VIEW.print(tree_trace(), focus).axes[0].patches) == 0


def test_words_and_labels_stay_text() -> None:
    trace = tree_trace("(S XX (<i> XX )<i> )S", "<b>Ida</b> $x$ now", {0: (0, 2)})
    data = VIEW.figure(trace, FOCUS).data
    hovers = data[0].text
    assert hovers[0][0] == "(S → &lt;b&gt;Ida&lt;/b&gt;<br>37.5%"
    assert hovers[2][1].startswith("(&lt;i&gt; → &#36;x&#36;<br>") and hovers[-1][2][:3] == "end"
    assert list(data[-1].text) == ["&lt;b&gt;Ida&lt;/b&gt;", "&#36;x&#36;", "now"]
    assert list(data[-2].text) == ["S", "&lt;i&gt;"] and data[-2].textfont.weight == 600
    assert VIEW.print(trace, FOCUS).axes[0].texts[-2].get_text() == "$x$"


def test_tree_fits_only_trees_and_opens_first() -> None:
    trace = tree_trace()
    assert next(name for name, view in VIEWS.items() if view.fits(trace, FOCUS)) == "tree"
    for other in (fakes.trace(), fakes.trace("Ida", "XX"), fakes.caption_trace()):
        assert not VIEW.fits(other, FOCUS)
    # Words among the brackets, words only, and an empty text.
    for text in ("(S dog XX )S", "a dog", "XX XX", ""):
        assert not VIEW.fits(tree_trace(text, looks={}), FOCUS)
    for focus in (Focus("decoder self"), replace(FOCUS, items=(12,)), replace(FOCUS, head=2)):
        assert not VIEW.fits(trace, focus)
