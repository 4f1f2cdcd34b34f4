"""Sentences with their constituency trees: the GUM corpus (Zeldes 2017), trees as linear rows.

The trees are a parser's, made from part-of-speech tags by hand: a model learns that parser's
judgement. Texts of some genres are for non-commercial use; the corpus is not part of this
repository. It is stored as lines of six columns between tabs, packed by gzip: split, document,
genre, words between blanks, their tags, and the linear tree without functions, traces and root.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LONGEST = 20
"""Words of the sentences that are parsed."""
SPLITS = {"train": "train", "val": "dev", "test": "test", "test_genres": "test2"}
"""Our name of a split -> the corpus's; the last has genres that are not in training (GENTLE)."""
_BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]"}
_APART = (
    # Marks around words; full stops within "U.S." or "3.5" stay.
    (re.compile(r"([“”\"()\[\]?!;…$€£%/&—–]|--|\.{2,})"), r" \1 "),
    (re.compile(r"(?<=\w)-(?=\w)"), " - "),
    (re.compile(r"([,:])(?=\s|$)"), r" \1"),
    # The last stop of a sentence, but not that of "U.S.".
    (re.compile(r"(?<!\.)(?<!\.[^\W\d_])\.(?=\s*[”\")\]]*\s*$)"), " ."),
    # What English writes as one word and a treebank as two.
    (re.compile(r"(?i)(?<=\w)(n['’]t)\b"), r" \1"),
    (re.compile(r"(?i)(?<=\w)(['’](?:s|re|ve|ll|d|m))\b"), r" \1"),
    (re.compile(r"(?i)\b(can)(not)\b"), r"\1 \2"),
    (re.compile(r"(?i)\b(gon)(na)\b"), r"\1 \2"),
)


@dataclass(frozen=True, slots=True)
class Parsed:
    """A sentence and its tree."""

    # Words and marks, with single blanks between.
    text: str
    # As `areaviz.trace.tree` reads it.
    tree: str
    genre: str

    @property
    def words(self) -> int:
        """How many words and marks there are."""
        return len(self.text.split(" "))


def read_treebank(data: Path, split: str, longest: int = LONGEST) -> list[Parsed]:
    """The sentences of "train", "val", "test" or "test_genres" of at most so many words.

    Raises:
        FileNotFoundError: the corpus is not in `data`.
    """
    path = data / "treebank" / "gum.linear.tsv.gz"
    if not path.exists():
        raise FileNotFoundError(
            f"{path} is missing; make it of GUM's trees (areaviz/data/treebank.py says how)."
        )
    return [one for one in _sentences(path, SPLITS[split]) if one.words <= longest]


def _sentences(path: Path, split: str) -> Iterator[Parsed]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            own, _, genre, words, _, tree = line.rstrip("\n").split("\t")
            if own == split:
                text = " ".join(_BRACKETS.get(word, word) for word in words.split())
                yield Parsed(text, tree, genre)


def apart(sentence: str) -> str:
    """A sentence with its marks and its shortened words standing alone, as a treebank has them."""
    for pattern, replacement in _APART:
        sentence = pattern.sub(replacement, sentence)
    return " ".join(sentence.split())
