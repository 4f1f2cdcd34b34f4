"""Fake traces and backends that replace trained checkpoints in tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from areaviz.cards.card import Card
from areaviz.trace.areas import AreaGrid
from areaviz.trace.record import AttentionMap, Field, Gaze, Output, Trace
from areaviz.trace.request import RATE, Clip, Picture, Request, Sound

SENTENCE = "A small dog runs."


def text_field(name: str, text: str, start: str = "", end: str = "⟨end⟩") -> Field:
    """Return a field with one item per character, and optional start and end symbols."""
    labels = [*([start] if start else []), *text, *([end] if end else [])]
    offsets = [*([(0, 0)] if start else []), *((i, i + 1) for i in range(len(text)))]
    offsets += [(len(text), len(text))] if end else []
    return Field(name, "text", text, tuple(labels), np.array(offsets, dtype=np.int64))


def attention_map(
    site: str,
    query: Field,
    memory: Field,
    layers: int = 2,
    heads: int = 4,
    area_size: int = 5,
    seed: int = 0,
) -> AttentionMap:
    """Return a map of random weights with a clear peak. "decoder self" is causal."""
    rng = np.random.default_rng(seed)
    grid = AreaGrid.clamped((1, len(memory)), (1, area_size))
    logits = rng.normal(0, 2, (layers, heads, len(query), grid.count)).astype(np.float32)
    if site == "decoder self":
        _, left, _, width = grid.table().T
        logits[..., (left + width - 1)[None, :] > np.arange(len(query))[:, None]] = -np.inf
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    return AttentionMap(
        site, query.name, memory.name, grid, weights / weights.sum(-1, keepdims=True)
    )


def trace(
    source: str = SENTENCE,
    target: str = "Ein kleiner Hund rennt.",
    layers: int = 2,
    heads: int = 4,
    area_size: int = 5,
) -> Trace:
    """Return a complete character-level translation trace with random attention."""
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
    return Trace(
        request,
        fields,
        Output("target", likely, alternatives),
        maps,
        {"device": "CPU", "seconds": "0.1"},
    )


def picture(name: str = "fake", width: int = 96, height: int = 64, seed: int = 0) -> Picture:
    """Return a picture with a gradient and a bright square."""
    y, x = np.mgrid[:height, :width]
    pixels = np.stack([x * 255 // width, y * 255 // height, np.full_like(x, 90)], 2).astype(
        np.uint8
    )
    pixels[height // 4 : height // 2, width // 2 : 3 * width // 4] = 250
    return Picture.of(name, pixels)


def sound(name: str = "fake", seconds: float = 1.0, seed: int = 0) -> Sound:
    """Return random noise as a sound."""
    rng = np.random.default_rng(seed)
    return Sound.of(name, rng.integers(-9000, 9000, int(seconds * RATE)).astype(np.int16))


def clip(name: str = "fake", frames: int = 6, seed: int = 0) -> Clip:
    """Return random noise as a clip."""
    rng = np.random.default_rng(seed)
    return Clip.of(name, rng.integers(0, 256, (frames, 8, 10, 3)).astype(np.uint8))


def sound_trace(text: str = "3141", seconds: float = 1.0) -> Trace:
    """Return a speech trace that finds the digits one after the other along the sound."""
    heard = sound(seconds=seconds)
    starts_M = np.arange(0, len(heard.samples) - 320, 320)
    labels = tuple(f"{start / RATE:.2f} s" for start in starts_M)
    anchors_M2 = np.stack([starts_M, starts_M + 320], 1)
    target = text_field("target", text)
    items = len(starts_M)
    weights_TM = np.full((len(target), items), 0.2 / items, np.float32)
    for row in range(len(target)):
        weights_TM[row, (2 * row + 1) * items // (2 * len(target))] += 0.8
    weights_TM /= weights_TM.sum(1, keepdims=True)
    attention = AttentionMap(
        "encoder-decoder",
        "target",
        "sound",
        AreaGrid(1, items, 1, 1),
        weights_TM[None, None],
        "softmax over areas",
    )
    fields = {"sound": Field("sound", "sound", "", labels, anchors_M2), "target": target}
    shares = np.linspace(0.9, 0.5, len(target)).astype(np.float32)
    likely = tuple(((label, float(p)),) for label, p in zip(target.labels, shares, strict=True))
    result = Output("target", shares, likely)
    request = Request("fake-listener", "", sound=heard)
    return Trace(request, fields, result, {"encoder-decoder": attention}, {"device": "cpu"})


def picture_field(seen: Picture, rows: int, columns: int) -> Field:
    """Return a field of the picture's cells, row by row."""
    tops, lefts = (
        np.linspace(0, seen.height, rows + 1).round(),
        np.linspace(0, seen.width, columns + 1).round(),
    )
    anchors = [
        (lefts[c], tops[r], lefts[c + 1], tops[r + 1]) for r in range(rows) for c in range(columns)
    ]
    labels = tuple(f"row {r + 1}, column {c + 1}" for r in range(rows) for c in range(columns))
    return Field("picture", "picture", "", labels, np.array(anchors, dtype=np.int64))


def caption_trace(
    words: str = "a small red circle",
    grid: int = 4,
    area_size: int = 2,
    layers: int = 2,
    heads: int = 4,
    hard: bool = False,
    seen: Picture | None = None,
) -> Trace:
    """Return a word-level caption trace with random attention to the picture's cells.

    With `hard`, each word reads exactly one area.
    """
    seen, tokens = seen or picture(), words.split()
    ends = np.cumsum([len(word) + 1 for word in tokens]) - 1
    anchors = np.stack([ends - [len(word) for word in tokens], ends], 1)
    target = Field(
        "target", "text", words, (*tokens, "⟨end⟩"), np.vstack([anchors, [[len(words)] * 2]])
    )
    history = Field("history", "text", words, ("⟨start⟩", *tokens), np.vstack([[[0, 0]], anchors]))
    cells = picture_field(seen, grid, grid)
    fields = {"picture": cells, "target": target, "history": history}
    areas = AreaGrid.clamped((grid, grid), (area_size, area_size))
    maps = {"decoder self": attention_map("decoder self", target, history, layers, heads, 1)}
    for seed, (site, query) in enumerate((("encoder self", cells), ("encoder-decoder", target))):
        logits = (
            np.random.default_rng(seed)
            .normal(0, 2, (layers, heads, len(query), areas.count))
            .astype(np.float32)
        )
        weights = np.exp(logits - logits.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        chosen = weights.argmax(-1) if hard and site == "encoder-decoder" else None
        maps[site] = AttentionMap(site, query.name, "picture", areas, weights, chosen=chosen)
    likely = np.linspace(0.9, 0.5, len(target)).astype(np.float32)
    alternatives = tuple(
        ((label, float(p)), ("ring", float(1 - p)))
        for label, p in zip(target.labels, likely, strict=True)
    )
    request = Request("captioner", "", picture=seen)
    return Trace(request, fields, Output("target", likely, alternatives), maps, {"device": "CPU"})


def doubly_trace(
    source: str = "a ? star",
    target: str = "ein roter Stern",
    grid: int = 4,
    layers: int = 2,
    heads: int = 4,
) -> Trace:
    """Return a word-level translation trace with random attention to the text and the picture."""
    described = caption_trace(target, grid, 1, layers, heads)
    fields = {"source": caption_trace(source).fields["target"], **described.fields}
    fields["source"] = replace(fields["source"], name="source")
    sites = {"encoder self": "source", "encoder-decoder": "source"}
    maps = {
        site: attention_map(
            site,
            fields["target" if "decoder" in site else "source"],
            fields[memory],
            layers,
            heads,
            1,
        )
        for site, memory in sites.items()
    }
    maps["decoder self"] = described.maps["decoder self"]
    maps["encoder-decoder picture"] = replace(
        described.maps["encoder-decoder"], site="encoder-decoder picture"
    )
    rng = np.random.default_rng(3)
    for site in ("encoder-decoder", "encoder-decoder picture"):
        strength = rng.uniform(0.1, 2, maps[site].weights.shape[:3]).astype(np.float32)
        maps[site] = replace(maps[site], strength=strength)
    return replace(
        described, request=replace(described.request, text=source), fields=fields, maps=maps
    )


def gaze_trace(site: str = "glimpses", steps: int = 3, scales: int = 2, side: int = 8) -> Trace:
    """Return a trace of glimpses at a picture, with a predicted label after each.

    With the site "transformer", each glimpse is a rotated square.
    """
    seen = picture("digit", 60, 60)
    labels = ("3", "3", "8")[-steps:]
    target = Field(
        "target", "text", "".join(labels), labels, np.array([(i, i + 1) for i in range(steps)])
    )
    whole = Field("picture", "picture", "", ("the picture",), np.array([[0, 0, 60, 60]]))
    rng = np.random.default_rng(0)
    middle = rng.uniform(15, 45, (steps, 1, 1, 2))
    half = side / 2 * 2.0 ** np.arange(scales)[None, :, None, None]
    square = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]], dtype=np.float32)
    if site == "transformer":
        square = square @ np.array([[0.9, 0.4], [-0.4, 0.9]], dtype=np.float32)
    corners = (middle + half * square).astype(np.float32)
    patches = rng.integers(0, 256, (steps, scales, side, side)).astype(np.uint8)
    likely = np.linspace(0.4, 0.95, steps).astype(np.float32)
    alternatives = tuple(
        ((label, float(p)), ("5", float(1 - p))) for label, p in zip(labels, likely, strict=True)
    )
    request = Request("reader", "", picture=seen)
    gazes = {site: Gaze(site, "target", "picture", corners, patches)}
    fields = {"picture": whole, "target": target}
    return Trace(
        request,
        fields,
        Output("target", likely, alternatives),
        {},
        {"answer": labels[-1]},
        gazes=gazes,
    )


class FakeBackend:
    """A base for fake backends: it has the given models, no problems and no device."""

    def __init__(self, cards: Mapping[str, Card] = MappingProxyType({})) -> None:
        self.cards = dict(cards)

    def models(self) -> dict[str, Card]:
        return self.cards

    def problems(self) -> tuple[str, ...]:
        return ()

    def device(self) -> str:
        return "nowhere"
