"""The attention signature of a theme, which is the head that attends differently in its examples.

One half chooses the metric and the head with the largest standardised difference. The difference
and its interval are then measured in the other half, which played no part in the choice.

Shapes: L layers, H heads, K metrics of heads, X examples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from areaviz.analysis.measures import CROSS, SELF_ATTENTION
from areaviz.analysis.themes.statistics import RESAMPLES
from areaviz.trace.errors import InputError
from areaviz.trace.query import compute_head_shares, head_summary, query_dependence
from areaviz.trace.record import AttentionMap, Trace

# Displayed names of the metrics of a head.
HEAD_MEASURES = ("entropy", "mean area size", "weight of the heaviest area", "query dependence")
# Minimum number of examples on each side of a comparison.
MIN_EXAMPLES = 8
HeadArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Signature:
    """The head and metric in which attention differs, and by how much.

    Attributes:
        site: the site of the attention.
        layer: the layer, from 0.
        head: the head, from 0.
        measure: the metric, one of `HEAD_MEASURES`.
        difference: the mean inside minus outside in the other half, in standard deviations.
        low: the lower end of its 95 % interval.
        high: the upper end of this interval.
        inside: the number of examples of the theme in the other half that were run.
        outside: the number of other examples of that half that were run.
    """

    site: str
    layer: int
    head: int
    measure: str
    difference: float
    low: float
    high: float
    inside: int
    outside: int

    @property
    def is_certain(self) -> bool:
        """True if the interval excludes 0."""
        return self.low > 0 or self.high < 0

    @property
    def sentence(self) -> str:
        """The signature in words."""
        place = f"head {self.head + 1} of layer {self.layer + 1} ({self.site})"
        interval = f"95 % from {self.low:+.2f} to {self.high:+.2f}".replace("-", "−")
        about = f"{interval}; {self.inside} and {self.outside} examples of the other half"
        if not self.is_certain:
            return (
                f"No head is known to attend differently: the {self.measure} of {place} differed"
                f" most in one half, but its difference in the other half holds 0 ({about})."
            )
        more = "higher" if self.difference > 0 else "lower"
        return (
            f"The {self.measure} of {place} is {abs(self.difference):.2f} standard deviations"
            f" {more} in these examples ({about})."
        )


def read_attention(trace: Trace) -> AttentionMap:
    """Return the attention from the output to the input.

    Raises:
        InputError: the trace has no such map, or its map is not the model's own attention.
    """
    attention = trace.maps.get(CROSS) or trace.maps.get(SELF_ATTENTION)
    if attention is None or attention.derived:
        raise InputError(
            "This model has no attention over its input that can be measured and changed."
            " Choose another model."
        )
    return attention


def measure_heads(trace: Trace) -> HeadArray:
    """Return all metrics of all heads: float [K, L, H], in the order of `HEAD_MEASURES`."""
    attention = read_attention(trace)
    summary = head_summary(attention)
    dependence_LH = np.zeros((attention.layers, attention.heads))
    for layer in range(attention.layers):
        for head, shares_QN in enumerate(compute_head_shares(attention, layer)):
            dependence_LH[layer, head], _ = query_dependence(shares_QN)
    return np.stack([summary.entropy, summary.area_size, summary.peak, dependence_LH]).astype(float)


def find_signature(
    site: str,
    chosen_in: tuple[Sequence[HeadArray], Sequence[HeadArray]],
    stated_in: tuple[Sequence[HeadArray], Sequence[HeadArray]],
    rng: np.random.Generator,
) -> Signature | None:
    """Return the signature, or None if a half has too few examples.

    Args:
        site: the site of the attention.
        chosen_in: metrics of the examples inside and outside the theme, in the half that chooses.
        stated_in: these metrics in the other half.
        rng: draws the bootstrap samples of the interval.
    """
    if min(map(len, (*chosen_in, *stated_in))) < MIN_EXAMPLES:
        return None
    difference_KLH = _standardise_difference(*(np.stack(list(side)) for side in chosen_in))
    place = np.unravel_index(int(np.abs(difference_KLH).argmax()), difference_KLH.shape)
    measure, layer, head = (int(number) for number in place)
    inside_X, outside_X = (
        np.array([one[measure, layer, head] for one in side]) for side in stated_in
    )
    drawn = []
    for side_X in (inside_X, outside_X):
        drawn.append(side_X[rng.integers(0, len(side_X), (len(side_X), RESAMPLES))])
    low, high = np.percentile(_standardise_difference(*drawn), [2.5, 97.5])
    difference = float(_standardise_difference(inside_X, outside_X))
    sizes = len(inside_X), len(outside_X)
    return Signature(
        site, layer, head, HEAD_MEASURES[measure], difference, float(low), float(high), *sizes
    )


def _standardise_difference(inside: HeadArray, outside: HeadArray) -> HeadArray:
    """Return the difference of the means in pooled standard deviations, along the first axis."""
    variance = (inside.var(0, ddof=1) + outside.var(0, ddof=1)) / 2
    difference = inside.mean(0) - outside.mean(0)
    return np.where(variance > 1e-12, difference / np.sqrt(np.maximum(variance, 1e-12)), 0.0)
