"""Comparison of trained forms of keys: the tables, and the figures in them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import mean
from typing import Any

from areaviz.cards.card import read_card
from areaviz.cards.tasks import AREA_ATTENTION, LSTMS, Published
from areaviz.draw.labels import number_text
from areaviz.measures.heads import WANTED, SpanHead, choose_span_head, find_largest
from areaviz.samples.paths import FORMS

# The tables of trained key variants: the networks that each table compares, and its explanation.
#
# A form is a way to make the keys of areas. The runs of a table are recipes of `configs/table`.
# Their figures are in `checkpoints/tables`.


TITLES: Mapping[str, str] = {
    "regular": "regular attention",
    "convolution": "regular attention, convolution of width 5",
    "mean": "areas, mean keys (Eq. 3, 4)",
    "features": "areas, features (Eq. 9, 4)",
    "boundary": "areas, boundary keys",
    "convolution-boundary": "convolution and boundary keys",
}
"""Every form that a table may have, in the order of its rows."""
SPANS: Mapping[str, str] = {
    "encoder self": "Encoder self: spans on top (before training)",
    "encoder-decoder": "Encoder-decoder: spans on top (before training)",
}
"""The column of each site."""


@dataclass(frozen=True, slots=True)
class FormTable:
    """One table of forms: networks that differ only in their keys."""

    # The file that `areaviz heads --into` fills.
    path: Path
    # Prefix of the names of the table's runs.
    pair: str
    # Forms, as keys of `TITLES`. A form without a run is an empty row.
    forms: tuple[str, ...]
    # Explanation of the table for its readers.
    about: str
    # Results of the paper for such a network. None without any.
    paper: Published | None = None
    # True if spans are compared with words. They are not if items are parts of words.
    words: bool = False
    # Sites of the networks, as keys of `SPANS`.
    sites: tuple[str, ...] = tuple(WANTED)
    # Seeds with which every form is trained.
    seeds: tuple[int, ...] = (1, 2, 3)
    # True if the outputs on validation are scored with BLEU.
    bleu: bool = False
    # A model of this release with the same kind of network and regular attention, whose card has
    # the baselines of the alignment error. "" for a table without this error.
    twin: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """The column headings, no two of which are equal."""
        found = ["Form", "Seeds", "Validation loss", "Against regular"]
        for number, site in enumerate(self.sites):
            found.append(SPANS[site])
            if self.words:
                found.append("a word, times chance (before training)" + " " * number)
        if not self.words:
            found.append("Alignment error, %")
        if self.bleu:
            found.append("BLEU")
        if self.paper is not None:
            found.append("The paper's BLEU, other data")
        return tuple(found)

    def get_paper_bleu(self, form: str) -> str:
        """Return the paper's BLEU of a form, with its significance, or "" if the paper has none."""
        if self.paper is None:
            return ""
        sign = "p < 0.05" if self.paper.area_sign else "not significant"
        reported = {
            "regular": f"{self.paper.regular:.2f}",
            "mean": f"{self.paper.area:.2f} ({sign})",
        }
        return reported.get(form, "")


LETTERS_TABLE = FormTable(
    FORMS / "letters.json",
    "letters",
    tuple(TITLES),
    "The character network (Tiny) in six forms that differ only in their keys, trained for 3,000"
    " steps each. Validation loss is cross-entropy per character, and lower is better. The table"
    " has the mean over seeds, the smallest and the largest value. Against regular: the mean and"
    " the ends of the differences from regular attention with the same seed. Spans on top: the"
    " share of queries whose heaviest area has two or more characters, in one head that depends on"
    " its query. A dash means that no span wins. The value in brackets is that of the same head"
    " before training. Spans win there as well, so their share says nothing by itself. The paper's"
    " column is the BLEU of its Tiny network for characters, English to German, on other data. The"
    " paper tested the difference of 6.90 and 8.20 and claims no significance for it.",
    AREA_ATTENTION["character", "Tiny"],
    words=True,
)
SUBWORDS_TABLE = FormTable(
    FORMS / "subwords.json",
    "tokens",
    ("regular", "convolution", "mean", "boundary", "convolution-boundary"),
    "The same network over 5,000 subwords, 1,500 steps each. Alignment error: the error of the"
    " head, or of the mean of a layer's heads, that agrees best with words linked by hand. It is"
    " measured on the 20 validation captions that choose it. The paper has no network of this size"
    " for subwords on such data. These runs are short. They compare forms and do not translate"
    " well.",
    twin="token-regular",
)
LSTM_TABLE = FormTable(
    FORMS / "lstm.json",
    "lstm-4-heads",
    ("regular", "convolution", "mean", "boundary"),
    "LSTMs over 5,000 subwords, 256 cells and 4 heads, 1,000 steps each, that attend to items or to"
    " areas of at most two items. Validation loss is cross-entropy per subword. BLEU is measured on"
    " the validation sentences with beam 4 and their best length penalty. The paper's column is the"
    " BLEU of LSTMs of this size, English to German, on other data.",
    LSTMS["token", "256 cells, 4 heads"],
    sites=("encoder-decoder",),
    bleu=True,
    twin="lstm-regular",
)
LSTM_1_HEAD_TABLE = FormTable(
    FORMS / "lstm.json",
    "lstm-1-head",
    ("regular", "mean", "boundary"),
    "The same LSTMs with a single head, one seed each.",
    LSTMS["token", "256 cells, 1 head"],
    sites=("encoder-decoder",),
    seeds=(1,),
    bleu=True,
    twin="lstm-regular",
)
LSTM_LETTERS_TABLE = FormTable(
    FORMS / "lstm.json",
    "lstm-letters",
    ("regular", "mean", "boundary"),
    "The LSTMs with 4 heads over characters, one seed and 1,000 steps each. Validation loss is"
    " cross-entropy per character.",
    LSTMS["character", "256 cells, 4 heads"],
    sites=("encoder-decoder",),
    seeds=(1,),
    bleu=True,
    twin="lstm-regular",
)
FORM_TABLES: Mapping[str, FormTable] = {
    "forms": LETTERS_TABLE,
    "subword forms": SUBWORDS_TABLE,
    "LSTM forms": LSTM_TABLE,
    "LSTM forms, one head": LSTM_1_HEAD_TABLE,
    "LSTM forms, letters": LSTM_LETTERS_TABLE,
}
"""Each table by the name in its markers in docs/findings.md, in the order of the tables."""


# Comparison of trained forms of keys: the losses of their seeds, and their best heads for spans.
#
# The figures are read from a table that `areaviz heads --into` fills run by run, see
# `areaviz.lab.heads`.


SEED_COUNTS: Mapping[int, str] = {1: "one seed", 3: "three seeds"}


@dataclass(frozen=True, slots=True)
class FormRow:
    """One form of keys."""

    title: str
    seeds: tuple[int, ...]
    # Validation loss of each seed, in nats per token.
    losses: tuple[float, ...]
    # By site, the best head of the run with the median loss.
    spans: Mapping[str, SpanHead]
    # By site, the figures of the same head in the untrained network.
    untrained: Mapping[str, SpanHead] = field(default_factory=dict)
    # Loss minus the loss of regular attention with the same seed.
    differences: tuple[float, ...] = ()
    # Smallest alignment error of any head, or of any layer's mean head, on validation captions, for
    # each seed, in per cent.
    errors: tuple[float, ...] = ()
    # BLEU of each seed on validation, if its outputs are scored.
    bleus: tuple[float, ...] = ()
    # BLEU in the paper with its significance, "" without one.
    paper: str = ""

    def cells(self, table: FormTable) -> tuple[str, ...]:
        """Return one cell per column. A dash means that a form is untrained or no span wins."""
        paper = [] if table.paper is None else [self.paper or "–"]
        if not self.seeds:
            dashes = ["–"] * (len(table.columns) - 1 - len(paper))
            return (self.title, *dashes, *paper)
        found = []
        for site in table.sites:
            found += self._span_cells(site, table.words)
        if not table.words:
            found.append(_format_range(self.errors, decimals=1) if self.errors else "–")
        if table.bleu:
            found.append(_format_range(self.bleus, decimals=1) if self.bleus else "–")
        seeds = ", ".join(map(str, self.seeds))
        against = _format_range(self.differences, "+") if self.differences else "–"
        return (self.title, seeds, _format_range(self.losses), against, *found, *paper)

    def _span_cells(self, site: str, words: bool) -> list[str]:
        """Return the cells of a site, each with the value of the untrained network in brackets."""
        if site not in self.spans:
            return ["–", "–"] if words else ["–"]
        span, before = self.spans[site], self.untrained[site]
        cells = [f"{span.multi_share:.0%} ({before.multi_share:.0%})"]
        return [*cells, f"{span.exact_lift:.1f} ({before.exact_lift:.1f})"] if words else cells


def _format_range(values: Sequence[float], sign: str = "", decimals: int = 3) -> str:
    """Return the mean as text, and the smallest and largest value if there are several."""
    form = f"{sign}.{decimals}f"
    text = number_text(mean(values), form)
    if len(values) > 1:
        text += f" ({number_text(min(values), form)} to {number_text(max(values), form)})"
    return text


def list_missing_runs(table: FormTable, rows: Sequence[FormRow]) -> str:
    """Return a sentence that lists the runs of a table that have not been trained yet."""
    if not any(row.seeds for row in rows):
        return "No form was trained yet."
    empty = []
    for row in rows:
        seeds = [str(seed) for seed in table.seeds if seed not in row.seeds]
        if seeds:
            empty.append(f"{row.title}: {' and '.join(seeds)}")
    if empty:
        return f"Seeds not trained yet: {'; '.join(empty)}."
    return f"Every form was trained with {SEED_COUNTS[len(table.seeds)]}."


def describe_baselines(table: FormTable, checkpoints: Path) -> str:
    """Return a sentence with the baselines of a table's alignment error, or "" without one.

    They are figures of its twin in a folder of checkpoints.
    """
    path = checkpoints / table.twin / "card.json"
    if not table.twin or not path.exists():
        return ""
    card = read_card(path)
    links, best = card.attention["word links"], card.attention["best alignment"]
    diagonal = card.heads["encoder-decoder"]["aer_diagonal"]
    return (
        f"Baselines of the alignment error: the diagonal has {diagonal:.1%} on these captions. On"
        f" the 40 test captions, the diagonal has {links['aer_diagonal']:.1%}, the untrained"
        f" `{card.name}` {links['aer_untrained']:.1%}, and the position alone, by the best"
        f" alignment of `{card.name}`, {best['best_position']:.1%}."
    )


def read_forms(table: FormTable) -> list[FormRow]:
    """Read the rows of all forms of a table, or return [] if the table has no file."""
    if not table.path.exists():
        return []
    entries: dict[str, dict[str, Any]] = json.loads(table.path.read_text(encoding="utf-8"))
    runs = {}
    for form in table.forms:
        names = [f"{table.pair}-{form}-seed{seed}" for seed in table.seeds]
        runs[form] = [entries[name] for name in names if name in entries]
    regular = {int(one["seed"]): float(one["best_loss"]) for one in runs["regular"]}
    rows = []
    for form in table.forms:
        row = _make_row(TITLES[form], runs[form], table)
        if form != "regular":
            row = replace(row, differences=_subtract_regular_losses(runs[form], regular))
        rows.append(replace(row, paper=table.get_paper_bleu(form)))
    return rows


def _subtract_regular_losses(
    entries: Sequence[dict[str, Any]], regular: Mapping[int, float]
) -> tuple[float, ...]:
    """Return the losses minus those of regular attention with the same seed."""
    found = []
    for one in entries:
        if int(one["seed"]) in regular:
            found.append(float(one["best_loss"]) - regular[int(one["seed"])])
    return tuple(found)


def _make_row(title: str, entries: Sequence[dict[str, Any]], table: FormTable) -> FormRow:
    trained = sorted(entries, key=lambda one: float(one["best_loss"]))
    if not trained:
        return FormRow(title, (), (), {})
    median = trained[(len(trained) - 1) // 2]
    seeds = tuple(sorted(int(one["seed"]) for one in trained))
    losses = tuple(float(one["best_loss"]) for one in trained)
    errors = tuple(float(one["aer_val"]) for one in trained if "aer_val" in one)
    bleus = tuple(float(one["bleu_val"]) for one in trained if "bleu_val" in one)
    spans, untrained = {}, {}
    for site in table.sites:
        head = _find_span_head(median, site, table.words)
        if head is not None:
            spans[site] = head
            untrained[site] = _find_head_at_place(head, median["untrained"][site])
    return FormRow(title, seeds, losses, spans, untrained, errors=errors, bleus=bleus)


def _find_head_at_place(head: SpanHead, figures: Mapping[str, Any]) -> SpanHead:
    """Return the head at the same place with other figures of its site."""
    layer, number = head.layer, head.head
    lifts = figures.get("long_exact_lift")
    lift = lifts[layer][number] if lifts else None
    return replace(
        head, multi_share=figures["multi_share"][layer][number], exact_lift=float(lift or 0.0)
    )


def _find_span_head(entry: Mapping[str, Any], site: str, words: bool) -> SpanHead | None:
    floor = find_largest(entry["untrained"][site], "dependence")
    return choose_span_head(entry["heads"][site], floor, WANTED[site], words)
