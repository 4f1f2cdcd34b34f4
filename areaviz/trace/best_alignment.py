"""The best alignment of a model: several heads, each at one decoding step, drawn as one map.

Heads and steps are chosen on validation examples whose alignments or boxes are known. Step 0 reads
the row of the decoding step that writes an item. Step 1 reads the row of the next decoding step,
whose input is that item. The map of a query is the mean of the chosen rows.

Shapes: Q queries, A areas.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from areaviz.trace.record import AttentionMap, FloatArray, Trace

BEST = " best"
"""Suffix of the site of a best alignment."""
STEPS = (0, 1)
"""Allowed steps of a head: the decoding step that writes the item (0), or the next one (1)."""
MOST_HEADS = 5
"""Largest number of heads in a best alignment."""

Choice = tuple[int, int, int]
"""Layer and head, counted from 0, and a step from `STEPS`."""


@dataclass(frozen=True, slots=True)
class BestAlignment:
    """The heads that validation chose, and how well they did there."""

    heads: tuple[Choice, ...]
    # Number and name of the examples that chose the heads, such as 20 "validation captions".
    examples: int
    chosen_on: str
    # Share of wrong alignments, or of words whose pointing is wrong, on these examples, 0..1.
    # `error` is that of the chosen heads, `error_single` that of the best single head at its own
    # step.
    error: float
    error_single: float
    # True if pages show it first, because its model has no areas to show and it beats the single
    # head.
    opens: bool = False

    @property
    def sentence(self) -> str:
        """A sentence for users that says what the map is and on how many examples it was chosen."""
        found, were = f"{describe_heads(self.heads)}.", "It was"
        if len(self.heads) > 1:
            of = "these heads" if len({place[:2] for place in self.heads}) > 1 else "both rows"
            found, were = f"{found} This map is the mean of {of}.", "They were"
        return f"{found} {were} chosen on {self.examples:,} {self.chosen_on}."

    @property
    def entries(self) -> dict[str, Any]:
        """Its entry in card.json, in which layers and heads count from 0."""
        return {
            "heads": [list(one) for one in self.heads],
            "examples": self.examples,
            "chosen_on": self.chosen_on,
            "error": self.error,
            "error_single": self.error_single,
            "opens": self.opens,
        }


def read_best_alignment(entry: Any) -> BestAlignment:
    """Return the best alignment of a card's entry.

    Raises:
        ValueError: An entry is missing or has the wrong type.
    """
    names = {"heads", "examples", "chosen_on", "error", "error_single", "opens"}
    if not isinstance(entry, dict) or entry.keys() != names:
        raise ValueError(f"best is not an object with {', '.join(sorted(names))}")
    heads = entry["heads"]
    if not isinstance(heads, list) or not 1 <= len(heads) <= MOST_HEADS:
        raise ValueError(f"best: heads is not a list of 1 to {MOST_HEADS} heads")
    for one in heads:
        is_choice = isinstance(one, list) and len(one) == 3 and all(type(n) is int for n in one)
        if not is_choice or min(one) < 0 or one[2] not in STEPS:
            raise ValueError("best: a head is not a list of layer, head and step")
    if type(entry["examples"]) is not int or not isinstance(entry["chosen_on"], str):
        raise ValueError("best: examples is not a whole number, or chosen_on is not a text")
    error, single = entry["error"], entry["error_single"]
    if any(type(one) not in (int, float) for one in (error, single)):
        raise ValueError("best: error or error_single is not a number")
    if type(entry["opens"]) is not bool:
        raise ValueError("best: opens is neither true nor false")
    chosen = tuple((one[0], one[1], one[2]) for one in heads)
    return BestAlignment(
        chosen, entry["examples"], entry["chosen_on"], error, single, entry["opens"]
    )


def describe_heads(heads: Sequence[Choice]) -> str:
    """Return heads in words, counted from 1: “Heads 1.2 (at the next step) and 4.1”."""
    steps: dict[str, set[int]] = {}
    for layer, head, step in heads:
        steps.setdefault(f"{layer + 1}.{head + 1}", set()).add(step)
    said = {(0,): "", (1,): " (at the next step)", (0, 1): " (also at the next step)"}
    names = [f"{name}{said[tuple(sorted(own))]}" for name, own in steps.items()]
    if len(names) < 2:
        return f"Head {names[0]}"
    return f"Heads {', '.join(names[:-1])} and {names[-1]}"


def shift_by_step(rows_QX: FloatArray, step: int) -> FloatArray:
    """Return each row moved up by `step` rows. The last rows repeat the final row."""
    if not step:
        return rows_QX
    later_Q = np.minimum(np.arange(len(rows_QX)) + step, len(rows_QX) - 1)
    moved: FloatArray = rows_QX[later_Q]
    return moved


def average_weights(attention: AttentionMap, heads: Sequence[Choice]) -> FloatArray:
    """Return the mean of the weights of heads, each at its step: float32 [Q, A]."""
    rows = [shift_by_step(attention.weights[layer, head], step) for layer, head, step in heads]
    mean_QA: FloatArray = np.mean(rows, axis=0, dtype=np.float32)
    return mean_QA


def make_best_map(attention: AttentionMap, best: BestAlignment) -> AttentionMap:
    """Return the best alignment of a site as a map of one layer with one head."""
    return replace(
        attention,
        site=attention.site + BEST,
        weights=average_weights(attention, best.heads)[None, None],
        chosen=None,
        strength=None,
        derived=best.sentence,
    )


def add_best(trace: Trace, bests: Mapping[str, BestAlignment]) -> Trace:
    """Return a trace with the best alignments that `bests` gives for its sites.

    A best alignment that the trace already has is computed again, because its heads may be
    outdated. A trace without these sites or heads is returned unchanged. A map whose weights are
    fetched layer by layer gets no best alignment, because the chosen heads may be in any layer.
    """
    maps = dict(trace.maps)
    for site, best in bests.items():
        attention = trace.maps.get(site)
        if attention is None or not isinstance(attention.weights, np.ndarray):
            continue
        layers, heads = attention.weights.shape[:2]
        if all(layer < layers and head < heads for layer, head, _ in best.heads):
            maps[site + BEST] = make_best_map(attention, best)
    return replace(trace, maps=maps) if bests else trace


def remove_best(trace: Trace) -> Trace:
    """Return a trace without best alignments, which its other maps and a card determine."""
    maps = {site: one for site, one in trace.maps.items() if not site.endswith(BEST)}
    return replace(trace, maps=maps)


def split_best_site(site: str) -> tuple[str, str]:
    """Split a site into its base and `BEST`. The second part is "" for other sites."""
    ending = BEST if site.endswith(BEST) else ""
    return site.removesuffix(ending), ending
