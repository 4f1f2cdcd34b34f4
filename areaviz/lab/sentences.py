"""What tasks with sentences share: losses, word labels, and pairs that a model made."""

from __future__ import annotations

import gzip
import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from torch import Tensor
from torch.nn import functional as F

from areaviz.lab.multi30k import Pair
from areaviz.measures.pointing import Floats, is_pointing_right
from areaviz.models.base import TOKENIZER
from areaviz.models.tokenizer import END, PAD, IdPair, Segmented, Tokenizer
from areaviz.samples.dataset import FUNCTION_WORDS, Boxes
from areaviz.trace.areas import AreaGrid
from areaviz.trace.errors import InputError
from areaviz.trace.safe_files import write_whole_file

# Functions that tasks with sentences share: loss, tokenizer, word labels and pointing accuracy.
#
# Shapes: N sentences, T items, V vocabulary, B examples, Q queries (tokens), A areas.


POINTED = 320
"""Number of validation pictures on which pointing accuracy is measured.

The result is stable with this number, and measuring it takes little time.
"""
WORTH = 0.3
"""Weight of pointing accuracy, 0..1, in a score, relative to the validation loss in nats."""
CHOSEN_BY = f"validation loss - {WORTH} x pointing accuracy"


def compute_cross_entropy(logits_NTV: Tensor, target_NT: Tensor, smoothing: float = 0.0) -> Tensor:
    """Compute the mean cross-entropy of the next token in a batch, in nats, without padding."""
    return F.cross_entropy(
        logits_NTV.flatten(0, 1), target_NT.flatten(), ignore_index=PAD, label_smoothing=smoothing
    )


def sum_loss(logits_NTV: Tensor, target_NT: Tensor) -> tuple[float, int]:
    """Return the summed cross-entropy of a batch in nats and its token count, without padding."""
    logits = logits_NTV.float().flatten(0, 1)
    total = F.cross_entropy(logits, target_NT.flatten(), ignore_index=PAD, reduction="sum")
    return total.item(), int((target_NT != PAD).sum())


def mean_loss(totals: Iterable[tuple[float, int]]) -> float:
    """Return the cross-entropy per token, given the `sum_loss` of several batches."""
    losses, tokens = zip(*totals, strict=True)
    return float(sum(losses) / sum(tokens))


def find_longest(rows: Iterable[Sequence[int]]) -> int:
    """Return the number of tokens in the longest sentence.

    The end symbol of each row of ids does not count.
    """
    return max(map(len, rows)) - 1


def run_tokenizer(
    path: Path,
    texts: Iterable[str],
    vocabulary: int,
    level: str = "word",
    symbols: Sequence[str] = (),
    normalised: bool = True,
    start_run: str = "",
) -> Tokenizer:
    """Return the tokenizer of a run.

    It is learned from the training sentences on the first start, or copied from the start run.

    Args:
        path: The file of the tokenizer in the folder of the run.
        texts: The training sentences.
        vocabulary: Maximum number of tokens.
        level: "character", "token" or "word".
        symbols: Symbols that are never split.
        normalised: Whether texts are normalised before they are split.
        start_run: Name of the run from whose weights this run starts, or "" for none. The
            embeddings of these weights depend on its token ids.
    """
    if start_run and not path.exists():
        shutil.copyfile(path.parent.parent / start_run / TOKENIZER, path)
    elif not path.exists():
        Tokenizer.train(texts, level, vocabulary, symbols, normalised).save(path)
    return Tokenizer.load(path)


def choose_content_words(captions: Sequence[Sequence[str]], count: int) -> list[str]:
    """Return the `count` words that occur in the captions of the most pictures.

    Function words are left out. Ties are broken alphabetically, because a resumed run must find the
    words in the order of its outputs.
    """
    seen: Counter[str] = Counter()
    for texts in captions:
        seen.update({word for text in texts for word in text.split()})
    return sorted(seen.keys() - FUNCTION_WORDS, key=lambda word: (-seen[word], word))[:count]


def label_words(captions: Sequence[Sequence[str]], words: Sequence[str]) -> npt.NDArray[np.float32]:
    """Return whether each word occurs in any caption of each picture: float32 [pictures, words]."""
    index = {word: number for number, word in enumerate(words)}
    labels = np.zeros((len(captions), len(words)), dtype=np.float32)
    for row, texts in enumerate(captions):
        for word in " ".join(texts).split():
            if word in index:
                labels[row, index[word]] = 1
    return labels


def find_words_pointed_right(
    weights_BQA: Floats,
    areas: AreaGrid,
    tokenizer: Tokenizer,
    sentences: Sequence[tuple[str, Boxes]],
) -> list[bool]:
    """Return whether attention points into a box, for each boxed word of the sentences."""
    found = []
    for weights_QA, (text, boxed) in zip(weights_BQA, sentences, strict=True):
        tokens = tokenizer.find_word_starts(text)
        for word, boxes in boxed:
            found.append(is_pointing_right(weights_QA[tokens[word]], areas, boxes))
    return found


# Training pairs for translators: pairs that a model made, and sampling of subwords.
#
# Made pairs are in runs/made/NAME.tsv.gz, with one pair per line and a tab between source and
# target. `python -m areaviz.lab.make_pairs` writes them.


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
        raise InputError(f"{path} is missing. Make it with: python -m areaviz.lab.make_pairs")
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
