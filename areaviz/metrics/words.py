"""The words of a text field and what attention they receive."""

from __future__ import annotations

import numpy as np

from areaviz.trace.query import merge_items, words
from areaviz.trace.record import Field, FloatArray


def word_runs(field: Field) -> list[tuple[int, int]]:
    """The items of every word as (start, end), in order; blanks and symbols that stand for no text
    are no words.
    """
    return [run for run in words(field) if _is_word(field, run)]


def word_attention(shares_QN: FloatArray, query: Field, memory: Field) -> FloatArray:
    """Attention between words: float32 [words of `query`, words of `memory`].

    Summed over the memory items of a word and averaged over its query items; a row sums to at most
    1, since the shares of blanks and symbols are left out. shares_QN: float32 [Q, N], such as
    `item_shares`.
    """
    queries, memories = words(query), words(memory)
    merged = merge_items(shares_QN, queries, memories)
    rows = [number for number, run in enumerate(queries) if _is_word(query, run)]
    columns = [number for number, run in enumerate(memories) if _is_word(memory, run)]
    return merged[np.ix_(rows, columns)]


def _is_word(field: Field, run: tuple[int, int]) -> bool:
    """Whether a run of items holds any text but blanks."""
    return bool(field.raw[field.anchors[run[0], 0] : field.anchors[run[1] - 1, 1]].strip())
