"""The grammars that can constrain outputs, by their name in a recipe."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from areaviz.decoding.masked import State
from areaviz.decoding.trees import TreeTokens


class Grammar(Protocol):
    """A grammar of outputs for a vocabulary."""

    def make_first_state(self, words: int, limit: int) -> State:
        """Return the state before an output for `words` words, of at most `limit` tokens."""

    def raise_limit(self, words: int, limit: int) -> int:
        """Return the limit, raised if the grammar has no output that short."""


GRAMMARS: Mapping[str, Callable[[Sequence[str], int], Grammar]] = {"trees": TreeTokens.from_labels}
"""Functions that build a grammar from the label of every token and the id of the end symbol."""
