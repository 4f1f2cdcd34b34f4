"""The grammar of linear trees: brackets balance, and there are as many words as in the sentence.

See `areaviz.trace.tree` for the form. The tree has one root, and every bracket has a word in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor

from areaviz.trace.tree import WORD, is_closing, is_opening


@dataclass(frozen=True, slots=True, eq=False)
class TreeTokens:
    """What the tokens of a vocabulary are to a tree.

    Args:
        count: of all tokens.
        end: id of the symbol after a tree.
        word: id of the token that stands for a word.
        closing: opening token -> the token that closes its bracket.
    """

    count: int
    end: int
    word: int
    closing: dict[int, int]

    @classmethod
    def of(cls, labels: Sequence[str], end: int) -> Self:
        """Of what every token shows; a bracket that nothing closes is left out.

        Raises:
            ValueError: no token stands for a word.
        """
        places = {label: number for number, label in enumerate(labels)}
        closing = {}
        for label, number in places.items():
            if is_opening(label) and is_closing(f"){label[1:]}") and f"){label[1:]}" in places:
                closing[number] = places[f"){label[1:]}"]
        if WORD not in places:
            raise ValueError(f"A vocabulary of trees needs the token {WORD}, which this one lacks.")
        return cls(len(labels), end, places[WORD], closing)

    def begin(self, words: int, limit: int) -> TreeState:
        """The state before a tree of so many words, of at most `limit` tokens with the end."""
        return TreeState(self, words, self.enough(words, limit))

    @staticmethod
    def enough(words: int, limit: int) -> int:
        """The limit, or as many tokens as the smallest tree has: one bracket and the end."""
        return max(limit, words + 3)


@dataclass(frozen=True, slots=True, eq=False)
class TreeState:
    """A tree as far as it is written.

    Args:
        tokens: of the vocabulary.
        words: that are still to come.
        left: how many tokens may still be written, the end included.
        open: the tokens that close the open brackets, the innermost last.
        is_empty: whether the innermost bracket has no word yet.
    """

    tokens: TreeTokens
    words: int
    left: int
    open: tuple[int, ...] = ()
    is_empty: bool = True

    def after(self, token: int) -> TreeState:
        """The state once `token` is written; what no tree has changes nothing but the length."""
        left = max(0, self.left - 1)
        if token in self.tokens.closing:
            opened = (*self.open, self.tokens.closing[token])
            return replace(self, left=left, open=opened, is_empty=True)
        if token == self.tokens.word:
            return replace(self, left=left, words=max(0, self.words - 1), is_empty=False)
        if self.open and token == self.open[-1]:
            return replace(self, left=left, open=self.open[:-1], is_empty=False)
        return replace(self, left=left)

    def allowed(self) -> Tensor:
        """Which tokens can follow: bool [vocabulary]."""
        allowed_V = torch.zeros(self.tokens.count, dtype=torch.bool)
        if not self.words and not self.open:
            allowed_V[self.tokens.end] = True
            return allowed_V
        # What has to be written at least: the words, what closes open brackets, and the end.
        needed = self.words + len(self.open) + 1
        if self.words and self.left >= needed + 2:
            allowed_V[list(self.tokens.closing)] = True
        if self.words and self.open:
            allowed_V[self.tokens.word] = True
        # The root closes behind the last word, for a second one would be another tree.
        if self.open and not self.is_empty and (len(self.open) > 1 or not self.words):
            allowed_V[self.open[-1]] = True
        return allowed_V
