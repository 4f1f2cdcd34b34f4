"""Sentence pairs that translators learn from: gold ones, made ones, and their subwords by chance.

Made pairs lie in runs/made/NAME.tsv.gz, one pair a line, source and target between a tab;
`python -m areaviz.training.make_pairs` writes them.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from areaviz.data.batches import IdPair
from areaviz.data.multi30k import Pair
from areaviz.data.tokenizer import END, Segmented, Tokenizer
from areaviz.trace.errors import InputError
from areaviz.trace.files import whole_file

MADE = "made"
"""The folder of made pairs among the runs."""
WAYS = 8
"""How many of the best ways to cut a sentence into subwords are drawn from."""


def made_path(runs: Path, name: str) -> Path:
    """Where the made pairs of this name lie."""
    return runs / MADE / f"{name}.tsv.gz"


def read_made(runs: Path, name: str) -> list[Pair]:
    """The made pairs of this name; InputError where they were not made yet."""
    path = made_path(runs, name)
    if not path.exists():
        raise InputError(f"{path} is missing; make it with: python -m areaviz.training.make_pairs.")
    pairs = []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            source, _, target = line.rstrip("\n").partition("\t")
            pairs.append((source, target))
    return pairs


def write_made(runs: Path, name: str, pairs: Iterable[Pair]) -> Path:
    """Write made pairs, whole or not at all; returns the file. Pairs with an empty side go."""
    path = made_path(runs, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as draft, gzip.open(draft, "wt", encoding="utf-8") as lines:
        for source, target in pairs:
            # A tab or a new line would end a column or a pair.
            sides = [" ".join(text.split()) for text in (source, target)]
            if all(sides):
                lines.write("\t".join(sides) + "\n")
    return path


@dataclass(frozen=True, slots=True)
class SampledPairs:
    """Sentence pairs whose subwords are drawn anew each time (Kudo 2018, section 3).

    A way to cut a sentence is drawn of its `WAYS` best, in proportion to probability ** alpha.
    """

    pairs: Sequence[tuple[Segmented, Segmented]]
    alpha: float

    @classmethod
    def of(cls, tokenizer: Tokenizer, pairs: Sequence[Pair], alpha: float) -> SampledPairs:
        """All ways to cut the sentences; alpha: 0 draws all ways alike, much the best alone."""
        found = []
        for source, target in pairs:
            found.append((tokenizer.best_ways(source, WAYS), tokenizer.best_ways(target, WAYS)))
        return cls(found, alpha)

    def draw(self, index: int, rng: np.random.Generator) -> IdPair:
        """The ids of a pair, each side with its end symbol."""
        source, target = (self._ids(one, rng) for one in self.pairs[index])
        return source, target

    def _ids(self, ways: Segmented, rng: np.random.Generator) -> list[int]:
        chosen = int(rng.choice(len(ways), p=self._probabilities(ways)))
        return [*ways[chosen][0], END]

    def _probabilities(self, ways: Segmented) -> npt.NDArray[np.float64]:
        scores = self.alpha * np.array([score for _, score in ways])
        weights: npt.NDArray[np.float64] = np.exp(scores - scores.max())
        probabilities: npt.NDArray[np.float64] = weights / weights.sum()
        return probabilities
