"""What every task with sentences shares: its loss, its tokenizer, its longest sentence, and which
words occur.

Shapes: N sentences, T items, V vocabulary.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from torch import Tensor
from torch.nn import functional as F

from areaviz.data.grounding import FUNCTION_WORDS
from areaviz.data.tokenizer import PAD, Tokenizer


def cross_entropy(logits_NTV: Tensor, target_NT: Tensor, smoothing: float = 0.0) -> Tensor:
    """Cross-entropy of the next token in nats, the mean over a batch, padding left out."""
    return F.cross_entropy(
        logits_NTV.flatten(0, 1), target_NT.flatten(), ignore_index=PAD, label_smoothing=smoothing
    )


def total_loss(logits_NTV: Tensor, target_NT: Tensor) -> tuple[float, int]:
    """The summed cross-entropy of a batch's tokens in nats, and how many they are, padding left
    out.
    """
    logits = logits_NTV.float().flatten(0, 1)
    total = F.cross_entropy(logits, target_NT.flatten(), ignore_index=PAD, reduction="sum")
    return total.item(), int((target_NT != PAD).sum())


def mean_loss(totals: Iterable[tuple[float, int]]) -> float:
    """Cross-entropy a token over batches that each gave their `total_loss`: every token counts as
    much.
    """
    losses, tokens = zip(*totals, strict=True)
    return float(sum(losses) / sum(tokens))


def longest(rows: Iterable[Sequence[int]]) -> int:
    """The most tokens of a sentence, the end symbol that each row of ids has left out."""
    return max(map(len, rows)) - 1


def run_tokenizer(
    path: Path, texts: Iterable[str], vocabulary: int, level: str = "word"
) -> Tokenizer:
    """The run's tokenizer, learned from the training sentences on the first start."""
    if not path.exists():
        Tokenizer.train(texts, level, vocabulary).save(path)
    return Tokenizer.load(path)


def content_words(captions: Sequence[Sequence[str]], count: int) -> list[str]:
    """The words that occur in the captions of most pictures, function words left out; of equals the
    first by letter.

    A run that goes on has to find the same words in the same order: they are what its outputs stand
    for.
    """
    seen = Counter(
        word for texts in captions for word in {word for text in texts for word in text.split()}
    )
    return sorted(seen.keys() - FUNCTION_WORDS, key=lambda word: (-seen[word], word))[:count]


def word_labels(captions: Sequence[Sequence[str]], words: Sequence[str]) -> npt.NDArray[np.float32]:
    """Whether each word occurs in any caption of each picture: float32 [pictures, words]."""
    index = {word: number for number, word in enumerate(words)}
    labels = np.zeros((len(captions), len(words)), dtype=np.float32)
    for row, texts in enumerate(captions):
        labels[row, [index[word] for text in texts for word in text.split() if word in index]] = 1
    return labels
