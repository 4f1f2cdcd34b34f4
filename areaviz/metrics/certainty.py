"""How well attention covers a source: coverage deviation and absentmindedness.

They find suspicious translations without any reference: words left out or said twice, and attention
that is everywhere (Rikters, Fishel and Bojar 2017).
Shapes: T target words, S source words.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from areaviz.trace.record import FloatArray

POWER = 6
"""Of the deviation, as in the authors' tool SoftAlignments; their paper squares it."""


@dataclass(frozen=True, slots=True)
class Certainty:
    """Three measures of one sentence; 0 is best in all of them."""

    # 0 where every source word gets attention worth one target word, else more.
    coverage_deviation: float
    # The entropy of a target word's attention, as a share of the most possible, 0..1.
    absentmindedness: float
    # The same for the attention that a source word gets.
    source_absentmindedness: float


def certainty(shares_TS: FloatArray) -> Certainty:
    """The three measures of one sentence.

    With a_ts the share of target word t's attention that source word s gets: the coverage deviation
    is 1/S sum_s log(1 + |1 - sum_t a_ts|^6), the absentmindedness the mean over t of -sum_s a_ts
    log a_ts / log S, and that of source words the same with the shares of a source word's
    attention, a_ts / sum_t a_ts, over log T.

    shares_TS: rows sum to 1, or to 0 where a word attends to nothing.

    Raises:
        ValueError: there is no word on one of the sides.
    """
    if not shares_TS.size:
        raise ValueError("Certainty needs at least one word on each side.")
    received_S = shares_TS.sum(0, dtype=np.float64)
    return Certainty(
        coverage_deviation=float(np.log1p(np.abs(1 - received_S) ** POWER).mean()),
        absentmindedness=_spread(shares_TS),
        source_absentmindedness=_spread(shares_TS.T),
    )


def _spread(weights_RN: FloatArray) -> float:
    """The mean entropy of rows that are not empty, as a share of the most possible."""
    rows = weights_RN[weights_RN.sum(1) > 0].astype(np.float64)
    if not len(rows) or rows.shape[1] == 1:
        return 0.0
    shares = rows / rows.sum(1, keepdims=True)
    nats = -(shares * np.log(shares, out=np.zeros_like(shares), where=shares > 0)).sum(1)
    return float(nats.mean() / np.log(rows.shape[1]))
