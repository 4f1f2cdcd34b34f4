"""A family of models: it writes the words of a sentence in reverse, and attends to what it copies.

It has learned nothing, so its checkpoint is a card alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from areaviz import Area, AreaGrid, AttentionMap, Field, InputError, Output, Request, Trace

CHECKPOINTS = Path(__file__).parent / "checkpoints"
MOST_WORDS = 64


class Mirror:
    """A loaded model."""

    @classmethod
    def load(cls, folder: Path, card: Any, device: Any, area_size: int | None = None) -> Mirror:
        """Read a checkpoint; there is nothing to read but the card."""
        return cls()

    def trace(
        self, requests: Sequence[Request], on_step: Callable[[int, int], None] | None = None
    ) -> list[Trace]:
        """Run requests; each gets its trace."""
        return [mirrored(request) for request in requests]


def mirrored(request: Request) -> Trace:
    """A word of the output attends by half to the word it copies, by half to the pair it ends."""
    words = request.text.split()
    if len(words) > MOST_WORDS:
        raise InputError(
            f"The sentence has {len(words):,} words but at most {MOST_WORDS} are possible; shorten"
            " it."
        )
    grid = AreaGrid(1, len(words), 1, min(2, len(words)))
    weights = np.zeros((1, 1, len(words), grid.count), np.float32)
    for query in range(len(words)):
        copied = len(words) - 1 - query
        pair = Area(0, max(0, copied - 1), 1, grid.max_width)
        weights[0, 0, query, grid.index(Area(0, copied, 1, 1))] += 0.5
        weights[0, 0, query, grid.index(pair)] += 0.5
    fields = {"source": field("source", words), "target": field("target", words[::-1])}
    sure = np.ones(len(words), np.float32)
    output = Output("target", sure, tuple(((word, 1.0),) for word in words[::-1]))
    site = "encoder-decoder"
    return Trace(
        request, fields, output, {site: AttentionMap(site, "target", "source", grid, weights)}
    )


def field(name: str, words: Sequence[str]) -> Field:
    """Words with one blank between them."""
    anchors = np.empty((len(words), 2), np.int64)
    start = 0
    for place, word in enumerate(words):
        anchors[place] = start, start + len(word)
        start += len(word) + 1
    return Field(name, "text", " ".join(words), tuple(words), anchors)
