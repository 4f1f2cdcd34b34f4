"""Trained forms of keys side by side: the losses of their seeds, and their best heads for spans.

Read from a table that `areaviz heads --into` fills run by run, see `areaviz.evaluation.heads`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

TITLES: Mapping[str, str] = {
    "regular": "regular attention",
    "convolution": "regular attention, convolution of width 5",
    "mean": "areas, mean keys (Eq. 3, 4)",
    "features": "areas, features (Eq. 9, 4)",
    "boundary": "areas, boundary keys",
    "convolution-boundary": "convolution and boundary keys",
}
"""Every form of a table, in the order shown; a form without a run is an empty row."""
SEEDS = (1, 2, 3)
WANTED: Mapping[str, tuple[float, float]] = {
    "encoder self": (0.6, 4.0),
    "encoder-decoder": (0.2, 2.0),
}
"""By site: the share of queries with a span on top that one head should reach, and how much more
often than by chance these spans should be exactly a word, in a head that depends on its query more
than any of the network untrained.
"""
COLUMNS = (
    "Form",
    "Seeds",
    "Validation loss",
    "Encoder self: spans on top",
    "a word, times chance",
    "Encoder-decoder: spans on top",
    "a word, times chance ",
)


@dataclass(frozen=True, slots=True)
class SpanHead:
    """The head of a site that comes nearest to what is wanted."""

    # 0-based
    layer: int
    head: int
    # share of queries whose heaviest area has two or more items
    multi_share: float
    # how much more often than by chance these are exactly a word
    exact_lift: float


@dataclass(frozen=True, slots=True)
class FormRow:
    """One form of keys."""

    title: str
    seeds: tuple[int, ...]
    # on validation, of each seed, in nats a token
    losses: tuple[float, ...]
    # by site, of the run whose loss is the median
    spans: Mapping[str, SpanHead]

    def cells(self) -> tuple[str, ...]:
        """One cell for each of `COLUMNS`; a dash where nothing was trained or no span wins."""
        if not self.seeds:
            return (self.title, *["–"] * (len(COLUMNS) - 1))
        spread = ""
        if len(self.losses) > 1:
            spread = f" ({min(self.losses):.3f} to {max(self.losses):.3f})"
        found = []
        for site in WANTED:
            span = self.spans.get(site)
            found += [f"{span.multi_share:.0%}", f"{span.exact_lift:.1f}"] if span else ["–", "–"]
        seeds = ", ".join(map(str, self.seeds))
        return (self.title, seeds, f"{mean(self.losses):.3f}{spread}", *found)


def read_forms(path: Path, pair: str) -> list[FormRow]:
    """The rows of all forms, of the runs whose names begin with `pair`; [] without a table."""
    if not path.exists():
        return []
    table: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    rows = []
    for form, title in TITLES.items():
        names = [f"{pair}-{form}-seed{seed}" for seed in SEEDS]
        rows.append(_row(title, [table[name] for name in names if name in table]))
    return rows


def _row(title: str, entries: Sequence[dict[str, Any]]) -> FormRow:
    trained = sorted(entries, key=lambda one: float(one["best_loss"]))
    if not trained:
        return FormRow(title, (), (), {})
    median = trained[(len(trained) - 1) // 2]
    seeds = tuple(sorted(int(one["seed"]) for one in trained))
    spans = {site: head for site in WANTED if (head := span_head(median, site)) is not None}
    return FormRow(title, seeds, tuple(float(one["best_loss"]) for one in trained), spans)


def span_head(entry: Mapping[str, Any], site: str) -> SpanHead | None:
    """The head nearest to what is wanted, of those that use their query more than untrained ones.

    Nearest is where the smaller of the two parts that were reached, share and lift, is largest;
    None where no head ever has a span on top.
    """
    figures = entry["heads"][site]
    floor = max(max(row) for row in entry["untrained"][site]["dependence"])
    share_wanted, lift_wanted = WANTED[site]
    found: list[tuple[float, SpanHead]] = []
    for layer, row in enumerate(figures["multi_share"]):
        for head, share in enumerate(row):
            lift = figures["long_exact_lift"][layer][head]
            if lift is None or figures["dependence"][layer][head] <= floor:
                continue
            reached = min(share / share_wanted, lift / lift_wanted)
            found.append((reached, SpanHead(layer, head, share, lift)))
    return max(found, key=lambda pair: pair[0])[1] if found else None
