"""Training of parsers: translators from a sentence to its tree, written as a sequence of tokens.

Vinyals et al. 2015, "Grammar as a foreign language".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from areaviz.data.multi30k import Pair
from areaviz.data.treebank import MAX_WORDS, read_treebank
from areaviz.training.about import read_training_texts
from areaviz.training.config import TrainConfig
from areaviz.training.task import Description
from areaviz.training.translation import Translation, TranslationConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsingConfig(TranslationConfig):
    """The recipe of a parser.

    Args:
        longest_trained: Maximum number of words in a training sentence. Validation sentences have
            at most `LONGEST` words.
        grammar: Grammar that the written trees must follow, a key of `GRAMMARS`, or "" for none.
    """

    longest_trained: int = MAX_WORDS
    grammar: str = "trees"


@dataclass(slots=True)
class Parsing(Translation):
    """The parsing task: sentences and their linearised trees."""

    Recipe: ClassVar[type[TrainConfig]] = ParsingConfig

    @classmethod
    def read(cls, config: TranslationConfig, data: Path, split: str) -> list[Pair]:
        """Read the sentences of "train" or "val" with their trees."""
        words = MAX_WORDS
        if split == "train" and isinstance(config, ParsingConfig):
            words = config.longest_trained
        return [(one.text, one.tree) for one in read_treebank(data, split, words)]

    @classmethod
    def texts(cls, pairs: Sequence[Pair]) -> tuple[list[str], list[str]]:
        """Return the sentences, and the symbols of the trees, which are one token each.

        The symbols are brackets and placeholders of words.
        """
        symbols = {token for _, tree in pairs for token in tree.split()}
        return [sentence for sentence, _ in pairs], sorted(symbols)

    def describe(self) -> Description:
        """Return the task's part of the model card."""
        texts = read_training_texts("parsing", longest=MAX_WORDS, count=len(self.train_pairs))
        return replace(
            Translation.describe(self),
            title=f"Trees, {self.network.config.about}",
            task="parsing",
            data=texts.data,
            limits=texts.limits,
            licence=texts.licence,
        )
