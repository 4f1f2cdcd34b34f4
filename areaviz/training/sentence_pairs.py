"""Training pairs for translators: pairs that a model made, and sampling of subwords.

Made pairs are in runs/made/NAME.tsv.gz, with one pair per line and a tab between source and target.
`python -m areaviz.training.make_pairs` writes them.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from areaviz.data.multi30k import Pair
from areaviz.models.tokenizer import END, IdPair, Segmented, Tokenizer
from areaviz.trace.errors import InputError
from areaviz.trace.safe_files import write_whole_file

MADE = "made"
"""The folder of made pairs inside the folder of runs."""
WAYS = 8
"""Number of most probable segmentations of a sentence from which one is drawn."""


def find_made_pairs(runs: Path, name: str) -> Path:
    """Return the path of the made pairs with this name."""
    return runs / MADE / f"{name}.tsv.gz"


def read_made(runs: Path, name: str) -> list[Pair]:
    """Read the made pairs with this name.

    Raises:
        InputError: The pairs have not been made yet.
    """
    path = find_made_pairs(runs, name)
    if not path.exists():
        raise InputError(f"{path} is missing. Make it with: python -m areaviz.training.make_pairs")
    pairs = []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            source, _, target = line.rstrip("\n").partition("\t")
            pairs.append((source, target))
    return pairs


def write_made(runs: Path, name: str, pairs: Iterable[Pair]) -> Path:
    """Write made pairs to their file, and return its path.

    The file appears only when it is complete. Pairs with an empty source or target are left out.
    """
    path = find_made_pairs(runs, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    with write_whole_file(path) as draft, gzip.open(draft, "wt", encoding="utf-8") as lines:
        for source, target in pairs:
            # A tab would end a column, and a new line would end a pair.
            sides = [" ".join(text.split()) for text in (source, target)]
            if all(sides):
                lines.write("\t".join(sides) + "\n")
    return path


@dataclass(frozen=True, slots=True)
class SampledPairs:
    """Sentence pairs with a new random subword segmentation each time (Kudo 2018, section 3).

    One of the `WAYS` most probable segmentations of a sentence is drawn, with probabilities in
    proportion to p ** alpha.
    """

    pairs: Sequence[tuple[Segmented, Segmented]]
    alpha: float

    @classmethod
    def of(cls, tokenizer: Tokenizer, pairs: Sequence[Pair], alpha: float) -> SampledPairs:
        """Find the `WAYS` most probable segmentations of all sentences.

        Args:
            tokenizer: The tokenizer.
            pairs: Sentence pairs.
            alpha: Exponent of the probabilities. 0 draws all segmentations equally often, and a
                large value nearly always draws the most probable one.
        """
        found = []
        for source, target in pairs:
            found.append(
                (
                    tokenizer.list_best_segmentations(source, WAYS),
                    tokenizer.list_best_segmentations(target, WAYS),
                )
            )
        return cls(found, alpha)

    def draw(self, index: int, rng: np.random.Generator) -> IdPair:
        """Draw the ids of a pair, each side with its end symbol."""
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
