"""Measures of a model's heads over held-out examples, and tables of trained forms from them.

A table of forms compares networks that differ in how keys and values are made, each trained with
several seeds. It is a JSON file with one entry per run, filled run by run:
{run: {recipe, history, heads, untrained, ...}}.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from areaviz.cards.card import Card, read_card
from areaviz.data.multi30k import Pair, read_split
from areaviz.data.word_links import read_linked
from areaviz.evaluation.links import compute_error_rates
from areaviz.measures.heads import HeadCounts, count_heads, find_largest
from areaviz.models.base import choose_device
from areaviz.models.generation import GenerationModel
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Request
from areaviz.trace.safe_files import write_json

ON_CARDS = (
    "dependence",
    "dependence_share",
    "sink",
    "cell",
    "previous",
    "offset",
    "offset_share",
    "edge_lift",
    "multi_share",
    "long_exact",
    "long_exact_random",
    "long_exact_lift",
)
"""The measures of `HeadCounts.figures` that a card lists."""
BEFORE = ("multi_share", "long_exact_lift")
"""Metrics that a card also lists for every head of the untrained network, if areas have several
items.
"""


class TracedModel(Protocol):
    """A model that can be compared with its untrained network."""

    def trace(self, requests: Sequence[Request]) -> Sequence[Trace]:
        """Return one trace per request."""

    def make_untrained(self) -> TracedModel:
        """Return the network before training."""


def measure_heads(model: TracedModel, requests: Sequence[Request]) -> dict[str, HeadCounts]:
    """Measure every head on the given examples, and return the counts by site."""
    return count_heads(model.trace([request])[0] for request in requests)


def read_pairs(card: Card, data: Path, split: str) -> list[Pair]:
    """Read the sentence pairs of a split in the languages of a translator."""
    return read_split(data, split, card.recipe["source"], card.recipe["target"])


def make_requests_of_pairs(card: Card, pairs: Sequence[Pair]) -> list[Request]:
    """Return each sentence pair as a request with its translation given."""
    return [Request(card.name, source, target=target) for source, target in pairs]


def measure_heads_for_card(
    model: TracedModel, requests: Sequence[Request]
) -> dict[str, dict[str, Any]]:
    """Return a card's entry about heads: by site, the metrics `ON_CARDS` by layer and head.

    dependence_untrained is the largest value of any head of the site in the untrained network. The
    metrics `BEFORE` also have their values in the untrained network, with the suffix _untrained.
    dependence_diagonal is the value of a head that moves along the items. Both are in bits.
    examples is the number of examples. Sites with a single query per example are left out, because
    dependence on the query needs several queries.
    """
    trained = measure_heads(model, requests)
    untrained = measure_heads(model.make_untrained(), requests) if trained else {}
    found: dict[str, dict[str, Any]] = {}
    for site, counts in trained.items():
        figures = convert_figures(counts)
        if not figures["dependence_diagonal"][0][0]:
            continue
        kept = {name: figures[name] for name in ON_CARDS if name in figures}
        known = {name: rows for name, rows in kept.items() if any(map(_has_values, rows))}
        before = convert_figures(untrained[site])
        found[site] = {
            **known,
            **_measure_before_training(known, before),
            "dependence_diagonal": figures["dependence_diagonal"][0][0],
            "dependence_untrained": find_largest(before, "dependence"),
            "examples": len(requests),
        }
    return found


def _measure_before_training(known: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metrics `BEFORE` of the untrained network, unless no top area has several items.

    Their names end with _untrained.
    """
    if not any(any(row) for row in before["multi_share"] + known["multi_share"]):
        return {}
    return {f"{name}_untrained": before[name] for name in BEFORE if name in known}


def _has_values(row: Sequence[float | None]) -> bool:
    return any(value is not None for value in row)


def make_table_entry(
    folder: Path, data: Path, examples: int, device: str = "auto"
) -> tuple[str, dict[str, Any]]:
    """Return the name of a checkpoint's run and its table entry: its training and its heads.

    The heads are measured on validation. aer_val is the smallest alignment error rate in per cent
    of any head or mean of heads, on captions linked by hand.

    Args:
        folder: Folder of the checkpoint.
        data: Folder of the corpora.
        examples: Number of sentence pairs to measure.
        device: "auto", "cuda", "mps" or "cpu".

    Raises:
        FileNotFoundError: The corpus is not in `data`.
        BackendError: The checkpoint cannot be loaded.
        InputError: The model has no attention.
    """
    card = read_card(folder / "card.json")
    if card.mechanism == "none":
        raise InputError(f"{card.name} attends to nothing, so it has no heads to measure.")
    model = GenerationModel.load(folder, card, choose_device(device))
    pairs = read_pairs(card, data, "val")[:examples]
    heads = {}
    for name, one in (("heads", model), ("untrained", model.make_untrained())):
        counts = measure_heads(one, make_requests_of_pairs(card, pairs))
        heads[name] = {site: convert_figures(found) for site, found in counts.items()}
    rates = compute_error_rates(model, read_linked(data, "val"))
    links = {"aer_val": round(100 * min(rates.values()), 2)}
    return card.name, {**_describe_run(card), "examples": len(pairs), **links, **heads}


def add_to_table(path: Path, name: str, entry: dict[str, Any]) -> None:
    """Write a run's entry into a table and replace an older entry of that run."""
    table = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    table[name] = entry
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, dict(sorted(table.items())))


def _describe_run(card: Card) -> dict[str, Any]:
    """Return the facts of a run for a table, except its heads.

    Losses are in nats per token on validation. The entry has validation BLEU if the run has been
    evaluated.
    """
    losses = {int(entry["step"]): round(entry["valid_loss"], 4) for entry in card.history}
    bleu = card.figures.get("val", {}).get("bleu")
    written = {} if bleu is None else {"bleu_val": round(bleu, 2)}
    return {
        "pair": card.pair,
        "seed": card.recipe["seed"],
        "model": dict(card.recipe["model"]),
        "parameters": card.parameters,
        "steps": card.recipe["steps"],
        "valid_loss": losses,
        "best_loss": min(losses.values()),
        **written,
        "trained_on": card.trained_on,
        "code_version": card.code_version,
    }


def convert_figures(counts: HeadCounts) -> dict[str, list[list[float | None]]]:
    """Return figures as lists by layer and head, with None for undefined values."""
    plain = {}
    for name, values in counts.figures().items():
        rounded = np.round(values, 4).astype(object)
        rounded[~np.isfinite(values)] = None
        plain[name] = rounded.tolist()
    return plain


def get_figures_of_head(figures: Mapping[str, Any], place: tuple[int, int]) -> dict[str, float]:
    """Return the figures of one head, together with those of the whole site."""
    layer, head = place
    found: dict[str, float] = {"layer": layer, "head": head}
    for name, value in figures.items():
        one = value[layer][head] if isinstance(value, list) else value
        if one is not None:
            found[name] = one
    return found
