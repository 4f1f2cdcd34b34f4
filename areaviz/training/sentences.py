"""Functions that tasks with sentences share: loss, tokenizer, word labels and pointing accuracy.

Shapes: N sentences, T items, V vocabulary, B examples, Q queries (tokens), A areas.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from torch import Tensor
from torch.nn import functional as F

from areaviz.measures.pointing import Floats, is_pointing_right
from areaviz.models.base import TOKENIZER
from areaviz.models.tokenizer import PAD, Tokenizer
from areaviz.samples.dataset import FUNCTION_WORDS, Boxes
from areaviz.trace.areas import AreaGrid

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
