"""Sentences with their constituency trees from the GUM corpus (Zeldes 2017), one tree per line.

A parser made the trees from manual part-of-speech tags, so a model learns the decisions of that
parser. Texts of some genres are for non-commercial use only, so the corpus is not part of this
repository. The user's file has gzip-compressed lines of six tab-separated columns: split, document,
genre, words separated by spaces, their tags, and the linear tree without functions, traces and
root.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MAX_WORDS = 20
"""Maximum number of words in a sentence to parse."""
SPLITS = {"train": "train", "val": "dev", "test": "test", "test_genres": "test2"}
"""Maps this project's names of splits to the corpus's names. The genres of "test_genres" (GENTLE)
do not occur in training."""
_BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]"}


@dataclass(frozen=True, slots=True)
class Parsed:
    """A sentence and its tree."""

    # Words and punctuation, separated by single spaces.
    text: str
    # A linear tree, see `areaviz.trace.kinds`.
    tree: str
    genre: str

    @property
    def words(self) -> int:
        """The number of words and punctuation marks."""
        return len(self.text.split(" "))


def read_treebank(data: Path, split: str, longest: int = MAX_WORDS) -> list[Parsed]:
    """Read the sentences of "train", "val", "test" or "test_genres" with at most `longest` words.

    Raises:
        FileNotFoundError: The corpus is not in `data`.
    """
    path = data / "treebank" / "gum.linear.tsv.gz"
    if not path.exists():
        raise FileNotFoundError(
            f"{path} is missing. Make it from GUM's trees (areaviz/data/treebank.py says how)."
        )
    return [one for one in _iterate_sentences(path, SPLITS[split]) if one.words <= longest]


def _iterate_sentences(path: Path, split: str) -> Iterator[Parsed]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            own, _, genre, words, _, tree = line.rstrip("\n").split("\t")
            if own == split:
                text = " ".join(_BRACKETS.get(word, word) for word in words.split())
                yield Parsed(text, tree, genre)
