"""A translator's heads over held-out sentences, beside those of the same network untrained; tables
of trained forms.

A table of forms compares networks that differ in how keys and values are made, each trained with
several seeds. It is
a JSON file of one entry a run: {run: {recipe, history, heads, untrained, ...}}, filled run by run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from areaviz.cards.card import Card, read_card
from areaviz.data.multi30k import Pair, read_split
from areaviz.data.word_links import read_linked
from areaviz.evaluation.links import error_rates
from areaviz.metrics.heads import HeadCounts, count_heads
from areaviz.models.device import choose_device
from areaviz.models.eval_mode import untrained
from areaviz.models.transformer import Transformer
from areaviz.models.translation import Translator
from areaviz.trace.files import write_whole
from areaviz.trace.record import Trace
from areaviz.trace.request import Request

EXAMPLES = 100
"""Sentences of a split that heads are measured over, its first ones."""


def measure_heads(model: Translator, pairs: Sequence[Pair]) -> dict[str, HeadCounts]:
    """What every head does while it reads given pairs of sentences, by site."""
    return count_heads(_traces(model, pairs))


def table_entry(
    folder: Path, data: Path, examples: int = EXAMPLES, device: str = "auto"
) -> tuple[str, dict[str, Any]]:
    """The name of a checkpoint's run and its entry in a table: how it learned, and its heads on
    validation.

    aer_val: the least alignment error rate in percent of any head or mean of heads, on captions
    linked by hand.

    Raises:
        FileNotFoundError: the corpus is not in `data`.
        BackendError: the checkpoint cannot be loaded.
    """
    card = read_card(folder / "card.json")
    model = Translator.load(folder, card, choose_device(device))
    pairs = read_split(data, "val", card.recipe["source"], card.recipe["target"])[:examples]
    network = untrained(Transformer, model.network.config, model.network.embedding.weight.device)
    heads = {
        name: {site: _plain(counts) for site, counts in measure_heads(one, pairs).items()}
        for name, one in (("heads", model), ("untrained", replace(model, network=network)))
    }
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


def _traces(model: Translator, pairs: Sequence[Pair]) -> Iterator[Trace]:
    """One trace a pair, of the given translation."""
    for source, target in pairs:
        yield from model.trace([Request(model.card.name, source, target=target)])


def _about(card: Card) -> dict[str, Any]:
    """What a table says of a run besides its heads; losses are cross-entropy a token on validation,
    in nats.
    """
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
    rounded = {name: np.round(values, 4) for name, values in counts.figures().items()}
    return {
        name: [[float(x) if np.isfinite(x) else None for x in row] for row in values]
        for name, values in rounded.items()
    }
