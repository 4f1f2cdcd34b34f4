"""The grammar of linearised trees, with balanced brackets and one token per word of the sentence.

See `areaviz.trace.kinds` for the format. The tree has one root, and every bracket contains a word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor

from areaviz.trace.kinds import WORD, is_closing, is_opening


@dataclass(frozen=True, slots=True, eq=False)
class TreeTokens:
    """The roles of a vocabulary's tokens in a tree.

    Args:
        count: number of tokens.
        end: id of the symbol after a tree.
        word: id of the token that represents a word.
        closing: for each opening token, the token that closes its bracket.
    """

    count: int
    end: int
    word: int
    closing: dict[int, int]

    @classmethod
    def from_labels(cls, labels: Sequence[str], end: int) -> Self:
        """Find the roles from the labels of all tokens.

        Opening brackets without a closing token are left out.

        Raises:
            ValueError: if no token represents a word.
        """
        places = {label: number for number, label in enumerate(labels)}
        closing = {}
        for label, number in places.items():
            if is_opening(label) and is_closing(f"){label[1:]}") and f"){label[1:]}" in places:
                closing[number] = places[f"){label[1:]}"]
        if WORD not in places:
            raise ValueError(f"A vocabulary of trees needs the token {WORD}, which this one lacks.")
        return cls(len(labels), end, places[WORD], closing)

    def make_first_state(self, words: int, limit: int) -> TreeState:
        """Return the state before a tree of `words` words.

        The tree may have `limit` tokens, including the end symbol.
        """
        return TreeState(self, words, self.raise_limit(words, limit))

    @staticmethod
    def raise_limit(words: int, limit: int) -> int:
        """Return the limit, raised to the size of the smallest tree: one bracket and the end."""
        return max(limit, words + 3)


@dataclass(frozen=True, slots=True, eq=False)
class TreeState:
    """A partial tree.

    Args:
        tokens: the roles of the vocabulary's tokens.
        words: number of words that are still missing.
        left: number of tokens that may still be written, including the end.
        open: the tokens that close the open brackets, the innermost last.
        is_empty: whether the innermost bracket has no word yet.
    """

    tokens: TreeTokens
    words: int
    left: int
    open: tuple[int, ...] = ()
    is_empty: bool = True

    def advance(self, token: int) -> TreeState:
        """Return the state after `token`.

        A token that is not part of a tree changes only the length.
        """
        left = max(0, self.left - 1)
        if token in self.tokens.closing:
            opened = (*self.open, self.tokens.closing[token])
            return replace(self, left=left, open=opened, is_empty=True)
        if token == self.tokens.word:
            return replace(self, left=left, words=max(0, self.words - 1), is_empty=False)
        if self.open and token == self.open[-1]:
            return replace(self, left=left, open=self.open[:-1], is_empty=False)
        return replace(self, left=left)

    def find_allowed_tokens(self) -> Tensor:
        """Return which tokens can follow: bool [vocabulary]."""
        allowed_V = torch.zeros(self.tokens.count, dtype=torch.bool)
        if not self.words and not self.open:
            allowed_V[self.tokens.end] = True
            return allowed_V
        # The rest needs at least the missing words, the closing brackets, and the end.
        needed = self.words + len(self.open) + 1
        if self.words and self.left >= needed + 2:
            allowed_V[list(self.tokens.closing)] = True
        if self.words and self.open:
            allowed_V[self.tokens.word] = True
        # The root may close only after the last word, because a second root would start a second
        # tree.
        if self.open and not self.is_empty and (len(self.open) > 1 or not self.words):
            allowed_V[self.open[-1]] = True
        return allowed_V
