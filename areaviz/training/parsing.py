"""Training of parsers: translators from a sentence to its tree, written as a sequence of tokens.

Vinyals et al. 2015, "Grammar as a foreign language".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar

from areaviz.data.multi30k import Pair
from areaviz.data.treebank import LONGEST, read_treebank
from areaviz.training.config import TrainConfig
from areaviz.training.sentences import longest
from areaviz.training.task import Description
from areaviz.training.translation import Translation, TranslationConfig, length_limit

DATA = {
    "name": f"GUM (Zeldes 2017), sentences of at most {LONGEST} words",
    "train": "sentences of the corpus's training documents",
    "valid": "1,040 sentences of other documents, used to choose the checkpoint",
    "test": "902 sentences of further documents, read once; test_genres: 1,072 of GENTLE, genres"
    " that training never saw",
    "gold": "The trees are a parser's, made from part-of-speech tags by hand; a model learns that"
    " parser's judgement.",
    "licence": "annotations CC BY 4.0, texts under licences of their own, some for non-commercial"
    " use; the corpus is not part of this repository",
}
LICENCE = "Apache-2.0 for the weights file; trained on texts some of which are non-commercial"
LIMITS = (
    f"Trained on English sentences of at most {LONGEST} words, marks counted. Trees of longer ones"
    " are often wrong, and its judges of what is right were a parser's trees."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsingConfig(TranslationConfig):
    """The recipe of a parser.

    Args:
        longest_trained: Number of words in the longest training sentence. A larger limit adds
            training data; validation keeps `LONGEST`.
        grammar: Constraint on the trees while they are written, a key of `GRAMMARS`, or "" for
            none.
    """

    longest_trained: int = LONGEST
    grammar: str = "trees"


@dataclass(slots=True)
class Parsing(Translation):
    """The parsing task: sentences and their linearised trees."""

    Recipe: ClassVar[type[TrainConfig]] = ParsingConfig

    @classmethod
    def read(cls, config: TranslationConfig, data: Path, split: str) -> list[Pair]:
        """Read the sentences of "train" or "val" with their trees."""
        words = LONGEST
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
        options = self.network.config
        return Description(
            family=self.config.network,
            title=f"Trees, {options.about}",
            task="parsing",
            level=self.config.level,
            mechanism=options.mechanism,
            size=self.config.size,
            trained_length=longest(source for source, _ in self.train_pairs),
            config=asdict(options),
            data=DATA | {"train": f"{len(self.train_pairs):,} {DATA['train']}"},
            limits=LIMITS,
            licence=LICENCE,
            recipe={
                "length_limit": length_limit(self.valid_pairs),
                "chosen_by": "validation loss",
            },
        )
