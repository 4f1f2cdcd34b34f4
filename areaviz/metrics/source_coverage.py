"""Coverage deviation and absentmindedness, which measure how well attention covers a source.

Both reveal suspicious translations without a reference, such as omitted or repeated words. They
also reveal attention that is spread over the whole source (Rikters, Fishel and Bojar 2017).

Shapes: T target words, S source words.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from areaviz.trace.areas import FloatArray

POWER = 6
"""Exponent of the deviation, as in the authors' tool SoftAlignments. Their paper uses 2."""


@dataclass(frozen=True, slots=True)
class SourceCoverage:
    """Three metrics of one sentence. 0 is best for all of them."""

    # 0 if the attention to every source word sums to 1, otherwise larger.
    coverage_deviation: float
    # Entropy of a target word's attention as a share of its maximum, 0..1.
    absentmindedness: float
    # Entropy of the attention that a source word receives, as a share of its maximum, 0..1.
    source_absentmindedness: float


def measure_coverage(shares_TS: FloatArray) -> SourceCoverage:
    """Compute the three metrics of one sentence.

    a_ts is the share of target word t's attention on source word s. The coverage deviation is 1/S
    sum_s log(1 + |1 - sum_t a_ts|^6). The absentmindedness is the mean over t of -sum_s a_ts log
    a_ts / log S. For source words, it is computed from the normalised attention that they receive,
    a_ts / sum_t a_ts, with log T.

    Args:
        shares_TS: Rows sum to 1, or to 0 for a word that attends to nothing.

    Raises:
        ValueError: One of the sides has no words.
    """
    if not shares_TS.size:
        raise ValueError("Certainty needs at least one word on each side.")
    received_S = shares_TS.sum(0, dtype=np.float64)
    return SourceCoverage(
        coverage_deviation=float(np.log1p(np.abs(1 - received_S) ** POWER).mean()),
        absentmindedness=_average_entropy(shares_TS),
        source_absentmindedness=_average_entropy(shares_TS.T),
    )


def _average_entropy(weights_RN: FloatArray) -> float:
    """Return the mean entropy of the non-empty rows, as a share of its maximum."""
    rows = weights_RN[weights_RN.sum(1) > 0].astype(np.float64)
    if not len(rows) or rows.shape[1] == 1:
        return 0.0
    shares = rows / rows.sum(1, keepdims=True)
    nats = -(shares * np.log(shares, out=np.zeros_like(shares), where=shares > 0)).sum(1)
    return float(nats.mean() / np.log(rows.shape[1]))
