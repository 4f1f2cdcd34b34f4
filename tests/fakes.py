"""Fakes that stand in for trained checkpoints."""

from __future__ import annotations

import numpy as np

from areaviz.trace.areas import AreaGrid
from areaviz.trace.record import AttentionMap, Field, Output, Trace
from areaviz.trace.request import Request

SENTENCE = "A small dog runs."


def text_field(name: str, text: str, start: str = "", end: str = "⟨end⟩") -> Field:
    """One item a character, with an optional symbol in front and behind."""
    labels = [*([start] if start else []), *text, *([end] if end else [])]
    offsets = [*([(0, 0)] if start else []), *((i, i + 1) for i in range(len(text)))]
    offsets += [(len(text), len(text))] if end else []
    return Field(name, "text", text, tuple(labels), np.array(offsets, dtype=np.int64))


def attention_map(
    site: str, query: Field, memory: Field, layers: int = 2, heads: int = 4, area_size: int = 5, seed: int = 0
) -> AttentionMap:
    """Random weights with a clear peak; causal for "decoder self"."""
    rng = np.random.default_rng(seed)
    grid = AreaGrid.clamped((1, len(memory)), (1, area_size))
    logits = rng.normal(0, 2, (layers, heads, len(query), grid.count)).astype(np.float32)
    if site == "decoder self":
        _, left, _, width = grid.table().T
        logits[..., (left + width - 1)[None, :] > np.arange(len(query))[:, None]] = -np.inf
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    return AttentionMap(site, query.name, memory.name, grid, weights / weights.sum(-1, keepdims=True))


def trace(
    source: str = SENTENCE, target: str = "Ein kleiner Hund rennt.", layers: int = 2, heads: int = 4, area_size: int = 5
) -> Trace:
    """A whole character-level translation trace with random attention."""
    fields = {
        "source": text_field("source", source),
        "target": text_field("target", target),
        "history": text_field("history", target, start="⟨start⟩", end=""),
    }
    sites = {
        "encoder self": ("source", "source"),
        "decoder self": ("target", "history"),
        "encoder-decoder": ("target", "source"),
    }
    maps = {
        site: attention_map(site, fields[query], fields[memory], layers, heads, area_size, seed)
        for seed, (site, (query, memory)) in enumerate(sites.items())
    }
    count = len(fields["target"])
    likely = np.random.default_rng(9).uniform(0.2, 0.99, count).astype(np.float32)
    alternatives = tuple(
        ((label, float(p)), ("e", float((1 - p) * 0.7)), ("n", float((1 - p) * 0.3)))
        for label, p in zip(fields["target"].labels, likely, strict=True)
    )
    request = Request(model="char-tiny-area", text=source)
    return Trace(request, fields, Output("target", likely, alternatives), maps, {"device": "CPU", "seconds": "0.1"})
