"""Faithfulness of an attention map: the effect on the output of removing attended items.

Comprehensiveness and sufficiency (DeYoung et al. 2020, Eq. 1-2) are measured for one map of a
model, on the model's own output. Attention is not by itself an explanation (Jain and Wallace 2019;
Wiegreffe and Pinter 2019). These two numbers, compared with those of randomly chosen areas, say how
well this map explains the output. Shapes: Q queries, T output items, K chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from areaviz.evaluation.contrastive import compute_probability, find_foil_items, make_foil_request
from areaviz.evaluation.probe import (
    Probe,
    TooFew,
    draw_random_choices,
    find_losing_queries,
    find_top_choices,
    get_probed_map,
    make_loss_changes,
)
from areaviz.trace.areas import IntArray
from areaviz.trace.errors import InputError
from areaviz.trace.query import format_given_output
from areaviz.trace.record import AttentionMap, Run, Trace
from areaviz.trace.request import Counted, Request


@dataclass(frozen=True, slots=True)
class Faithfulness:
    """Mean falls of the probability of output items, -1 to 1.

    p_t is the probability of output item t given the items before it. S_t contains the items or
    areas with most attention from query t:

        comprehensiveness = 1/T sum_t [p_t - p_t(every query without its S)]
        sufficiency = 1/T sum_t [p_t - p_t(every query with its S alone)]

    If the map is faithful, comprehensiveness is high and sufficiency is low.

    All layers and heads of the site lose S. Every query loses its own S at once, so an earlier
    output item cannot pass on what it has read. random_comprehensiveness and random_sufficiency
    have one value per draw of a random S_t with as many items, or with areas of the same shapes.
    probability is 1/T sum_t p_t. items is T.

    For a language model, t covers only the items that see more than they lose (`probe.py`).

    With a contrast, p(word) - p(foil) replaces 1/T sum_t p_t. The contrast counts as one item, and
    falls are between -2 and 2.
    """

    comprehensiveness: float
    sufficiency: float
    random_comprehensiveness: tuple[float, ...]
    random_sufficiency: tuple[float, ...]
    probability: float
    items: int


def compute_mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and standard deviation (n - 1) of draws."""
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def measure_faithfulness(
    request: Request, probe: Probe, run: Run, progress: Counted | None = None
) -> Faithfulness:
    """Measure one map on one input, over the given output or the model's own.

    This takes 1 or 2 runs over the output, 2 more for the map, and 2 for each draw. A contrast
    takes the same number of runs again over the output with the foil.

    Raises:
        TooFew: The map does not have more than k items or areas.
        InputError: The map does not exist or does not attend to an input, or the foil is not valid.
        BackendError: See `run`.
    """
    probe.check()
    texts = _make_texts(request, probe, run)
    sets = [one.sets() for one in texts]
    falls: list[tuple[float, float]] = []
    for done in range(1 + probe.draws):
        if progress:
            progress(done, 1 + probe.draws)
        without = alone = 0.0
        for one, chosen in zip(texts, sets, strict=True):
            without += one.compute_fall(chosen[done], False, run)
            alone += one.compute_fall(chosen[done], True, run)
        falls.append((without, alone))
    (comprehensiveness, sufficiency), chance = falls[0], falls[1:]
    return Faithfulness(
        comprehensiveness,
        sufficiency,
        tuple(one for one, _ in chance),
        tuple(one for _, one in chance),
        sum(one.value(one.base) for one in texts),
        1 if probe.contrast else texts[0].count,
    )


def measure_inputs(requests: Sequence[Request], probe: Probe, run: Run) -> tuple[Faithfulness, int]:
    """Measure several inputs together.

    Returns:
        The figures, and the number of inputs that were measured. Inputs with too few items or areas
        are not measured.

    Raises:
        InputError: See `measure_faithfulness`. Also raised if no input has enough items or areas.
        BackendError: See `run`.
    """
    found: list[Faithfulness] = []
    for request in requests:
        try:
            found.append(measure_faithfulness(request, probe, run))
        except TooFew:
            continue
    if not found:
        raise InputError(
            f"None of the {len(requests):,} inputs has more than {probe.k:,} {probe.unit}s."
            " Choose fewer items to remove."
        )
    return pool_faithfulness(found), len(found)


def pool_faithfulness(found: Sequence[Faithfulness]) -> Faithfulness:
    """Return the figures of several inputs together, as means over all output items.

    Draw d of the result combines draw d of every input.
    """
    counts = np.array([one.items for one in found], dtype=np.float64)

    def mean(values: Sequence[float]) -> float:
        return float(np.average(values, weights=counts))

    def draws(parts: Sequence[Sequence[float]]) -> tuple[float, ...]:
        return tuple(mean(values) for values in zip(*parts, strict=True))

    return Faithfulness(
        mean([one.comprehensiveness for one in found]),
        mean([one.sufficiency for one in found]),
        draws([one.random_comprehensiveness for one in found]),
        draws([one.random_sufficiency for one in found]),
        mean([one.probability for one in found]),
        int(counts.sum()),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Text:
    """A given output, the map that is measured on it, and the probabilities that are averaged."""

    request: Request
    probe: Probe
    base: Trace
    attention: AttentionMap
    # Queries that lose something.
    queries: tuple[int, ...]
    # Items whose joint probability is measured. None for the mean probability of all items.
    items: slice | None = None
    # 1 for the word, -1 for a foil.
    sign: float = 1.0

    @classmethod
    def of(cls, request: Request, probe: Probe, base: Trace) -> Self:
        """Make a text from a run over a given output.

        Raises:
            TooFew: See `probed`.
            InputError: See `probed`.
        """
        attention = get_probed_map(base, probe)
        losing_Q = find_losing_queries(base, attention, probe)
        queries = tuple(np.flatnonzero(losing_Q).tolist())
        return cls(request, probe, base, attention, queries)

    @property
    def is_own(self) -> bool:
        """True if the text attends to itself, so that each query is one of its items."""
        return self.attention.memory == "history"

    @property
    def count(self) -> int:
        """The number of output items that are measured."""
        return len(self.queries) if self.is_own else len(self.base.output.probabilities)

    def sets(self) -> list[IntArray]:
        """Return each query's top k, then one random choice of equal size per draw: each [Q, K]."""
        drawn = draw_random_choices(self.base, self.attention, self.probe, self.queries)
        return [find_top_choices(self.attention, self.probe), *drawn]

    def value(self, trace: Trace) -> float:
        """Return the measured value of a run over this output."""
        if self.items is not None:
            return self.sign * compute_probability(trace, self.items)
        likely_T = trace.output.probabilities.astype(np.float64)
        return float((likely_T[list(self.queries)] if self.is_own else likely_T).mean())

    def compute_fall(self, chosen_QK: IntArray, keep: bool, run: Run) -> float:
        """Return the fall of the value if queries lose their chosen items, or keep only those."""
        changes = make_loss_changes(self.attention, self.probe, chosen_QK, self.queries, keep)
        after = run(replace(self.request, changes=self.request.changes + changes))
        return self.value(self.base) - self.value(after)


def _make_texts(request: Request, probe: Probe, run: Run) -> list[_Text]:
    """Return the output as a text, and the output with the foil if there is one.

    Each text has its own attention weights.
    """
    if request.target is None:
        request = replace(request, target=format_given_output(run(request)))
    text, contrast = _Text.of(request, probe, run(request)), probe.contrast
    if contrast is None:
        return [text]
    if text.is_own and contrast.first not in text.queries:
        raise TooFew(
            f"Before the word there are not more than {probe.k:,} {probe.unit}s, so that"
            " number cannot be removed. Choose a smaller number, or a later word."
        )
    asked = make_foil_request(text.base, contrast)
    other = _Text.of(asked, probe, run(asked))
    foil = find_foil_items(text.base, other.base, contrast)
    word = slice(contrast.first, contrast.last)
    return [replace(text, items=word), replace(other, items=foil, sign=-1.0)]
