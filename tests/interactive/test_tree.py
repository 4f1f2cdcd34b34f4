"""Data of a growing tree: its nodes, its words, and every head's top area."""

from __future__ import annotations

from areaviz.trace.request import Focus
from areaviz.views.tree.tree import choose_first_step, make_tree_payload
from tests.views.test_tree import SITE, TREE, tree_trace


def test_payload_has_the_tree_and_the_areas() -> None:
    header = make_tree_payload(tree_trace(), Focus(SITE))["header"]
    assert header["words"] == ["Ida", "paints", "boats"]
    assert header["tokens"][: len(TREE.split())] == TREE.split()
    assert header["nodes"] == [
        ["S", 0, 3, 0, 0],
        ["NP", 0, 1, 1, 1],
        ["VP", 1, 3, 1, 4],
        ["NP", 2, 3, 2, 6],
    ]
    # The bracket of the verb phrase attends to two words, other tokens to the end symbol.
    assert header["tops"][4] == [[1, 3, 0.6], [1, 3, 0.6]]
    assert header["tops"][2][0][:2] == [0, 0]
    assert make_tree_payload(tree_trace(), Focus(SITE, head=1))["header"]["heads"] == [1]


def test_tree_opens_at_a_phrase() -> None:
    header = make_tree_payload(tree_trace(), Focus(SITE))["header"]
    assert header["tokens"][choose_first_step(header)] == "(NP" and choose_first_step(header) == 6
    assert choose_first_step({"tokens": ["XX", ""], "nodes": []}) == 1
