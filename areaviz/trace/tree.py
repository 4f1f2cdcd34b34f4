"""Linear trees: a constituency tree as a sequence of tokens, complete or partly written.

"(S (NP XX )NP (VP XX )VP )S" is a sentence of two words. A bracket opens and closes with the label
of its node, and every word is written as `XX` (Vinyals et al. 2015, "Grammar as a foreign
language").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

WORD = "XX"
"""The token that represents any word."""


@dataclass(frozen=True, slots=True)
class Node:
    """A constituent, complete or still being written."""

    label: str
    # Index of its first word, and index behind its last word. An open node extends to the last word
    # so far.
    first: int
    behind: int
    # Number of nodes that contain this node.
    depth: int
    # Positions of the tokens that open and close it. `closing` is None while it is open.
    opening: int
    closing: int | None = None


@dataclass(frozen=True, slots=True)
class Tree:
    """A parsed sequence of tokens.

    Args:
        nodes: The nodes, in the order in which they open.
        words: Number of words.
        problem: Why the tokens are not a tree, in a sentence. "" for a tree, including one whose
            last brackets are not closed yet.
    """

    nodes: tuple[Node, ...]
    words: int
    problem: str = ""

    @property
    def is_closed(self) -> bool:
        """True if there is at least one node and all brackets are closed."""
        return bool(self.nodes) and all(node.closing is not None for node in self.nodes)

    def is_of(self, words: int) -> bool:
        """Return whether this is a complete tree of a sentence with `words` words."""
        return not self.problem and self.is_closed and self.words == words

    def list_brackets(self) -> list[tuple[str, int, int]]:
        """Return label, first word and end (exclusive) of every closed node that contains words."""
        found = []
        for node in self.nodes:
            if node.closing is not None and node.behind > node.first:
                found.append((node.label, node.first, node.behind))
        return found


def is_opening(token: str) -> bool:
    """Return whether a token opens a bracket."""
    return len(token) > 1 and token.startswith("(")


def is_closing(token: str) -> bool:
    """Return whether a token closes a bracket."""
    return len(token) > 1 and token.startswith(")")


def is_linear(tokens: Sequence[str]) -> bool:
    """Return whether there are tokens and all of them are brackets or words."""
    known = [token == WORD or is_opening(token) or is_closing(token) for token in tokens]
    return bool(known) and all(known)


def read_tree(tokens: Sequence[str]) -> Tree:
    """Parse tokens into a tree, as far as possible.

    Parsing stops at a closing bracket that does not match the label of the open node. The result
    Parsing stops at a closing bracket that does not match the label of the open node. The result
    contains everything parsed up to that bracket, and the reason.
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
                return _read_tree(nodes, opened, words, f"{token} closes nothing.")
            node = nodes[opened[-1]]
            if node.label != label:
                return _read_tree(
                    nodes, opened, words, f"{token} stands where ){node.label} has to."
                )
            nodes[opened.pop()] = replace(node, behind=words, closing=number)
        elif token == WORD:
            words += 1
        elif token:
            return _read_tree(nodes, opened, words, f'"{token}" is neither a bracket nor {WORD}.')
    return _read_tree(nodes, opened, words)


def _read_tree(nodes: list[Node], opened: Sequence[int], words: int, problem: str = "") -> Tree:
    for index in opened:
        nodes[index] = replace(nodes[index], behind=words)
    return Tree(tuple(nodes), words, problem)
