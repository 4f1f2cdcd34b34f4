"""A watcher and held-out clips in, the figures of its card out.

Shapes: T words of a sentence, N frames.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from areaviz.data.clip_samples import clip_of
from areaviz.data.moving_digits import FUNCTION_WORDS, DigitBank, MovingDigit, moving_digits
from areaviz.evaluation.films import evaluate_films
from areaviz.evaluation.measure import Measured, Options
from areaviz.metrics.heads import diagonal_dependence
from areaviz.models.recurrent import SITE
from areaviz.models.writing import WritingModel
from areaviz.trace.query import item_shares, query_dependence, top_areas
from areaviz.trace.record import FloatArray, Trace
from areaviz.trace.request import Request

CLIPS, EACH = 1000, 100
"""How many clips are drawn, and of how many drawn digits of each kind."""
SEEDS = {"val": 13, "test": 14}
"""Of the digits and the clips; training and its validation have others."""
KNOWN = 500
"""Clips of validation that say where actions are on average."""


def evaluate_video(model: WritingModel, data: Path, split: str, options: Options) -> Measured:
    """Measure a watcher on "val" or "test": what it writes freely, and where it looks.

    Attention is that of the sentence that is right, given word by word. A watcher of people is
    measured by `evaluate_films`.
    """
    if model.card.recipe.get("clips") == "people":
        return evaluate_films(model, data, split, options)
    clips = drawn(split, CLIPS)
    requests = []
    for clip in clips:
        given = clip_of("drawn", clip)
        requests.append(Request(model.card.name, "", options.method, options.beam, clip=given))
    written = model.outputs(requests)
    figures = {
        "words": word_accuracy(written, clips),
        "right": float(np.mean([text == c.text for text, c in zip(written, clips, strict=True)])),
        "clips": len(clips),
    }
    attention = {}
    if model.network.config.layers and options.traces:
        attention[f"{SITE}, {split}"] = attention_figures(model, clips[: options.traces])
    return Measured(figures, attention, outputs=written)


def drawn(split: str, count: int) -> list[MovingDigit]:
    """The clips of a split, the same for every model."""
    seed = SEEDS[split]
    return moving_digits(DigitBank(EACH, seed), np.random.default_rng(seed), count)


def word_accuracy(written: Sequence[str], clips: Sequence[MovingDigit]) -> float:
    """The share of telling words that stand, right, where they have to."""
    right = []
    for text, clip in zip(written, clips, strict=True):
        own = text.split()
        for place, word in enumerate(clip.text.split()):
            if word not in FUNCTION_WORDS:
                right.append(place < len(own) and own[place] == word)
    return float(np.mean(right))


def attention_figures(model: WritingModel, clips: Sequence[MovingDigit]) -> dict[str, float]:
    """How often words of an action attend to its frames, beside what does without attention.

    "peak": the middle of the heaviest area lies between the first and the last frame of the action
    (its frames have the same attention, so none of them is the peak). "first": the first of the
    frames with most attention is one of the action's. "area": all frames of the heaviest area are.
    "multi_share": words whose heaviest area has several frames. "peak_uniform": a frame at random.
    "peak_position": the frame in which first and second actions are most often, over clips of
    validation. "peak_untrained": the same network before it learned. "dependence": bits that the
    frame tells of the word, beside those of words at equal distances.
    """
    found = [_looks(trace, clip) for trace, clip in _given(model, clips)]
    raw = [_looks(trace, clip) for trace, clip in _given(model.untrained(), clips)]
    peaks, firsts, areas, multi, bits, ceiling = (
        np.concatenate(part) for part in zip(*found, strict=True)
    )
    usual = usual_frames(drawn("val", KNOWN))
    return {
        "peak": float(peaks.mean()),
        "first": float(firsts.mean()),
        "area": float(areas.mean()),
        "multi_share": float(multi.mean()),
        "peak_uniform": float(np.mean([_share(clip) for clip in clips])),
        "peak_position": float(np.mean([_hits(clip, usual) for clip in clips])),
        "peak_untrained": float(np.concatenate([part[0] for part in raw]).mean()),
        "dependence": float(bits.mean()),
        "dependence_diagonal": float(ceiling.mean()),
        "dependence_untrained": float(np.concatenate([part[4] for part in raw]).mean()),
        "clips": len(clips),
    }


def usual_frames(clips: Sequence[MovingDigit]) -> tuple[int, int]:
    """The frames that are most often of the first and of the second action."""
    counts = np.zeros((2, len(clips[0].frames)), int)
    for clip in clips:
        for which, (start, end) in enumerate(clip.windows):
            counts[which, start:end] += 1
    first, second = counts.argmax(1).tolist()
    return first, second


def _given(model: WritingModel, clips: Sequence[MovingDigit]) -> list[tuple[Trace, MovingDigit]]:
    found = []
    for clip in clips:
        request = Request(model.card.name, "", clip=clip_of("drawn", clip), target=clip.text)
        found.append((model.trace([request])[0], clip))
    return found


def _looks(trace: Trace, clip: MovingDigit) -> tuple[FloatArray, ...]:
    """Of every telling word of an action: whether its peak, its first frame and its area hit, and
    whether that has several frames; then the bits of the sentence and of a diagonal, a number each.
    """
    attention = trace.maps[SITE]
    shares_TN = item_shares(attention, 0, None)
    peaks, firsts, areas, multi = [], [], [], []
    for word, window in enumerate(clip.gold()):
        if window is None:
            continue
        start, end = window
        area = top_areas(attention, 0, None, word, k=1)[0].area
        peaks.append(start <= area.left + (area.width - 1) / 2 <= end - 1)
        firsts.append(start <= int(shares_TN[word].argmax()) < end)
        areas.append(start <= area.left and area.left + area.width <= end)
        multi.append(area.width > 1)
    bits = [query_dependence(shares_TN)[0]]
    ceiling = [diagonal_dependence(*shares_TN.shape)]
    return tuple(
        np.array(part, np.float32) for part in (peaks, firsts, areas, multi, bits, ceiling)
    )


def _share(clip: MovingDigit) -> float:
    """The share of frames, over the telling words of both actions."""
    frames = len(clip.frames)
    return float(np.mean([(w[1] - w[0]) / frames for w in clip.gold() if w is not None]))


def _hits(clip: MovingDigit, usual: tuple[int, int]) -> float:
    """How often the usual frame of an action is one of its own, over the telling words."""
    found = []
    for window in clip.gold():
        if window is not None:
            start, end = window
            frame = usual[clip.windows.index(window)]
            found.append(start <= frame < end)
    return float(np.mean(found))
