"""Evaluation of translators on held-out sentences, for the figures of their cards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from areaviz.cards.card import LENGTH_PENALTY, Card, read_card, write_card
from areaviz.cards.tasks import TASKS
from areaviz.data.multi30k import Pair
from areaviz.data.word_links import read_linked
from areaviz.evaluation.alignment import choose_best, collect_linked_maps, measure_best_alignment
from areaviz.evaluation.heads import (
    get_figures_of_head,
    make_requests_of_pairs,
    measure_heads_for_card,
    read_pairs,
)
from areaviz.evaluation.links import (
    TEST,
    compute_diagonal_error_rate,
    compute_error_rates,
    link_figures,
    measure_word_spans,
)
from areaviz.evaluation.measure import Measured, Options
from areaviz.evaluation.opening_choice import choose_linked_opening, choose_openings
from areaviz.evaluation.spans import compare_spans, measure_heads_at_places
from areaviz.measures.heads import WANTED, choose_span_head
from areaviz.metrics.by_length import compute_bleu_by_length, compute_gains_by_length
from areaviz.metrics.link_accuracy import SITE
from areaviz.models.generation import GenerationModel
from areaviz.samples.dataset import Dataset
from areaviz.trace.errors import InputError
from areaviz.trace.request import Request

PENALTIES = tuple(round(0.2 * step, 1) for step in range(11))
"""The length penalties of beam search from which validation chooses."""
LINKS, LINKED_WORDS, BEST_ALIGNMENT = "word links", "linked words", "best alignment"
"""Entries of `Card.attention` for error rates of single heads, for spans that contain linked words,
and for the error rate of the best alignment.
"""


def evaluate_translation(
    model: GenerationModel, data: Path, split: str, options: Options
) -> Measured:
    """Measure a translator on a split.

    "val" chooses the length penalty and how pages first show the model, and it measures every head.
    The task's headline split measures the heads that "val" chose. Other splits measure no
    attention, because the card has room for one test split.

    Raises:
        InputError: "val" has not been measured yet.
    """
    card = model.card
    is_headline = split == TASKS[card.task].headline
    measures_heads = bool(options.traces and model.network.config.layers)
    if split != "val":
        _check_chosen(card, split, options, measures_heads and is_headline)
    pairs = read_pairs(card, data, split)
    written = _write_translations(model, pairs, split, options) if options.outputs else Measured({})
    if not measures_heads or not (split == "val" or is_headline):
        return written
    chosen = pairs[: options.traces]
    if split == "val":
        linked = read_linked(data, "val")
        heads = _measure_heads(model, linked, chosen)
        best = choose_best(collect_linked_maps(model, linked), card.mechanism == "area")
        first = replace(choose_linked_opening(model, heads[SITE], linked), best=best)
        opening = {**choose_openings(heads), SITE: first}
        spans = _choose_span_figures(card, heads)
        return replace(written, heads=heads, attention=spans, opening=opening)
    return replace(written, attention=_measure_on_test(model, data, chosen))


def _check_chosen(card: Card, split: str, options: Options, measures_heads: bool) -> None:
    """Check that "val" has chosen what this split needs.

    Raises:
        InputError: The length penalty or the heads have not been chosen yet.
    """
    lacks_penalty = options.outputs and options.beam > 1 and card.length_penalty is None
    if lacks_penalty or measures_heads and not card.heads:
        raise InputError(
            'Measure the split "val" first: the length penalty and the heads are chosen on'
            f' it, not on "{split}".'
        )


def _write_translations(
    model: GenerationModel, pairs: Sequence[Pair], split: str, options: Options
) -> Measured:
    """Translate and score. On "val", choose the length penalty with the best BLEU."""
    from areaviz.measures.references import compute_bleu_and_chrf, score_translations

    sources, references = zip(*pairs, strict=True)
    requests = [Request(model.card.name, text, options.method, options.beam) for text in sources]
    penalty = model.length_penalty
    if split == "val" and options.beam > 1:
        texts = model.generate_outputs_by_penalty(requests, PENALTIES)
        scores = [compute_bleu_and_chrf(one, references)[0] for one in texts]
        best = scores.index(max(scores))
        penalty, outputs = PENALTIES[best], texts[best]
    else:
        outputs = model.generate_outputs(requests)
    figures: dict[str, Any] = {**score_translations(outputs, references), "beam": options.beam}
    figures |= compute_bleu_by_length(outputs, references, sources)
    if options.beam == 1:
        return Measured(figures, outputs=outputs)
    figures["length_penalty"] = penalty
    chosen = {LENGTH_PENALTY: penalty} if split == "val" else {}
    return Measured(figures, outputs=outputs, chosen=chosen)


def _measure_heads(
    model: GenerationModel, linked: Dataset, pairs: Sequence[Pair]
) -> dict[str, dict[str, Any]]:
    """Return the figures of every head on validation, with error rates on linked captions."""
    heads = measure_heads_for_card(model, make_requests_of_pairs(model.card, pairs))
    rates = compute_error_rates(model, linked)
    config = model.network.config
    heads[SITE]["aer"] = [
        [round(rates[layer, head], 4) for head in range(config.heads)]
        for layer in range(config.layers)
    ]
    heads[SITE]["aer_diagonal"] = round(compute_diagonal_error_rate(linked), 4)
    return heads


def _choose_span_figures(
    card: Card, heads: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, float]]:
    """Return the validation figures of the head chosen for spans, at each site of `WANTED`."""
    found = {}
    for site in sorted(WANTED.keys() & heads.keys()):
        place = choose_span_place(card, heads, site)
        found[f"{site}, spans, val"] = (
            get_figures_of_head(heads[site], place) if place else {"multi_share": 0.0}
        )
    return found


def choose_span_place(
    card: Card, heads: Mapping[str, Mapping[str, Any]], site: str
) -> tuple[int, int] | None:
    """Return the layer and head (from 0) that are chosen for spans on validation, or None."""
    figures = heads[site]
    by_words = card.level == "character"
    found = choose_span_head(figures, figures["dependence_untrained"], WANTED[site], by_words)
    return (found.layer, found.head) if found else None


def _measure_on_test(model: GenerationModel, data: Path, pairs: Sequence[Pair]) -> dict[str, Any]:
    """Return all measures of attention on the headline split, for the heads that "val" chose."""
    card = model.card
    read = [Request(card.name, source) for source, _ in pairs]
    together = compare_spans(model, read)
    attention = {site: {**values, "sentences": len(pairs)} for site, values in together.items()}
    places = {
        site: choose_span_place(card, card.heads, site) for site in sorted(WANTED.keys() & together)
    }
    spans = measure_heads_at_places(model, make_requests_of_pairs(card, pairs), places)
    for site, entry in spans.items():
        if places[site]:
            entry["dependence_untrained"] = card.heads[site]["dependence_untrained"]
        attention[f"{site}, spans"] = entry | {"sentences": len(pairs)}
    attention[LINKS] = link_figures(model, data)
    attention[LINKED_WORDS] = measure_word_spans(model, card.heads[SITE], data)
    best = card.bests.get(SITE)
    if best is not None:
        linked = (read_linked(data, split) for split in ("val", TEST))
        attention[BEST_ALIGNMENT] = measure_best_alignment(model, best, *linked)
    return attention


def state_difference(
    folder: Path,
    baseline: Path,
    split: str,
    hypotheses: Path,
    baseline_hypotheses: Path,
    data: Path,
) -> str:
    """Compare two checkpoints by approximate randomisation and write the result to both cards.

    The first card also gets its gain by sentence length (`compute_gains_by_length`), as figures of
    the split such as "over BASELINE, all".

    Args:
        folder: One checkpoint.
        baseline: The other checkpoint.
        split: Split on which both were measured.
        hypotheses: File with one translation per line, as `areaviz evaluate --output` writes it.
        baseline_hypotheses: Such a file for the other checkpoint.
        data: Folder of the corpora.

    Returns:
        The note.

    Raises:
        InputError: The files do not have one line per reference.
    """
    from areaviz.measures.references import compare_systems

    card, other = read_card(folder / "card.json"), read_card(baseline / "card.json")
    sources, references = zip(*read_pairs(card, data, split), strict=True)
    lines = []
    for path in (hypotheses, baseline_hypotheses):
        lines.append(path.read_text(encoding="utf-8").splitlines())
        if len(lines[-1]) != len(references):
            raise InputError(
                f"{path.name} has {len(lines[-1]):,} lines but {split} has"
                f" {len(references):,} sentences. Write it with `areaviz evaluate --split"
                f" {split} --output`."
            )
    bleu = compare_systems(lines[0], lines[1], references)["bleu"]
    note = (
        f"{card.name} against {other.name} on {split}: {bleu.difference:+.2f} BLEU"
        f" ({bleu.system:.2f} and {bleu.baseline:.2f}), two-sided p = {bleu.p_value:.3f} by"
        f" approximate randomisation over {len(references):,} sentences; one training run each"
        " with the same seed, so the spread between seeds is not in this figure."
    )
    gains = compute_gains_by_length(lines[0], lines[1], references, sources)
    named = {f"over {other.name}, {part}": gain for part, gain in gains.items()}
    card = replace(card, figures={**card.figures, split: {**card.figures.get(split, {}), **named}})
    for one, path in ((card, folder), (other, baseline)):
        others = [old for old in one.notes if not old.startswith(note.split(":")[0])]
        write_card(replace(one, notes=(*others, note)), path / "card.json")
    return note
