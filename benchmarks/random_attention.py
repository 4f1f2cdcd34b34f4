"""Random attention of 12 layers and 12 heads, for the benchmarks of pages."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from areaviz.trace.areas import AreaGrid
from areaviz.trace.record import AttentionMap, Field, Output, Trace
from areaviz.trace.request import Request

LAYERS = HEADS = 12
SITE = "encoder self"
Table = npt.NDArray[np.float32]


def random_words(rng: np.random.Generator, items: int) -> list[str]:
    """Return `items` words of two to seven characters."""
    return ["".join(rng.choice(list("aeilnorst"), rng.integers(2, 8))) for _ in range(items)]


def random_rows(rng: np.random.Generator, *shape: int) -> Table:
    """Return float32 weights whose rows sum to 1, with a few large ones in each row."""
    rows = rng.standard_exponential(shape, np.float32)
    rows **= 3
    rows /= rows.sum(-1, keepdims=True)
    return rows


def words_field(words: list[str]) -> Field:
    """Return a text of words in which each word is an item."""
    ends = np.cumsum([len(word) + 1 for word in words]) - 1
    anchors = np.stack([ends - [len(word) for word in words], ends], 1)
    return Field("source", "text", " ".join(words), tuple(words), anchors)


def windows(rows: Table, items: int) -> Table:
    """Return weights [layers, heads, N, areas] that are windows of rows [N + 144, areas].

    Nothing is copied.
    """
    row, column = rows.strides
    shape, strides = (LAYERS, HEADS, items, rows.shape[1]), (HEADS * row, row, row, column)
    return np.lib.stride_tricks.as_strided(rows, shape, strides, writeable=False)


def windows_trace(rows: Table, words: list[str], grid: AreaGrid) -> Trace:
    """Return self-attention whose heads and layers are windows of one table, without copies.

    Args:
        rows: [N + 144, areas]; every row is a distribution of its own.
        words: N words.
        grid: Areas of the words.
    """
    items = len(words)
    weights = windows(rows, items)
    field = words_field(words)
    attention = AttentionMap(SITE, "source", "source", grid, weights)
    output = Output("source", np.ones(items, np.float32), ((),) * items)
    return Trace(Request("random", field.raw), {"source": field}, output, {SITE: attention})
