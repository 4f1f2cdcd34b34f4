"""Trained forms of keys side by side: the losses of their seeds, and their best heads for spans.

Read from a table that `areaviz heads --into` fills run by run, see `areaviz.evaluation.heads`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Any

from areaviz.cards.tasks import AREA_ATTENTION
from areaviz.metrics.head_choice import WANTED, SpanHead, largest, span_head

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
PAPER = AREA_ATTENTION["character", "Tiny"]
"""What the paper reports for letters at this size."""
_PAPERS = {
    "regular": f"{PAPER.regular:.2f}",
    "mean": f"{PAPER.area:.2f} ({'p < 0.05' if PAPER.area_sign else 'not significant'})",
}
COLUMNS = (
    "Form",
    "Seeds",
    "Validation loss",
    "Against regular",
    "Encoder self: spans on top",
    "a word, times chance",
    "Encoder-decoder: spans on top",
    "a word, times chance ",
    "The paper's BLEU, other data",
)


@dataclass(frozen=True, slots=True)
class FormRow:
    """One form of keys."""

    title: str
    seeds: tuple[int, ...]
    # on validation, of each seed, in nats a token
    losses: tuple[float, ...]
    # by site, of the run whose loss is the median
    spans: Mapping[str, SpanHead]
    # loss less that of regular attention with the same seed
    differences: tuple[float, ...] = ()
    # BLEU in the paper, with its significance; "" where it has no such form
    paper: str = ""

    def cells(self) -> tuple[str, ...]:
        """One cell for each of `COLUMNS`; a dash where nothing was trained or no span wins."""
        paper = self.paper or "–"
        if not self.seeds:
            return (self.title, *["–"] * (len(COLUMNS) - 2), paper)
        found = []
        for site in WANTED:
            span = self.spans.get(site)
            found += [f"{span.multi_share:.0%}", f"{span.exact_lift:.1f}"] if span else ["–", "–"]
        seeds = ", ".join(map(str, self.seeds))
        against = _spread(self.differences, "+") if self.differences else "–"
        return (self.title, seeds, _spread(self.losses), against, *found, paper)


def _spread(values: Sequence[float], sign: str = "") -> str:
    """The mean, and the ends where there are several values."""
    text = f"{mean(values):{sign}.3f}"
    if len(values) > 1:
        text += f" ({min(values):{sign}.3f} to {max(values):{sign}.3f})"
    return text.replace("-", "−")


def missing(rows: Sequence[FormRow]) -> str:
    """Which runs of a table were not trained yet, in a sentence."""
    empty = []
    for row in rows:
        seeds = [str(seed) for seed in SEEDS if seed not in row.seeds]
        if seeds:
            empty.append(f"{row.title}: {' and '.join(seeds)}")
    if not empty:
        return "Every form was trained with three seeds."
    return f"Seeds not trained yet: {'; '.join(empty)}."


def read_forms(path: Path, pair: str) -> list[FormRow]:
    """The rows of all forms, of the runs whose names begin with `pair`; [] without a table."""
    if not path.exists():
        return []
    table: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    runs = {}
    for form in TITLES:
        names = [f"{pair}-{form}-seed{seed}" for seed in SEEDS]
        runs[form] = [table[name] for name in names if name in table]
    regular = {int(one["seed"]): float(one["best_loss"]) for one in runs["regular"]}
    rows = []
    for form, title in TITLES.items():
        row = _row(title, runs[form])
        if form != "regular":
            row = replace(row, differences=_differences(runs[form], regular))
        rows.append(replace(row, paper=_PAPERS.get(form, "")))
    return rows


def _differences(
    entries: Sequence[dict[str, Any]], regular: Mapping[int, float]
) -> tuple[float, ...]:
    """Losses less those of regular attention with the same seed."""
    found = []
    for one in entries:
        if int(one["seed"]) in regular:
            found.append(float(one["best_loss"]) - regular[int(one["seed"])])
    return tuple(found)


def _row(title: str, entries: Sequence[dict[str, Any]]) -> FormRow:
    trained = sorted(entries, key=lambda one: float(one["best_loss"]))
    if not trained:
        return FormRow(title, (), (), {})
    median = trained[(len(trained) - 1) // 2]
    seeds = tuple(sorted(int(one["seed"]) for one in trained))
    spans = {site: head for site in WANTED if (head := _span_head(median, site)) is not None}
    return FormRow(title, seeds, tuple(float(one["best_loss"]) for one in trained), spans)


def _span_head(entry: Mapping[str, Any], site: str) -> SpanHead | None:
    floor = largest(entry["untrained"][site], "dependence")
    return span_head(entry["heads"][site], floor, WANTED[site])
