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

from areaviz.cards.published import AREA_ATTENTION, Published
from areaviz.data.places import LETTERS, SUBWORDS
from areaviz.metrics.head_choice import WANTED, SpanHead, largest, span_head

TITLES: Mapping[str, str] = {
    "regular": "regular attention",
    "convolution": "regular attention, convolution of width 5",
    "mean": "areas, mean keys (Eq. 3, 4)",
    "features": "areas, features (Eq. 9, 4)",
    "boundary": "areas, boundary keys",
    "convolution-boundary": "convolution and boundary keys",
}
"""Every form that a table may have, in the order shown."""
SEEDS = (1, 2, 3)


@dataclass(frozen=True, slots=True)
class FormTable:
    """One table of forms: networks that differ in their keys alone."""

    # the file that `areaviz heads --into` fills
    path: Path
    # what the names of its runs begin with
    pair: str
    # its forms, keys of `TITLES`; one without a run is an empty row
    forms: tuple[str, ...]
    # what the paper reports of a network of this kind; None where it has none
    paper: Published | None
    # whether a span can be a word: not where items are pieces of words
    words: bool

    @property
    def columns(self) -> tuple[str, ...]:
        """The heads of its columns."""
        one, two = "Encoder self: spans on top", "Encoder-decoder: spans on top"
        first = ("Form", "Seeds", "Validation loss", "Against regular")
        if self.words:
            lift = "a word, times chance"
            return (*first, one, lift, two, f"{lift} ", "The paper's BLEU, other data")
        return (*first, one, two, "Alignment error, %")

    def paper_bleu(self, form: str) -> str:
        """BLEU of a form in the paper, with its significance; "" where it has no such form."""
        if self.paper is None:
            return ""
        sign = "p < 0.05" if self.paper.area_sign else "not significant"
        reported = {
            "regular": f"{self.paper.regular:.2f}",
            "mean": f"{self.paper.area:.2f} ({sign})",
        }
        return reported.get(form, "")


LETTERS_TABLE = FormTable(
    LETTERS, "letters", tuple(TITLES), AREA_ATTENTION["character", "Tiny"], words=True
)
SUBWORDS_TABLE = FormTable(
    SUBWORDS,
    "tokens",
    ("regular", "convolution", "mean", "boundary", "convolution-boundary"),
    paper=None,
    words=False,
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
    # the least alignment error of any head or mean of heads on validation captions, in percent, of
    # each seed
    errors: tuple[float, ...] = ()
    # BLEU in the paper, with its significance; "" where it has no such form
    paper: str = ""

    def cells(self, table: FormTable) -> tuple[str, ...]:
        """One cell for each column; a dash where nothing was trained or no span wins."""
        last = (self.paper or "–") if table.words else "–"
        if not self.seeds:
            return (self.title, *["–"] * (len(table.columns) - 2), last)
        found = []
        for site in WANTED:
            span = self.spans.get(site)
            found.append(f"{span.multi_share:.0%}" if span else "–")
            if table.words:
                found.append(f"{span.exact_lift:.1f}" if span else "–")
        if self.errors and not table.words:
            last = _spread(self.errors, decimals=1)
        seeds = ", ".join(map(str, self.seeds))
        against = _spread(self.differences, "+") if self.differences else "–"
        return (self.title, seeds, _spread(self.losses), against, *found, last)


def _spread(values: Sequence[float], sign: str = "", decimals: int = 3) -> str:
    """The mean, and the ends where there are several values."""
    text = f"{mean(values):{sign}.{decimals}f}"
    if len(values) > 1:
        ends = f"{min(values):{sign}.{decimals}f} to {max(values):{sign}.{decimals}f}"
        text += f" ({ends})"
    return text.replace("-", "−")


def missing(rows: Sequence[FormRow]) -> str:
    """Which runs of a table were not trained yet, in a sentence."""
    if not any(row.seeds for row in rows):
        return "No form was trained yet."
    empty = []
    for row in rows:
        seeds = [str(seed) for seed in SEEDS if seed not in row.seeds]
        if seeds:
            empty.append(f"{row.title}: {' and '.join(seeds)}")
    if not empty:
        return "Every form was trained with three seeds."
    return f"Seeds not trained yet: {'; '.join(empty)}."


def read_forms(table: FormTable) -> list[FormRow]:
    """The rows of all forms of a table; [] where it has no file."""
    if not table.path.exists():
        return []
    entries: dict[str, dict[str, Any]] = json.loads(table.path.read_text(encoding="utf-8"))
    runs = {}
    for form in table.forms:
        names = [f"{table.pair}-{form}-seed{seed}" for seed in SEEDS]
        runs[form] = [entries[name] for name in names if name in entries]
    regular = {int(one["seed"]): float(one["best_loss"]) for one in runs["regular"]}
    rows = []
    for form in table.forms:
        row = _row(TITLES[form], runs[form], table.words)
        if form != "regular":
            row = replace(row, differences=_differences(runs[form], regular))
        rows.append(replace(row, paper=table.paper_bleu(form)))
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


def _row(title: str, entries: Sequence[dict[str, Any]], words: bool) -> FormRow:
    trained = sorted(entries, key=lambda one: float(one["best_loss"]))
    if not trained:
        return FormRow(title, (), (), {})
    median = trained[(len(trained) - 1) // 2]
    seeds = tuple(sorted(int(one["seed"]) for one in trained))
    losses = tuple(float(one["best_loss"]) for one in trained)
    errors = tuple(float(one["aer_val"]) for one in trained if "aer_val" in one)
    spans = {}
    for site in WANTED:
        head = _span_head(median, site, words)
        if head is not None:
            spans[site] = head
    return FormRow(title, seeds, losses, spans, errors=errors)


def _span_head(entry: Mapping[str, Any], site: str, words: bool) -> SpanHead | None:
    floor = largest(entry["untrained"][site], "dependence")
    return span_head(entry["heads"][site], floor, WANTED[site], words)
