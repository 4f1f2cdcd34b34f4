"""Changes of a run that might repair a theme, each with a random change as control.

The head is gated, its top area is banned, or the words of the condition are hidden. If a change
repairs more often than its control, the place of the change matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from areaviz.analysis.themes.signature import Signature, read_attention
from areaviz.analysis.themes.statistics import mean_interval
from areaviz.analysis.themes.words import lower_words
from areaviz.measures.spans import find_word_runs
from areaviz.trace.areas import Area
from areaviz.trace.changes import Change, Gate, Hide, Weigh
from areaviz.trace.record import AttentionMap, Trace

GATE, BAN, HIDE = "gate", "ban", "hide"
# The wording of each change and of its control.
NAMES = {
    GATE: ("the head is gated", "a random head"),
    BAN: ("the head's heaviest area is banned", "a random area of the head"),
    HIDE: ("the words of the condition are hidden", "random words"),
}


@dataclass(frozen=True, slots=True)
class Trial:
    """A change of one example's run and its random control."""

    kind: str
    change: Change
    control: Change


@dataclass(frozen=True, slots=True)
class Repair:
    """How often a change repairs a theme.

    Attributes:
        kind: GATE, BAN or HIDE.
        examples: the number of failing examples that were changed.
        rate: the share of them whose symptom then reaches the median of unaffected examples.
        control: this share for the random controls.
        low: the lower end of the 95 % interval of the difference.
        high: the upper end.
    """

    kind: str
    examples: int
    rate: float
    control: float
    low: float
    high: float

    @property
    def is_repaired(self) -> bool:
        """True if the change repairs significantly more often than its random control."""
        return self.low > 0

    @property
    def sentence(self) -> str:
        """The rate in words."""
        done, control = NAMES[self.kind]
        interval = f"{100 * self.low:+.0f} to {100 * self.high:+.0f}".replace("-", "−")
        return (
            f"{100 * self.rate:.0f} % of {self.examples} failing examples are repaired if {done};"
            f" {control}: {100 * self.control:.0f} % (difference {interval} points)."
        )


def plan_trials(
    trace: Trace, signature: Signature, words: Sequence[str], rng: np.random.Generator
) -> list[Trial]:
    """Return the possible changes of one example, each with its random control.

    Args:
        trace: the trace of the example's unchanged run.
        signature: identifies the head.
        words: the words of the condition in lower case, () if it names none.
        rng: chooses the controls.
    """
    attention = read_attention(trace)
    site, layer, head = signature.site, signature.layer, signature.head
    found = []
    others = [
        (one, two)
        for one in range(attention.layers)
        for two in range(attention.heads)
        if (one, two) != (layer, head)
    ]
    if others:
        control = Gate(site, *others[int(rng.integers(len(others)))])
        found.append(Trial(GATE, Gate(site, layer, head), control))
    areas = _choose_heaviest_and_random_area(attention, layer, head, rng)
    if areas:
        bans = (Weigh(site, areas=(area,), layer=layer, head=head) for area in areas)
        found.append(Trial(BAN, *bans))
    hidden = _choose_hidden_and_random_items(trace, words, rng)
    if hidden:
        found.append(Trial(HIDE, *(Hide("source", items) for items in hidden)))
    return found


def _choose_heaviest_and_random_area(
    attention: AttentionMap, layer: int, head: int, rng: np.random.Generator
) -> tuple[Area, Area] | None:
    """Return the area with the largest mean weight, and a random area with equally many items."""
    mean_A = attention.weights[layer, head].mean(0)
    heaviest = int(mean_A.argmax())
    sizes_A = attention.grid.sizes()
    alike = np.flatnonzero((sizes_A == sizes_A[heaviest]) & (mean_A > 0))
    alike = alike[alike != heaviest]
    if not len(alike):
        return None
    other = int(alike[int(rng.integers(len(alike)))])
    return attention.grid.area(heaviest), attention.grid.area(other)


def _choose_hidden_and_random_items(
    trace: Trace, words: Sequence[str], rng: np.random.Generator
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Return the items of the condition's words, and those of equally many random words."""
    field = trace.fields.get("source")
    if field is None or not words:
        return None
    own: list[tuple[int, int]] = []
    others: list[tuple[int, int]] = []
    for start, end in find_word_runs(field):
        text = field.raw[field.anchors[start, 0] : field.anchors[end - 1, 1]]
        (own if set(lower_words(text)).intersection(words) else others).append((start, end))
    if not own or len(others) < len(own):
        return None
    drawn = rng.choice(len(others), len(own), replace=False)
    return _list_items(own), _list_items([others[place] for place in drawn.tolist()])


def _list_items(runs: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    return tuple(item for start, end in runs for item in range(start, end))


def compute_repair_rate(
    kind: str, repaired: Sequence[bool], controls: Sequence[bool], rng: np.random.Generator
) -> Repair:
    """Return how often a change and its random control repair, with the interval of the difference.

    Args:
        kind: the kind of the change.
        repaired: whether the change repairs each failing example.
        controls: whether the random control repairs it.
        rng: draws the bootstrap samples of the interval.
    """
    first, second = np.array(repaired, float), np.array(controls, float)
    low, high = mean_interval(first - second, rng)
    return Repair(kind, len(first), float(first.mean()), float(second.mean()), low, high)
