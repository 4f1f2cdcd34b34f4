"""Evaluation of language models on held-out captions, for the figures of their cards.

Shapes: B captions, T subwords, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional as F

from areaviz.data.multi30k import read_captions
from areaviz.evaluation.heads import get_figures_of_head, measure_heads_for_card
from areaviz.evaluation.measure import Measured, Options
from areaviz.evaluation.opening_choice import AT_LEAST, choose_openings
from areaviz.evaluation.spans import compare_spans, measure_heads_at_places
from areaviz.measures.heads import choose_span_head
from areaviz.metrics.ngrams import NGrams
from areaviz.models.generation import LanguageModel
from areaviz.models.language import SITE
from areaviz.models.tokenizer import PAD, START, group_by_length, pad_rows, shift_targets
from areaviz.trace.errors import InputError
from areaviz.trace.request import Request

NGRAM_ORDERS = {"unigram": 1, "bigram": 2, "trigram": 3}
"""N-gram models to compare with, and the length of their n-grams."""
BATCH_TOKENS = 2000
"""Number of subwords per batch, including padding."""
SPANS = f"{SITE}, spans"
"""Entry of `Card.attention` for the head whose top areas have several items most often."""


def evaluate_reading(model: LanguageModel, data: Path, split: str, options: Options) -> Measured:
    """Measure a language model on a split: the probability of captions, and its attention.

    "val" measures every head and chooses the one whose spans are reported on other splits.

    Raises:
        InputError: "val" has not been measured yet.
    """
    is_chosen = bool(model.card.heads)
    if options.traces and split != "val" and not is_chosen:
        raise InputError(
            f'Measure the split "val" first: the head is chosen on it, not on "{split}".'
        )
    texts = read_captions(data, split)
    figures = measure_texts(model, texts, read_captions(data, "train")) if options.outputs else {}
    if not options.traces:
        return Measured(figures)
    requests = [Request(model.card.name, text, target="") for text in texts[: options.traces]]
    if split == "val":
        heads = measure_heads_for_card(model, requests)
        chosen = {f"{SPANS}, val": _get_span_figures(heads[SITE])}
        return Measured(figures, chosen, heads=heads, opening=choose_openings(heads))
    return Measured(figures, _measure_on_test(model, requests))


def measure_texts(
    model: LanguageModel, texts: Sequence[str], train: Sequence[str]
) -> dict[str, Any]:
    """Return the probability of texts, token by token, including the end of each text.

    perplexity is e to the mean negative logarithm of a token's probability. bits_a_character is the
    cost of all tokens in bits per character, which does not depend on how texts are split. unigram,
    bigram and trigram are the perplexities of n-gram models of the training texts (`NGrams`).
    untrained is the perplexity of the untrained network. of_bigram is the perplexity divided by
    that of bigrams.
    """
    rows = [model.tokenizer.ids(text) for text in texts]
    known = [model.tokenizer.ids(text) for text in train]
    pieces, characters = sum(map(len, rows)), sum(map(len, texts))
    nats = _compute_loss_nats(model, rows)
    found: dict[str, Any] = {
        "perplexity": math.exp(nats / pieces),
        "bits_a_character": nats / math.log(2) / characters,
    }
    for name, order in NGRAM_ORDERS.items():
        counted = NGrams.count(known, order, len(model.tokenizer), START)
        found[name] = math.exp(counted.nats(rows) / pieces)
    found["untrained"] = math.exp(_compute_loss_nats(model.make_untrained(), rows) / pieces)
    found["of_bigram"] = found["perplexity"] / found["bigram"]
    return {**found, "captions": len(texts), "pieces": pieces}


@torch.inference_mode()
def _compute_loss_nats(model: LanguageModel, rows: Sequence[list[int]]) -> float:
    """Return the negative log-likelihood that a model gives to rows of ids, in nats."""
    total = 0.0
    for group in group_by_length([(row, row) for row in rows], BATCH_TOKENS, None):
        target_BT = pad_rows([rows[index] for index in group]).to(model.device)
        logits_BTV = model.network(shift_targets(target_BT)).float()
        total += F.cross_entropy(
            logits_BTV.flatten(0, 1), target_BT.flatten(), ignore_index=PAD, reduction="sum"
        ).item()
    return total


def _measure_on_test(
    model: LanguageModel, requests: Sequence[Request]
) -> dict[str, dict[str, float]]:
    """Return the figures of all heads together, and those of the head that "val" chose."""
    together = compare_spans(model, requests)
    known = model.card.heads[SITE]
    place = _find_span_place(known)
    spans = measure_heads_at_places(model, requests, {SITE: place})[SITE]
    if place is not None:
        spans["dependence_untrained"] = known["dependence_untrained"]
    found = {**together, SPANS: spans}
    return {name: {**values, "captions": len(requests)} for name, values in found.items()}


def _get_span_figures(figures: Mapping[str, Any]) -> dict[str, float]:
    """Return the validation figures of the head whose top areas have several items most often."""
    place = _find_span_place(figures)
    return {"multi_share": 0.0} if place is None else get_figures_of_head(figures, place)


def _find_span_place(figures: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return the layer and head whose top areas have several items most often, or None.

    The head must depend on its query more than any head of the untrained network.
    """
    found = choose_span_head(figures, figures["dependence_untrained"], (AT_LEAST, 1.0), words=False)
    return None if found is None else (found.layer, found.head)
