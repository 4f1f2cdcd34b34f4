"""Linear trees: a constituency tree as a row of tokens, whole or as far as it is written.

"(S (NP XX )NP (VP XX )VP )S" is a sentence of two words: a bracket opens with the node's label and
closes with it, and every word stands as `XX` (Vinyals et al. 2015, "Grammar as a foreign
language").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

WORD = "XX"
"""What stands for a word, whichever it is."""


@dataclass(frozen=True, slots=True)
class Node:
    """A constituent, or one that is still being written."""

    label: str
    # Its words, from 0, the end exclusive; of an open node as far as there are any.
    first: int
    behind: int
    # How many nodes are around it.
    depth: int
    # The numbers of the tokens that open and close it; None while it is open.
    opening: int
    closing: int | None = None


@dataclass(frozen=True, slots=True)
class Tree:
    """What a row of tokens says.

    Args:
        nodes: in the order in which they open.
        words: how many there are.
        problem: why the tokens are no tree, in a sentence; "" for a tree, also for one whose last
            brackets are not closed yet.
    """

    nodes: tuple[Node, ...]
    words: int
    problem: str = ""

    @property
    def is_closed(self) -> bool:
        """Whether no bracket is open, and something was opened."""
        return bool(self.nodes) and all(node.closing is not None for node in self.nodes)

    def is_of(self, words: int) -> bool:
        """Whether it is a whole tree of a sentence of so many words."""
        return not self.problem and self.is_closed and self.words == words

    def brackets(self) -> list[tuple[str, int, int]]:
        """Label, first word and the word behind of every closed node that has words."""
        found = []
        for node in self.nodes:
            if node.closing is not None and node.behind > node.first:
                found.append((node.label, node.first, node.behind))
        return found


def is_opening(token: str) -> bool:
    """Whether a token opens a bracket."""
    return len(token) > 1 and token.startswith("(")


def is_closing(token: str) -> bool:
    """Whether a token closes a bracket."""
    return len(token) > 1 and token.startswith(")")


def is_linear(tokens: Sequence[str]) -> bool:
    """Whether all tokens are of a linear tree, and one of them is a bracket or a word."""
    known = [token == WORD or is_opening(token) or is_closing(token) for token in tokens]
    return bool(known) and all(known)


def read_tree(tokens: Sequence[str]) -> Tree:
    """The tree that tokens write, as far as they do.

    A bracket that closes no open node of its label ends the reading: what was read until then
    stays, with the reason.
    """
    nodes: list[Node] = []
    opened: list[int] = []
    words = 0
    for number, token in enumerate(tokens):
        if is_opening(token):
            opened.append(len(nodes))
            nodes.append(Node(token[1:], words, words, len(opened) - 1, number))
        elif is_closing(token):
            label = token[1:]
            if not opened:
                return _read(nodes, opened, words, f"{token} closes nothing.")
            node = nodes[opened[-1]]
            if node.label != label:
                return _read(nodes, opened, words, f"{token} stands where ){node.label} has to.")
            nodes[opened.pop()] = replace(node, behind=words, closing=number)
        elif token == WORD:
            words += 1
        elif token:
            return _read(nodes, opened, words, f'"{token}" is neither a bracket nor {WORD}.')
    return _read(nodes, opened, words)


def _read(nodes: list[Node], opened: Sequence[int], words: int, problem: str = "") -> Tree:
    for index in opened:
        nodes[index] = replace(nodes[index], behind=words)
    return Tree(tuple(nodes), words, problem)
