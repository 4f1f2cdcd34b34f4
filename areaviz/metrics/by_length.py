"""Translation quality by sentence length, for thirds of a dataset with bootstrap intervals.

BLEU is computed by sacrebleu, cased and with 13a tokens. Its counts of n-grams are computed once
per sentence, so a resample is a sum of counts.

Shapes: N sentences, S resamples, C counts per sentence: correct n-grams of each order, all n-grams
of each order, and the tokens of hypothesis and reference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

THIRDS = ("short", "middle", "long")
"""The names of the thirds of a dataset, by the length of its sources."""
_ORDERS = 4
_RESAMPLES, _SEED = 1000, 12345
_TAILS = (2.5, 97.5)
"""The percentiles that enclose 95 % of the resamples."""

Texts = Sequence[str]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def split_by_length(sources: Texts) -> Mapping[str, Ints]:
    """Return the indices of the shortest, middle and longest sentences by number of words."""
    order = np.argsort([len(source.split()) for source in sources], kind="stable")
    return dict(zip(THIRDS, np.array_split(order, len(THIRDS)), strict=True))


def compute_bleu_by_length(
    hypotheses: Texts, references: Texts, sources: Texts, resamples: int = _RESAMPLES
) -> dict[str, float]:
    """Return BLEU of each third, with its 95 % interval and the mean words of its sources.

    The keys are bleu_short, bleu_short_low, bleu_short_high and words_short, and so on. A third
    without sentences has no keys.

    Raises:
        ValueError: The numbers of hypotheses, references and sources differ.
    """
    _check(sources, hypotheses, references)
    counts_NC, rng = _count_matches(hypotheses, references), np.random.default_rng(_SEED)
    figures: dict[str, float] = {}
    for name, places in split_by_length(sources).items():
        if not len(places):
            continue
        found_S = _compute_bleus(_resample_counts(counts_NC[places], rng, resamples))
        low, high = np.percentile(found_S, _TAILS)
        figures[f"bleu_{name}"] = _compute_bleu(counts_NC[places].sum(0))
        figures[f"bleu_{name}_low"], figures[f"bleu_{name}_high"] = float(low), float(high)
        words = [len(sources[place].split()) for place in places.tolist()]
        figures[f"words_{name}"] = float(np.mean(words))
    return figures


def compute_gains_by_length(
    system: Texts, baseline: Texts, references: Texts, sources: Texts, resamples: int = _RESAMPLES
) -> dict[str, float]:
    """Return the gain of a system over a baseline in BLEU: all, short, middle, long, and growth.

    Growth is the gain in the longest third minus that in the shortest. growth_low and growth_high
    are the limits of its 95 % interval, from a paired bootstrap within each third.

    Raises:
        ValueError: As for `compute_bleu_by_length`, or there are fewer than three sentences.
    """
    _check(sources, system, baseline, references)
    if len(sources) < len(THIRDS):
        raise ValueError(f"Gains by length need at least 3 sentences, got {len(sources)}.")
    both_NC = np.hstack([_count_matches(system, references), _count_matches(baseline, references)])
    gains = {"all": _compute_gain(both_NC.sum(0))}
    rng, resampled = np.random.default_rng(_SEED), {}
    for name, places in split_by_length(sources).items():
        gains[name] = _compute_gain(both_NC[places].sum(0))
        sums_SC = _resample_counts(both_NC[places], rng, resamples)
        resampled[name] = np.array([_compute_gain(sums_C) for sums_C in sums_SC])
    gains["growth"] = gains["long"] - gains["short"]
    low, high = np.percentile(resampled["long"] - resampled["short"], _TAILS)
    return {**gains, "growth_low": float(low), "growth_high": float(high)}


def _count_matches(hypotheses: Texts, references: Texts) -> Ints:
    """Return the counts of each sentence, int64 [N, C]."""
    from sacrebleu.metrics.bleu import BLEU

    metric, rows = BLEU(), []
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        found = metric.corpus_score([hypothesis], [[reference]])
        rows.append([*found.counts, *found.totals, found.sys_len, found.ref_len])
    return np.array(rows, np.int64)


def _resample_counts(counts_NC: Ints, rng: np.random.Generator, resamples: int) -> Ints:
    """Return the summed counts of resamples with N sentences drawn with replacement: [S, C]."""
    count = len(counts_NC)
    drawn_SN = rng.multinomial(count, np.full(count, 1 / count), resamples)
    sums_SC: Ints = drawn_SN @ counts_NC
    return sums_SC


def _compute_bleus(sums_SC: Ints) -> Floats:
    return np.array([_compute_bleu(sums_C) for sums_C in sums_SC])


def _compute_bleu(sums_C: Ints) -> float:
    """Return BLEU, 0..100, from summed counts."""
    from sacrebleu.metrics.bleu import BLEU

    correct, total = sums_C[:_ORDERS].tolist(), sums_C[_ORDERS : 2 * _ORDERS].tolist()
    hypothesis, reference = sums_C[2 * _ORDERS :].tolist()
    return float(BLEU.compute_bleu(correct, total, hypothesis, reference, "exp").score)


def _compute_gain(sums_C: Ints) -> float:
    """Return the BLEU of the first half of the counts minus that of the second half."""
    half = len(sums_C) // 2
    return _compute_bleu(sums_C[:half]) - _compute_bleu(sums_C[half:])


def _check(sources: Texts, *others: Texts) -> None:
    if any(len(texts) != len(sources) for texts in others):
        counts = [len(texts) for texts in (sources, *others)]
        raise ValueError(f"Figures by length need one text of each kind a sentence, got {counts}.")
