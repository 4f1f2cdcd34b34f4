"""Batches of sentences: padded, shifted for a decoder, in buckets of similar length.

Shapes: N sentences, T target items. In a batch, B sentences and M source items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from areaviz.data.tokenizer import PAD, START

IdPair = tuple[list[int], list[int]]


@dataclass(frozen=True, slots=True)
class Batch:
    """Padded token ids of sentence pairs."""

    # [B, M]
    source: Tensor
    # [B, T], starting with the start symbol.
    target_in: Tensor
    # [B, T]
    target_out: Tensor

    def to(self, device: torch.device) -> Batch:
        """Return the batch on `device`."""
        parts = (self.source, self.target_in, self.target_out)
        return Batch(*(part.to(device) for part in parts))


def pad_rows(rows: Sequence[Sequence[int]]) -> Tensor:
    """Return rows of unequal length as one int64 matrix, padded on the right."""
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows])


def shift_targets(target_NT: Tensor) -> Tensor:
    """Return the decoder input for target rows: the start symbol, then all but the last item."""
    return F.pad(target_NT, (1, 0), value=START)[:, :-1]


def collate_pairs(pairs: Sequence[IdPair]) -> Batch:
    """Return a batch of pairs of id lists, which all end with the end symbol."""
    sources, targets = zip(*pairs, strict=True)
    target_out = pad_rows(targets)
    return Batch(pad_rows(sources), shift_targets(target_out), target_out)


def group_by_length(pairs: Sequence[IdPair], tokens: int, seed: int | None) -> list[list[int]]:
    """Group pairs of similar length, each group with at most about `tokens` padded target tokens.

    Returns:
        Lists of indices. With a seed, the lists and their order are shuffled. With None, both are
        sorted by length.
    """
    rng = np.random.default_rng(seed)
    lengths = np.array([(len(source), len(target)) for source, target in pairs])
    jitter = rng.random(lengths.shape) * (0 if seed is None else 2)
    sources, targets = (lengths + jitter).T
    groups: list[list[int]] = [[]]
    longest = 0
    for index in np.lexsort((sources, np.floor(targets))).tolist():
        longest = max(longest, len(pairs[index][1]))
        if groups[-1] and longest * (len(groups[-1]) + 1) > tokens:
            groups.append([])
            longest = len(pairs[index][1])
        groups[-1].append(index)
    return groups if seed is None else [groups[i] for i in rng.permutation(len(groups))]
