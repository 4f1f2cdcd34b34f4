"""A translator's heads over held-out sentences, and tables of trained forms made of them.

A table of forms compares networks that differ in how keys and values are made, each trained with
several seeds. It is a JSON file of one entry a run, filled run by run:
{run: {recipe, history, heads, untrained, ...}}.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from areaviz.cards.card import Card, read_card
from areaviz.data.multi30k import Pair
from areaviz.data.word_links import read_linked
from areaviz.evaluation.links import error_rates
from areaviz.evaluation.translation import read_pairs
from areaviz.metrics.heads import HeadCounts, count_heads
from areaviz.models.device import choose_device
from areaviz.models.writing import WritingModel
from areaviz.trace.files import write_whole
from areaviz.trace.record import Trace
from areaviz.trace.request import Request

EXAMPLES = 100
"""Sentences of a split that heads are measured over, its first ones."""


def measure_heads(model: WritingModel, pairs: Sequence[Pair]) -> dict[str, HeadCounts]:
    """What every head does while it reads given pairs of sentences, by site."""
    return count_heads(_traces(model, pairs))


def table_entry(
    folder: Path, data: Path, examples: int = EXAMPLES, device: str = "auto"
) -> tuple[str, dict[str, Any]]:
    """The name of a checkpoint's run, and its entry: how it learned, and its heads on validation.

    aer_val is the least alignment error rate in percent of any head or mean of heads, on captions
    linked by hand.

    Raises:
        FileNotFoundError: the corpus is not in `data`.
        BackendError: the checkpoint cannot be loaded.
    """
    card = read_card(folder / "card.json")
    model = WritingModel.load(folder, card, choose_device(device))
    pairs = read_pairs(card, data, "val")[:examples]
    heads = {}
    for name, one in (("heads", model), ("untrained", model.untrained())):
        counts = measure_heads(one, pairs)
        heads[name] = {site: _plain(found) for site, found in counts.items()}
    rates = error_rates(model, read_linked(data, "val"))
    links = {"aer_val": round(min(rates.values()), 2)}
    return card.name, {**_about(card), "examples": len(pairs), **links, **heads}


def add_to_table(path: Path, name: str, entry: dict[str, Any]) -> None:
    """Write a run's entry into a table, in place of an older one of that run."""
    table = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    table[name] = entry
    text = json.dumps(dict(sorted(table.items())), indent=1, ensure_ascii=False) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text.encode())


def _traces(model: WritingModel, pairs: Sequence[Pair]) -> Iterator[Trace]:
    """One trace a pair, of the given translation."""
    for source, target in pairs:
        yield from model.trace([Request(model.card.name, source, target=target)])


def _about(card: Card) -> dict[str, Any]:
    """What a table says of a run besides its heads; losses are in nats a token on validation."""
    losses = {int(entry["step"]): round(entry["valid_loss"], 4) for entry in card.history}
    return {
        "pair": card.pair,
        "seed": card.recipe["seed"],
        "model": dict(card.recipe["model"]),
        "parameters": card.parameters,
        "steps": card.recipe["steps"],
        "valid_loss": losses,
        "best_loss": min(losses.values()),
        "trained_on": card.trained_on,
        "code_version": card.code_version,
    }


def _plain(counts: HeadCounts) -> dict[str, list[list[float | None]]]:
    """Figures as lists by layer and head; None where there is nothing to divide by."""
    plain = {}
    for name, values in counts.figures().items():
        rounded = np.round(values, 4).astype(object)
        rounded[~np.isfinite(values)] = None
        plain[name] = rounded.tolist()
    return plain
