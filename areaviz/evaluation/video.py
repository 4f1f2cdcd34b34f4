"""Evaluation of video captioners on held-out clips, for the figures of their cards.

Shapes: T words of a sentence, N frames.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from areaviz.evaluation.action_films import evaluate_films
from areaviz.evaluation.best_pointing import MOMENTS, choose_moment_opening, measure_best_pointing
from areaviz.evaluation.measure import Measured, Options
from areaviz.measures.heads import compute_diagonal_dependence
from areaviz.measures.pointing import PointedWords
from areaviz.models.generation import GenerationModel
from areaviz.models.recurrent import RECURRENT_SITE
from areaviz.samples.digits import CLIP_FUNCTION_WORDS, DigitBank, MovingDigit, make_moving_digits
from areaviz.samples.own_media import make_clip
from areaviz.trace.areas import FloatArray
from areaviz.trace.query import item_shares, query_dependence, top_areas
from areaviz.trace.record import Trace
from areaviz.trace.request import Request

CLIPS, EACH = 1000, 100
"""Number of clips, and number of drawings of each digit that appear in them."""
SEEDS = {"val": 13, "test": 14}
"""Seeds of the digits and clips. Training and its validation use other seeds."""
KNOWN = 500
"""Number of validation clips from which the usual frames of actions are computed."""
Given = Sequence[tuple[Trace, MovingDigit]]
"""Clips, each with the model's trace of the clip's right sentence."""


def evaluate_video(model: GenerationModel, data: Path, split: str, options: Options) -> Measured:
    """Measure a video captioner on "val" or "test" by its sentences and its attention.

    Attention is measured while the model reads the right sentence word by word. `evaluate_films`
    measures models for films of people.
    """
    if model.card.recipe.get("clips") == "people":
        return evaluate_films(model, data, split, options)
    clips = draw_clips(split, CLIPS)
    written = _write_sentences(model, clips, options) if options.outputs else Measured({})
    if not (model.network.config.layers and options.traces):
        return written
    clips = clips[: options.traces]
    traced, raw = (
        trace_given_sentences(model, clips),
        trace_given_sentences(model.make_untrained(), clips),
    )
    attention = measure_attention(clips, traced, raw)
    words = collect_pointed_words(traced)
    opening = choose_moment_opening(
        model.card, RECURRENT_SITE, words, split, "words of validation clips"
    )
    if RECURRENT_SITE in opening:
        best, blank = opening[RECURRENT_SITE].best, collect_pointed_words(raw)
        attention |= measure_best_pointing("peak", words, blank, best, attention, MOMENTS)
    return replace(written, attention={f"{RECURRENT_SITE}, {split}": attention}, opening=opening)


def _write_sentences(
    model: GenerationModel, clips: Sequence[MovingDigit], options: Options
) -> Measured:
    """Write a sentence for every clip and score the sentences."""
    requests = []
    for clip in clips:
        given = make_clip("drawn", clip)
        requests.append(Request(model.card.name, "", options.method, options.beam, clip=given))
    written = model.generate_outputs(requests)
    figures = {
        "words": compute_word_accuracy(written, clips),
        "right": float(np.mean([text == c.text for text, c in zip(written, clips, strict=True)])),
        "clips": len(clips),
    }
    return Measured(figures, outputs=written)


def collect_pointed_words(given: Given) -> PointedWords:
    """Return the weights of every action word, and which areas have their middle in the action."""
    found = []
    for trace, clip in given:
        attention = trace.maps[RECURRENT_SITE]
        _, left_A, _, width_A = attention.grid.table().T
        middle_A = left_A + (width_A - 1) / 2
        queries, right = [], []
        for word, window in enumerate(clip.gold()):
            if window is not None:
                queries.append(word)
                right.append((window[0] <= middle_A) & (middle_A <= window[1] - 1))
        found.append(PointedWords.of(attention.weights, queries, np.array(right)))
    return PointedWords.joined(found)


def draw_clips(split: str, count: int) -> list[MovingDigit]:
    """Draw the clips of a split, which are the same for every model."""
    seed = SEEDS[split]
    return make_moving_digits(DigitBank(EACH, seed), np.random.default_rng(seed), count)


def compute_word_accuracy(written: Sequence[str], clips: Sequence[MovingDigit]) -> float:
    """Return the share of content words that are right and in the right place."""
    right = []
    for text, clip in zip(written, clips, strict=True):
        own = text.split()
        for place, word in enumerate(clip.text.split()):
            if word not in CLIP_FUNCTION_WORDS:
                right.append(place < len(own) and own[place] == word)
    return float(np.mean(right))


def measure_attention(clips: Sequence[MovingDigit], given: Given, raw: Given) -> dict[str, float]:
    """Return how often words of an action attend to its frames, with baselines.

    "peak": the middle of the top area is between the first and the last frame of the action (the
    frames of an area have equal attention, so no single frame is the peak). "first": the first of
    the frames with most attention belongs to the action. "area": all frames of the top area do.
    "multi_share": the share of words whose top area has several frames. "peak_uniform": a random
    frame. "peak_position": the frame in which first and second actions happen most often, over
    validation clips. "peak_untrained": the untrained network. "dependence": the mutual information
    of word and frame in bits. "dependence_diagonal": that of words at equal distances.

    Args:
        clips: The clips.
        given: Their traces.
        raw: Their traces by the untrained network.
    """
    found = [_measure_words(trace, clip) for trace, clip in given]
    blank = [_measure_words(trace, clip) for trace, clip in raw]
    peaks, firsts, areas, multi, bits, ceiling = (
        np.concatenate(part) for part in zip(*found, strict=True)
    )
    usual = find_usual_frames(draw_clips("val", KNOWN))
    return {
        "peak": float(peaks.mean()),
        "first": float(firsts.mean()),
        "area": float(areas.mean()),
        "multi_share": float(multi.mean()),
        "peak_uniform": float(np.mean([_compute_action_share(clip) for clip in clips])),
        "peak_position": float(np.mean([_compute_usual_frame_hits(clip, usual) for clip in clips])),
        "peak_untrained": float(np.concatenate([part[0] for part in blank]).mean()),
        "dependence": float(bits.mean()),
        "dependence_diagonal": float(ceiling.mean()),
        "dependence_untrained": float(np.concatenate([part[4] for part in blank]).mean()),
        "clips": len(clips),
    }


def find_usual_frames(clips: Sequence[MovingDigit]) -> tuple[int, int]:
    """Return the frames that most often belong to the first and to the second action."""
    counts = np.zeros((2, len(clips[0].frames)), int)
    for clip in clips:
        for which, (start, end) in enumerate(clip.windows):
            counts[which, start:end] += 1
    first, second = counts.argmax(1).tolist()
    return first, second


def trace_given_sentences(
    model: GenerationModel, clips: Sequence[MovingDigit]
) -> list[tuple[Trace, MovingDigit]]:
    """Return each clip with the model's trace of its right sentence."""
    found = []
    for clip in clips:
        request = Request(model.card.name, "", clip=make_clip("drawn", clip), target=clip.text)
        found.append((model.trace([request])[0], clip))
    return found


def _measure_words(trace: Trace, clip: MovingDigit) -> tuple[FloatArray, ...]:
    """Return the hits of every content word of an action, and the bits of the sentence.

    Returns:
        Four arrays with one number per word: whether its peak, its first frame and its area hit,
        and whether the area has several frames. Then the bits of the sentence and of a diagonal,
        one number each.
    """
    attention = trace.maps[RECURRENT_SITE]
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
    ceiling = [compute_diagonal_dependence(*shares_TN.shape)]
    return tuple(
        np.array(part, np.float32) for part in (peaks, firsts, areas, multi, bits, ceiling)
    )


def _compute_action_share(clip: MovingDigit) -> float:
    """Return the mean share of frames in an action's window, over the content words of actions."""
    frames = len(clip.frames)
    return float(np.mean([(w[1] - w[0]) / frames for w in clip.gold() if w is not None]))


def _compute_usual_frame_hits(clip: MovingDigit, usual: tuple[int, int]) -> float:
    """Return how often the usual frame of an action is in the action, over its content words."""
    found = []
    for window in clip.gold():
        if window is not None:
            start, end = window
            frame = usual[clip.windows.index(window)]
            found.append(start <= frame < end)
    return float(np.mean(found))
