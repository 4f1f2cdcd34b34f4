"""What every task with sentences shares: its loss, its shift, its tokenizer, and which words occur.

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
from areaviz.data.tokenizer import PAD, START, Tokenizer


def cross_entropy(logits_NTV: Tensor, target_NT: Tensor, smoothing: float = 0.0, reduction: str = "mean") -> Tensor:
    """Cross-entropy of the next token in nats, padding left out."""
    return F.cross_entropy(
        logits_NTV.flatten(0, 1),
        target_NT.flatten(),
        ignore_index=PAD,
        label_smoothing=smoothing,
        reduction=reduction,
    )


def shifted(target_NT: Tensor) -> Tensor:
    """What the decoder is fed: the start symbol, then the sentences but for their last item."""
    return F.pad(target_NT, (1, 0), value=START)[:, :-1]


def run_tokenizer(path: Path, texts: Iterable[str], vocabulary: int, level: str = "word") -> Tokenizer:
    """The run's tokenizer, learned from the training sentences on the first start."""
    if not path.exists():
        Tokenizer.train(texts, level, vocabulary).save(path)
    return Tokenizer.load(path)


def content_words(captions: Sequence[Sequence[str]], count: int) -> list[str]:
    """The words that occur in the captions of most pictures, function words left out."""
    seen = Counter(word for texts in captions for word in {word for text in texts for word in text.split()})
    return [word for word, _ in seen.most_common() if word not in FUNCTION_WORDS][:count]


def word_labels(captions: Sequence[Sequence[str]], words: Sequence[str]) -> npt.NDArray[np.float32]:
    """Whether each word occurs in any caption of each picture: float32 [pictures, words]."""
    index = {word: number for number, word in enumerate(words)}
    labels = np.zeros((len(captions), len(words)), dtype=np.float32)
    for row, texts in enumerate(captions):
        labels[row, [index[word] for text in texts for word in text.split() if word in index]] = 1
    return labels
