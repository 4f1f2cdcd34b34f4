"""Evaluation of speech recognisers on strings of spoken digits, for the results on model cards.

Shapes: T digits of a string, M items of the string's sound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from areaviz.data.spoken_digits import Recordings, Utterance, join_recordings, read_recordings
from areaviz.evaluation.best_pointing import MOMENTS, choose_moment_opening, measure_best_pointing
from areaviz.evaluation.measure import Measured, Options
from areaviz.measures.heads import compute_diagonal_dependence
from areaviz.measures.pointing import PointedWords
from areaviz.measures.references import compute_error_rate, find_boundary_hits, find_items_inside
from areaviz.models.generation import GenerationModel
from areaviz.models.recurrent import RECURRENT_SITE
from areaviz.models.speech import SAMPLES_PER_ITEM
from areaviz.trace.query import query_dependence
from areaviz.trace.request import Request, Sound

STRINGS, LONG_STRINGS = 500, 200
"""Number of strings with as many digits as in training, and number of longer strings."""
COUNTS, LONG_COUNTS = (6, 10), (12, 14)
REPEATS, LONG_REPEATS = 0.3, 0.8
"""Probability that a digit repeats the previous one, in addition to repetitions by chance."""
AT_ONCE = 50

FloatArray = npt.NDArray[np.float32]


def evaluate_speech(model: GenerationModel, data: Path, split: str, options: Options) -> Measured:
    """Measure a speech recogniser on "val" or "test" by its transcripts and its attention.

    Attention is measured while the model receives the correct digits as its previous outputs.
    """
    recordings = read_recordings(data, split)
    strings = draw_strings(recordings, 2, STRINGS, COUNTS, REPEATS)
    weights = trace_weights(model, strings)
    written = Measured({})
    if options.outputs:
        long = draw_strings(recordings, 3, LONG_STRINGS, LONG_COUNTS, LONG_REPEATS)
        written = _write_transcripts(
            model, strings, long, compute_hit_share(weights, strings), options
        )
    known = draw_strings(read_recordings(data, "val"), 4, STRINGS, COUNTS, REPEATS)
    attention = measure_attention(model, weights, strings, known)
    words = collect_pointed_words(weights, strings)
    opening = choose_moment_opening(
        model.card, RECURRENT_SITE, words, split, "digits of validation strings"
    )
    if RECURRENT_SITE in opening:
        blank = collect_pointed_words(trace_weights(model.make_untrained(), strings), strings)
        attention |= measure_best_pointing(
            "hit", words, blank, opening[RECURRENT_SITE].best, attention, MOMENTS
        )
    return replace(written, attention={f"{RECURRENT_SITE}, {split}": attention}, opening=opening)


def _write_transcripts(
    model: GenerationModel,
    strings: Sequence[Utterance],
    long: Sequence[Utterance],
    hit: float,
    options: Options,
) -> Measured:
    """Transcribe and score `strings` and `long`. `hit` is the hit share of `strings`."""
    written, written_long = (
        transcribe_strings(model, strings, options),
        transcribe_strings(model, long, options),
    )
    figures = {
        "error": compute_error_rate(written, [one.text for one in strings]),
        "hit": hit,
        "long_error": compute_error_rate(written_long, [one.text for one in long]),
        "long_hit": compute_hit_share(trace_weights(model, long), long),
        "strings": len(strings),
        "digits": sum(len(one.text) for one in strings),
    }
    return Measured(figures, outputs=written)


def draw_strings(
    recordings: Recordings, seed: int, strings: int, counts: tuple[int, int], repeats: float
) -> list[Utterance]:
    """Draw strings of digits from a seed, so that they are equal for every model."""
    rng = np.random.default_rng(seed)
    return [join_recordings(recordings, rng, counts, repeats) for _ in range(strings)]


def transcribe_strings(
    model: GenerationModel, strings: Sequence[Utterance], options: Options
) -> list[str]:
    """Return the model's transcript of each string."""
    requests = []
    for one in strings:
        request = Request(model.card.name, "", options.method, options.beam, sound=make_sound(one))
        requests.append(request)
    return [text.strip() for text in model.generate_outputs(requests)]


def make_sound(utterance: Utterance) -> Sound:
    """Return a string as the sound of a request."""
    samples = np.clip(np.round(utterance.samples * 32767), -32768, 32767)
    return Sound.of("joined", samples.astype(np.int16))


def trace_weights(model: GenerationModel, strings: Sequence[Utterance]) -> list[FloatArray]:
    """Return the weights of each string, [T + 1, M]: a row for each digit and one for the end."""
    found: list[FloatArray] = []
    for first in range(0, len(strings), AT_ONCE):
        part = strings[first : first + AT_ONCE]
        requests = [Request(model.card.name, "", sound=make_sound(o), target=o.text) for o in part]
        weights_BTM = model.attend(requests).weights[RECURRENT_SITE][0][:, 0].cpu().numpy()
        for weights_TM, one in zip(weights_BTM, part, strict=True):
            found.append(weights_TM[: len(one.text) + 1])
    return found


def collect_pointed_words(
    weights: Sequence[FloatArray], strings: Sequence[Utterance]
) -> PointedWords:
    """Return the weights of every digit over the items, and which items overlap the digit."""
    found = []
    for weights_TM, one in zip(weights, strings, strict=True):
        items = weights_TM.shape[1]
        right = [find_items_inside(bounds, items, SAMPLES_PER_ITEM) for bounds in one.bounds]
        found.append(PointedWords.of(weights_TM[None, None], range(len(right)), np.array(right)))
    return PointedWords.joined(found)


def compute_hit_share(weights: Sequence[FloatArray], strings: Sequence[Utterance]) -> float:
    """Return how often the heaviest item of a digit overlaps the samples in which it is spoken."""
    hits: list[bool] = []
    for weights_TM, one in zip(weights, strings, strict=True):
        hits += find_boundary_hits(weights_TM, one.bounds, SAMPLES_PER_ITEM)
    return float(np.mean(hits))


def measure_attention(
    model: GenerationModel,
    weights: Sequence[FloatArray],
    strings: Sequence[Utterance],
    known: Sequence[Utterance],
) -> dict[str, float]:
    """Return how often attention hits the spoken digit, with baselines that ignore the sound.

    A baseline is the share of hits if attention is replaced. "hit_uniform" points at a random item.
    "hit_diagonal" points at equally spaced times. "hit_position" points at the mean time of the
    first, second, third digit and so on of the strings in `known`. "hit_untrained" takes the
    attention of the untrained network. "dependence" is the mutual information of query and item in
    bits, and "dependence_diagonal" is the same quantity for equally spaced digits.
    """
    untrained = trace_weights(model.make_untrained(), strings)
    mean_T = mean_times(known)
    digits = [rows_TM[: len(one.text)] for rows_TM, one in zip(weights, strings, strict=True)]
    bits = [query_dependence(weights_TM)[0] for weights_TM in digits]
    ceiling = [compute_diagonal_dependence(*weights_TM.shape) for weights_TM in digits]
    return {
        "hit": compute_hit_share(weights, strings),
        "hit_uniform": _compute_uniform_share(strings),
        "hit_diagonal": _compute_hit_share_of_places(
            strings, lambda one, t: (t + 0.5) / len(one.text) * _measure_length(one)
        ),
        "hit_position": _compute_hit_share_of_places(
            strings, lambda one, t: mean_T[min(t, len(mean_T) - 1)]
        ),
        "hit_untrained": compute_hit_share(untrained, strings),
        "dependence": float(np.mean(bits)),
        "dependence_diagonal": float(np.mean(ceiling)),
    }


def mean_times(known: Sequence[Utterance]) -> list[float]:
    """Return the mean middle of the first digit, of the second and so on, in samples."""
    longest = max(len(one.bounds) for one in known)
    found = []
    for number in range(longest):
        middles = [sum(one.bounds[number]) / 2 for one in known if number < len(one.bounds)]
        found.append(float(np.mean(middles)))
    return found


def _measure_length(one: Utterance) -> float:
    return float(len(one.samples))


def _compute_uniform_share(strings: Sequence[Utterance]) -> float:
    """Return the mean share of items that overlap a digit: the chance that a random item hits."""
    shares = []
    for one in strings:
        starts_M = np.arange(0, len(one.samples), SAMPLES_PER_ITEM)
        for first, behind in one.bounds:
            inside_M = (starts_M < behind) & (starts_M + SAMPLES_PER_ITEM > first)
            shares.append(inside_M.mean())
    return float(np.mean(shares))


def _compute_hit_share_of_places(
    strings: Sequence[Utterance], place: Callable[[Utterance, int], float]
) -> float:
    """Return how often the sample that `place` returns for a digit is inside the digit."""
    hits = []
    for one in strings:
        for number, (first, behind) in enumerate(one.bounds):
            hits.append(first <= place(one, number) < behind)
    return float(np.mean(hits))
