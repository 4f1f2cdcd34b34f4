"""Linear trees: known, incomplete, broken, and random ones from a slow writer."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from areaviz.trace.kinds import WORD, Node, Tree, is_closing, is_linear, is_opening, read_tree

KNOWN = "(S (NP XX XX )NP (VP XX (NP )NP )VP )S"
LABELS = ("S", "SBAR", "NP", "VP", "X", "XX")
"""A label may look like a word, and one label may be the beginning of another."""
Branch = tuple[str, list[Any]]
"""A label and its children: further branches, and None for a word."""


def trees() -> st.SearchStrategy[Branch]:
    """Return a strategy for trees of every shape, including nodes without words."""
    labels = st.sampled_from(LABELS)
    below: st.SearchStrategy[Any] = st.recursive(
        st.none(), lambda parts: st.tuples(labels, st.lists(parts, max_size=4)), max_leaves=12
    )
    return st.tuples(labels, st.lists(below, max_size=4))


def tokens_of(branch: Branch | None) -> list[str]:
    """Return the tokens of a tree, child by child."""
    if branch is None:
        return [WORD]
    label, parts = branch
    tokens = [f"({label}"]
    for part in parts:
        tokens += tokens_of(part)
    return [*tokens, f"){label}"]


def nodes_of(branch: Branch, words: int = 0, depth: int = 0, token: int = 0) -> list[Node]:
    """Return the nodes of a tree, given the numbers of words, levels and tokens before it."""
    label, parts = branch
    below: list[Node] = []
    behind, place = words, token + 1
    for part in parts:
        if part is not None:
            below += nodes_of(part, behind, depth + 1, place)
        behind += tokens_of(part).count(WORD)
        place += len(tokens_of(part))
    return [Node(label, words, behind, depth, token, place), *below]


def read(text: str) -> Tree:
    return read_tree(text.split())


def test_known_tree_lists_nodes_in_opening_order() -> None:
    tree = read(KNOWN)
    assert tree.nodes == (
        Node("S", 0, 3, 0, 0, 10),
        Node("NP", 0, 2, 1, 1, 4),
        Node("VP", 2, 3, 1, 5, 9),
        Node("NP", 3, 3, 2, 7, 8),
    )
    assert (tree.words, tree.problem, tree.is_closed) == (3, "", True)


def test_complete_tree_matches_only_its_word_count() -> None:
    tree = read(KNOWN)
    assert tree.is_of(3) and not tree.is_of(2) and not tree.is_of(4)
    assert not read(KNOWN[:-2]).is_of(3)
    assert not read(f"{KNOWN} )S").is_of(3)


def test_empty_and_open_nodes_are_not_brackets() -> None:
    np, vp, s = ("NP", 0, 2), ("VP", 2, 3), ("S", 0, 3)
    assert read(KNOWN).list_brackets() == [s, np, vp]
    assert read(KNOWN[:-2]).list_brackets() == [np, vp]


def test_open_nodes_end_at_the_last_word() -> None:
    tree = read("(S (NP XX )NP (VP XX XX")
    assert tree.nodes == (Node("S", 0, 3, 0, 0), Node("NP", 0, 1, 1, 1, 3), Node("VP", 1, 3, 1, 4))
    assert tree.problem == "" and not tree.is_closed and not tree.is_of(3)


def test_empty_text_has_no_tree() -> None:
    tree = read_tree([])
    assert tree.nodes == () and tree.words == 0 and tree.problem == ""
    assert not tree.is_closed and not tree.is_of(0)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (")S XX", ")S closes nothing."),
        ("(S XX )S )S", ")S closes nothing."),
        ("(S (NP XX )S )NP", ")S stands where )NP has to."),
        ("(S XX )SBAR", ")SBAR stands where )S has to."),
        ("(S dog )S", '"dog" is neither a bracket nor XX.'),
        ("(S XXX )S", '"XXX" is neither a bracket nor XX.'),
        ("( XX )", '"(" is neither a bracket nor XX.'),
        ("(S XX ) )S", '")" is neither a bracket nor XX.'),
    ],
)
def test_invalid_tree_gives_reason_in_one_sentence(text: str, problem: str) -> None:
    tree = read(text)
    assert tree.problem == problem
    assert not any(tree.is_of(words) for words in range(4))


def test_nodes_before_a_mistake_are_kept() -> None:
    tree = read("(S (NP XX )NP (VP XX )NP XX )S")
    assert tree.problem == ")NP stands where )VP has to."
    assert tree.nodes == (Node("S", 0, 2, 0, 0), Node("NP", 0, 1, 1, 1, 3), Node("VP", 1, 2, 1, 4))
    assert tree.words == 2 and tree.list_brackets() == [("NP", 0, 1)]


@pytest.mark.parametrize(
    ("token", "opens", "closes"),
    [("(NP", 1, 0), (")NP", 0, 1), ("(", 0, 0), (")", 0, 0), ("XX", 0, 0), ("", 0, 0)],
)
def test_bracket_has_a_label(token: str, opens: bool, closes: bool) -> None:
    assert (is_opening(token), is_closing(token)) == (opens, closes)


@pytest.mark.parametrize(
    ("text", "linear"),
    [
        ("(S XX )S", True),
        (")S", True),
        ("XX", True),
        ("", False),
        ("(S dog )S", False),
        ("( XX )", False),
    ],
)
def test_row_is_linear_with_only_brackets_and_words(text: str, linear: bool) -> None:
    assert is_linear(text.split()) is linear


@given(trees())
def test_written_tree_reads_back_to_its_constituents(branch: Branch) -> None:
    tokens, nodes = tokens_of(branch), nodes_of(branch)
    tree = read_tree(tokens)
    assert list(tree.nodes) == nodes and is_linear(tokens)
    assert tree.is_of(tokens.count(WORD))
    expected = [(one.label, one.first, one.behind) for one in nodes if one.first < one.behind]
    assert tree.list_brackets() == expected


@given(trees())
def test_every_tree_prefix_reads_without_a_problem(branch: Branch) -> None:
    tokens, nodes = tokens_of(branch), nodes_of(branch)
    for end in range(len(tokens)):
        tree = read_tree(tokens[:end])
        assert tree.problem == "" and not tree.is_closed
        words = tokens[:end].count(WORD)
        expected = []
        for one in nodes:
            if one.closing is not None and one.closing < end:
                expected.append(one)
            elif one.opening < end:
                expected.append(Node(one.label, one.first, words, one.depth, one.opening))
        assert list(tree.nodes) == expected and tree.words == words


@given(trees(), st.data())
def test_one_wrong_closing_bracket_is_always_found(branch: Branch, data: st.DataObject) -> None:
    tokens = tokens_of(branch)
    place = data.draw(st.sampled_from([n for n, token in enumerate(tokens) if is_closing(token)]))
    wrong = data.draw(st.sampled_from([x for x in LABELS if f"){x}" != tokens[place]]))
    tree = read_tree([*tokens[:place], f"){wrong}", *tokens[place + 1 :]])
    assert tree.problem == f"){wrong} stands where {tokens[place]} has to."
