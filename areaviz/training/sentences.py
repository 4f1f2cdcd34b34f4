"""What every task that writes sentences shares: its loss, its shift, its tokenizer of words.

Shapes: N sentences, T items, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from torch import Tensor
from torch.nn import functional as F

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


def word_tokenizer(path: Path, texts: Iterable[str], vocabulary: int) -> Tokenizer:
    """The run's tokenizer of words, learned from the training sentences on the first start."""
    if not path.exists():
        Tokenizer.train(texts, "word", vocabulary).save(path)
    return Tokenizer.load(path)
