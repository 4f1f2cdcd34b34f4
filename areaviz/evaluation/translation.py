"""A translator and held-out sentences in, the figures of its card out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from areaviz.cards.card import Card, read_card, write_card
from areaviz.cards.tasks import TASKS
from areaviz.data.multi30k import Pair, read_split
from areaviz.evaluation.measure import Measured, Options
from areaviz.metrics.spans import span_figures
from areaviz.metrics.translation import compare, translation_scores
from areaviz.models.writing import WritingModel
from areaviz.trace.errors import InputError
from areaviz.trace.request import Request


def evaluate_translation(model: WritingModel, data: Path, split: str, options: Options) -> Measured:
    """Measure a translator on a split.

    Its attention is measured on the task's headline split alone, as the card has one place for it.
    """
    card = model.card
    pairs = read_pairs(card, data, split)
    sources, references = zip(*pairs, strict=True)
    requests = [Request(card.name, source, options.method, options.beam) for source in sources]
    outputs = model.outputs(requests)
    figures: dict[str, Any] = {**translation_scores(outputs, references), "beam": options.beam}
    if not options.traces or split != TASKS[card.task].headline:
        return Measured(figures, outputs=outputs)
    chosen = sources[: options.traces]
    traces = (model.trace([Request(card.name, source)])[0] for source in chosen)
    attention = {
        site: {**values, "sentences": len(chosen)} for site, values in span_figures(traces).items()
    }
    return Measured(figures, attention, outputs=outputs)


def read_pairs(card: Card, data: Path, split: str) -> list[Pair]:
    """The sentence pairs of a split, in the languages of a translator."""
    return read_split(data, split, card.recipe["source"], card.recipe["target"])


def state_difference(
    folder: Path,
    baseline: Path,
    split: str,
    hypotheses: Path,
    baseline_hypotheses: Path,
    data: Path,
) -> str:
    """Compare two checkpoints by paired bootstrap, note the result on both cards and return it.

    Args:
        folder: one checkpoint.
        baseline: the other.
        split: what both were measured on.
        hypotheses: a file with one translation a line, as `areaviz evaluate --output` writes.
        baseline_hypotheses: the same of the other checkpoint.
        data: the data folder.

    Raises:
        InputError: the files do not have one line a reference.
    """
    card, other = read_card(folder / "card.json"), read_card(baseline / "card.json")
    references = [target for _, target in read_pairs(card, data, split)]
    lines = []
    for path in (hypotheses, baseline_hypotheses):
        lines.append(path.read_text(encoding="utf-8").splitlines())
        if len(lines[-1]) != len(references):
            raise InputError(
                f"{path.name} has {len(lines[-1]):,} lines but {split} has {len(references):,}"
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
        others = [old for old in one.notes if not old.startswith(note.split(":")[0])]
        write_card(replace(one, notes=(*others, note)), path / "card.json")
    return note
