"""Evaluation of parsers on held-out sentences, for the figures of their cards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np

from areaviz.cards.card import GRAMMAR, LENGTH_PENALTY
from areaviz.data.treebank import Parsed, read_treebank
from areaviz.evaluation.measure import Measured, Options
from areaviz.evaluation.translation import PENALTIES
from areaviz.measures.references import (
    BracketScores,
    SpanHits,
    count_span_hits,
    list_openings,
    make_flat_tree,
    score_brackets,
)
from areaviz.measures.spans import Array
from areaviz.models.generation import GenerationModel
from areaviz.models.recurrent import RECURRENT_SITE
from areaviz.trace.query import item_shares, query_dependence
from areaviz.trace.request import Request

FREE = "_free"
"""Suffix of figures and choices of the model without its grammar."""
CHOSEN_ON = 200
"""Number of validation sentences that choose the head whose spans are reported."""
Sentences = Sequence[Parsed]


def evaluate_parsing(model: GenerationModel, data: Path, split: str, options: Options) -> Measured:
    """Measure a parser on a split by its trees and the attention of its opening brackets.

    "val" chooses the length penalty. Attention is measured on the gold tree, given token by token.
    The reported head is chosen on validation.
    """
    sentences = read_treebank(data, split)
    written = _write_trees(model, sentences, split, options) if options.outputs else Measured({})
    if not options.traces:
        return written
    attention = {
        f"{RECURRENT_SITE}, {split}": measure_bracket_spans(
            model, sentences[: options.traces], data
        )
    }
    return Measured(written.figures, attention, outputs=written.outputs, chosen=written.chosen)


def _write_trees(
    model: GenerationModel, sentences: Sentences, split: str, options: Options
) -> Measured:
    """Write trees and score them.

    If the model has a grammar, the figures and choices that end with "_free" are those without it.
    """
    requests = [Request(model.card.name, s.text, options.method, options.beam) for s in sentences]
    gold = [one.tree for one in sentences]
    outputs, chosen = _choose_outputs(model, requests, gold, split, options)
    figures: dict[str, Any] = asdict(score_brackets(outputs, gold))
    if model.card.grammar:
        free, chosen_free = _choose_outputs(_without_grammar(model), requests, gold, split, options)
        scores = asdict(score_brackets(free, gold))
        figures |= {name + FREE: value for name, value in scores.items()}
        chosen |= {name + FREE: value for name, value in chosen_free.items()}
    figures |= {
        "f1_flat": score_brackets([make_flat_tree(one.words) for one in sentences], gold).f1,
        "f1_other": score_trees_of_other_sentences(outputs, sentences).f1,
        "sentences": len(sentences),
        "beam": options.beam,
    }
    return Measured(figures, outputs=outputs, chosen=chosen)


def _choose_outputs(
    model: GenerationModel,
    requests: Sequence[Request],
    gold: Sequence[str],
    split: str,
    options: Options,
) -> tuple[Sequence[str], dict[str, Any]]:
    """Return the outputs and the chosen values.

    On "val", this chooses the length penalty with the best F1.
    """
    if split != "val" or options.beam == 1:
        return model.generate_outputs(requests), {}
    texts = model.generate_outputs_by_penalty(requests, PENALTIES)
    scores = [score_brackets(one, gold).f1 for one in texts]
    best = scores.index(max(scores))
    return texts[best], {LENGTH_PENALTY: PENALTIES[best]}


def _without_grammar(model: GenerationModel) -> GenerationModel:
    """Return the model without its grammar, with the length penalty chosen for this case."""
    recipe = {name: value for name, value in model.card.recipe.items() if name != GRAMMAR}
    if LENGTH_PENALTY + FREE in recipe:
        recipe[LENGTH_PENALTY] = recipe[LENGTH_PENALTY + FREE]
    return replace(model, card=replace(model.card, recipe=recipe))


def score_trees_of_other_sentences(outputs: Sequence[str], sentences: Sentences) -> BracketScores:
    """Return the scores of trees that were written for another sentence of the same length.

    This baseline shows the score of a parser that knows only the number of words and typical trees
    of that length. A sentence that is the only one of its length gets a flat tree.
    """
    by_length: dict[int, list[int]] = {}
    for number, one in enumerate(sentences):
        by_length.setdefault(one.words, []).append(number)
    moved = [make_flat_tree(one.words) for one in sentences]
    for numbers in by_length.values():
        if len(numbers) > 1:
            for own, other in zip(numbers, numbers[1:] + numbers[:1], strict=True):
                moved[own] = outputs[other]
    return score_brackets(moved, [one.tree for one in sentences])


def measure_bracket_spans(
    model: GenerationModel, sentences: Sentences, data: Path
) -> dict[str, float]:
    """Return how often an opening bracket attends to exactly its words, with baselines.

    "span" covers brackets around 2 or more items, up to the largest area, and is the share whose
    heaviest area is exactly their words. "span_random" uses random areas of these sizes.
    "span_other" uses the areas of the sentence's other brackets. "span_untrained" is the best head
    of the untrained network. "dependence" is the mutual information of query and item in bits.
    """
    known = read_treebank(data, "val")[:CHOSEN_ON]
    chosen, _ = _count_hits(model, known)
    head = int(chosen.exact_H.argmax())
    hits, bits_H = _count_hits(model, sentences)
    raw, raw_bits_H = _count_hits(model.make_untrained(), sentences)
    return {
        **hits.compute_head_shares(head),
        "span_untrained": float(raw.exact_H.max()) / max(raw.openings, 1),
        "head": head,
        "openings": hits.openings,
        "dependence": float(bits_H[head]),
        "dependence_untrained": float(raw_bits_H.max()),
        "sentences": len(sentences),
    }


def _count_hits(model: GenerationModel, sentences: Sentences) -> tuple[SpanHits, Array]:
    """Return the hits of all heads over gold trees, and each head's mean dependence in bits."""
    hits, bits, heads = [], [], model.network.config.heads
    for one in sentences:
        trace = model.trace([Request(model.card.name, one.text, target=one.tree)])[0]
        attention = trace.maps[RECURRENT_SITE]
        openings = list_openings(one.tree, trace.fields[attention.memory], attention.grid.max_width)
        hits.append(count_span_hits(attention, openings))
        shares = [item_shares(attention, attention.layers - 1, head) for head in range(heads)]
        bits.append([query_dependence(shares_TM)[0] for shares_TM in shares])
    return reduce(add, hits), np.mean(bits, axis=0)
