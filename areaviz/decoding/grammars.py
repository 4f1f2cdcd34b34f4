"""The grammars that outputs can be held to, by the name that a recipe gives them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from areaviz.decoding.masked import State
from areaviz.decoding.trees import TreeTokens


class Grammar(Protocol):
    """What outputs may look like, for a vocabulary."""

    def begin(self, words: int, limit: int) -> State:
        """The state before the output for so many words, of at most `limit` tokens."""

    def enough(self, words: int, limit: int) -> int:
        """The limit, raised where the grammar has no output that short."""


GRAMMARS: Mapping[str, Callable[[Sequence[str], int], Grammar]] = {"trees": TreeTokens.of}
"""Each makes a grammar from what every token shows and the id of the end symbol."""
