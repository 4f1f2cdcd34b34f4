"""A translator and held-out sentences in, the figures of its card out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from areaviz.cards.card import Card, read_card, write_card
from areaviz.cards.tasks import TASKS
from areaviz.data.multi30k import Pair, read_split
from areaviz.metrics.spans import span_figures
from areaviz.metrics.translation import compare, translation_scores
from areaviz.models.device import choose_device
from areaviz.models.translation import Translator
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Request

BATCH = 32


def translate_all(model: Translator, texts: Sequence[str], method: str, beam: int) -> list[str]:
    """Translations in the order of `texts`; sentences of like length are decoded together."""
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    found: dict[int, str] = {}
    for start in range(0, len(order), BATCH):
        chosen = order[start : start + BATCH]
        found |= zip(chosen, model.translate([texts[i] for i in chosen], method, beam), strict=True)
    return [found[i] for i in range(len(texts))]


def evaluate(
    folder: Path, data: Path, split: str, beam: int = 4, traces: int = 200, device: str = "auto"
) -> tuple[Card, list[str]]:
    """Measure a checkpoint on a split, write the figures on its card and return it with the
    translations.

    beam: 1 is greedy. traces: how many sentences the attention measures are taken over, 0 for none;
    they are taken on the task's headline split alone, as the card has one place for them.

    Raises:
        FileNotFoundError: the corpus is not in `data`.
        BackendError: the checkpoint cannot be loaded.
    """
    card = read_card(folder / "card.json")
    model = Translator.load(folder, card, choose_device(device))
    pairs = read_split(data, split, *(card.recipe[side] for side in ("source", "target")))
    sources, references = zip(*pairs, strict=True)
    hypotheses = translate_all(model, sources, "greedy" if beam == 1 else "beam", beam)
    figures: dict[str, Any] = {**translation_scores(hypotheses, references), "beam": beam}
    card = replace(card, figures={**card.figures, split: figures})
    if traces and split == TASKS[card.task].headline:
        chosen = pairs[:traces]
        attention = span_figures(_traces(model, chosen))
        found = {site: {**values, "sentences": len(chosen)} for site, values in attention.items()}
        card = replace(card, attention=found)
    write_card(card, folder / "card.json")
    return card, hypotheses


def state_difference(
    folder: Path,
    baseline: Path,
    split: str,
    hypotheses: Path,
    baseline_hypotheses: Path,
    data: Path,
) -> str:
    """Compare two checkpoints on a split by paired bootstrap, note the result on both cards and
    return it.

    hypotheses, baseline_hypotheses: files with one translation a line, as `areaviz evaluate
    --output` writes.

    Raises:
        InputError: the files do not have one line a reference.
    """
    card, other = read_card(folder / "card.json"), read_card(baseline / "card.json")
    references = [
        target
        for _, target in read_split(data, split, card.recipe["source"], card.recipe["target"])
    ]
    lines = [
        path.read_text(encoding="utf-8").splitlines() for path in (hypotheses, baseline_hypotheses)
    ]
    for path, found in zip((hypotheses, baseline_hypotheses), lines, strict=True):
        if len(found) != len(references):
            raise InputError(
                f"{path.name} has {len(found):,} lines but {split} has {len(references):,}"
                f" sentences; write it with `areaviz evaluate --split {split} --output`."
            )
    bleu = compare(lines[0], lines[1], references)["bleu"]
    note = (
        f"{card.name} against {other.name} on {split}: {bleu.difference:+.2f} BLEU"
        f" ({bleu.system:.2f} and {bleu.baseline:.2f}), p = {bleu.p_value:.3f} by paired bootstrap"
        f" over {len(references):,} sentences; one training run each with the same seed, so the"
        " spread between seeds is not in this figure."
    )
    for one, path in ((card, folder), (other, baseline)):
        kept = tuple(old for old in one.notes if not old.startswith(note.split(":")[0]))
        write_card(replace(one, notes=(*kept, note)), path / "card.json")
    return note


def _traces(model: Translator, pairs: Sequence[Pair]) -> Iterator[Trace]:
    """One greedy trace a sentence."""
    for source, _ in pairs:
        yield from model.trace([Request(model.card.name, source)])
