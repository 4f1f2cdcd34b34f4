"""Agreement of a translator's attention with words that were linked by hand, and baselines.

One head of one layer, or the mean of a layer's heads, is chosen on validation captions and measured
on test captions. The baselines are the diagonal, a statistical aligner trained on the same corpus,
and the untrained network, whose head is chosen in the same way. A second measure is how often the
top spans of one head contain the linked word.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from areaviz.data.multi30k import read_split
from areaviz.data.word_links import read_linked
from areaviz.measures.alignment import (
    Aligner,
    LinkCounts,
    Links,
    count_links,
    find_attention_links,
    make_diagonal_links,
)
from areaviz.measures.spans import Array
from areaviz.metrics.link_accuracy import LinkedCounts, count_linked_words
from areaviz.models.generation import GenerationModel
from areaviz.samples.dataset import Dataset
from areaviz.trace.record import Trace
from areaviz.trace.request import Request

Place = tuple[int, int | None]
"""Layer and head, counted from 0. None is the mean of the layer's heads."""
TEST = "test_2016_flickr"
PHRASES = 0.4
"""Smallest share of queries with a multi-item top area for a head whose spans are measured."""


def link_figures(model: GenerationModel, data: Path, test: str = TEST) -> dict[str, float]:
    """Return the alignment error rates of the model and its baselines on test captions, 0 to 1.

    aer is the model's rate, and aer_untrained, aer_diagonal and aer_aligner are those of baselines.

    layer and head are counted from 0, and head -1 is the mean of heads. aer_val is the rate that
    chose them. sentences is the number of test captions.

    Raises:
        FileNotFoundError: The corpus is not in `data`.
    """
    chosen_on, reported_on = read_linked(data, "val"), read_linked(data, test)
    found: dict[str, float] = {"sentences": len(reported_on.examples)}
    for name, one in (("aer", model), ("aer_untrained", model.make_untrained())):
        rates = compute_error_rates(one, chosen_on)
        layer, head = min(rates, key=lambda place: rates[place])
        found[name] = compute_error_rates(one, reported_on)[layer, head]
        if name == "aer":
            found["layer"] = layer
            found["head"] = -1 if head is None else head
            found["aer_val"] = rates[layer, head]
    pairs = [(source.split(), target.split()) for source, target in read_split(data, "train")]
    aligner = Aligner.train(pairs)
    texts = [(one.text.split(), one.references[0].split()) for one in reported_on.examples]
    found["aer_aligner"] = _compute_rate(reported_on, [aligner.links(*text) for text in texts])
    found["aer_diagonal"] = compute_diagonal_error_rate(reported_on)
    return found


def compute_diagonal_error_rate(linked: Dataset) -> float:
    """Return the error rate of links along the diagonal, 0 to 1."""
    texts = [(one.text.split(), one.references[0].split()) for one in linked.examples]
    return _compute_rate(linked, [make_diagonal_links(len(s), len(t)) for s, t in texts])


def measure_word_spans(
    model: GenerationModel, heads: Mapping[str, Any], data: Path, test: str = TEST
) -> dict[str, float]:
    """Return how often top spans of two or more items contain the word that was linked by hand.

    One cross-attention head is measured. Candidates depend on their query more than the untrained
    network and have a multi-item top area for at least `PHRASES` of the validation queries. The
    candidate whose spans are right most often on validation captions is chosen. Without candidates,
    the head with the most multi-item top areas is chosen.

    span to pair are the figures of `LinkedCounts.figures` on test captions. best_pair is the figure
    "pair" of the head with the best "pair" on validation. layer and head are counted from 0.
    multi_share is measured on validation's queries. spans is the number of spans. The
    figures span_untrained and linked_span_share_untrained are those of the untrained network in
    that head.

    Raises:
        FileNotFoundError: The corpus is not in `data`.
    """
    chosen_on, reported_on = (
        count_linked(model, read_linked(data, name)) for name in ("val", test)
    )
    before, after = chosen_on.figures(), reported_on.figures()
    pair = np.unravel_index(before["pair"].argmax(), before["pair"].shape)
    found = {"best_pair": float(after["pair"][pair])}
    found["best_pair_whole"] = float(after["pair_whole"][pair])
    place = choose_phrase_head(heads, before["span"])
    if place is None:
        return {**found, "multi_share": 0.0}
    found |= {"layer": place[0], "head": place[1]}
    found["multi_share"] = float(heads["multi_share"][place[0]][place[1]])
    found["spans"] = float(reported_on.sums["spans"][place])
    for name, values_LH in after.items():
        if np.isfinite(values_LH[place]):
            found[name] = float(values_LH[place])
    blind = count_linked(model.make_untrained(), read_linked(data, test)).figures()
    for name in ("span", "linked_span_share"):
        if np.isfinite(blind[name][place]):
            found[f"{name}_untrained"] = float(blind[name][place])
    return found


def choose_phrase_head(heads: Mapping[str, Any], span_LH: Array) -> tuple[int, int] | None:
    """Return the layer and head whose spans are measured, or None without such spans."""
    shares = np.array(heads["multi_share"], dtype=np.float64)
    depends = np.array(heads["dependence"]) > heads["dependence_untrained"]
    shares = np.where(depends & np.isfinite(span_LH), shares, 0)
    if not shares.any():
        return None
    score_LH = np.where(shares >= PHRASES, np.nan_to_num(span_LH), -1)
    if score_LH.max() < 0:
        score_LH = shares
    layer, head = np.unravel_index(score_LH.argmax(), score_LH.shape)
    return int(layer), int(head)


def count_linked(model: GenerationModel, linked: Dataset) -> LinkedCounts:
    """Count linked words over all captions while the model reads the given translations."""
    total: LinkedCounts | None = None
    for trace, example in zip(iterate_given_traces(model, linked), linked.examples, strict=True):
        counts = count_linked_words(trace, example.sure | example.possible)
        total = counts if total is None else total + counts
    assert total is not None
    return total


def compute_error_rates(model: GenerationModel, linked: Dataset) -> Mapping[Place, float]:
    """Return the error rate, 0 to 1, of every head and of the mean of each layer's heads.

    The model reads the given translations.
    """
    traces = list(iterate_given_traces(model, linked))
    rates: dict[Place, float] = {}
    for layer in range(model.network.config.layers):
        for head in (*range(model.network.config.heads), None):
            links = [find_attention_links(trace, layer, head) for trace in traces]
            rates[layer, head] = _compute_rate(linked, links)
    return rates


def iterate_given_traces(model: GenerationModel, linked: Dataset) -> Iterator[Trace]:
    """Yield one trace per caption, with its translation given."""
    for one in linked.examples:
        yield from model.trace([Request(model.card.name, one.text, target=one.references[0])])


def _compute_rate(linked: Dataset, made: Sequence[Links]) -> float:
    total = LinkCounts()
    for links, example in zip(made, linked.examples, strict=True):
        total += count_links(links, example.sure, example.possible)
    return total.error_rate
