"""Measures of a model's heads: links to words, spans, and the best alignment.

Most of them are compared with baselines and with the untrained network.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from areaviz.cards.card import Card, read_card
from areaviz.lab.multi30k import Pair, read_linked, read_split
from areaviz.measures.alignment import (
    Aligner,
    Chosen,
    LinkCounts,
    LinkedMaps,
    bootstrap_interval,
    choose_heads,
    compute_alignment_error,
    count_links,
    count_links_by_position,
    find_attention_links,
    make_diagonal_links,
)
from areaviz.measures.heads import HeadCounts, count_heads, find_largest
from areaviz.measures.spans import MEASURES, Array, Counts, find_word_runs, measure_spans
from areaviz.models.base import choose_device
from areaviz.models.generation import GenerationModel
from areaviz.samples.dataset import Dataset
from areaviz.trace.areas import FloatArray, IntArray
from areaviz.trace.derived import BestAlignment
from areaviz.trace.errors import InputError
from areaviz.trace.query import format_given_output, is_one_text, item_shares
from areaviz.trace.record import AttentionMap, Trace
from areaviz.trace.request import Request
from areaviz.trace.safe_files import write_json

# Metrics of whether attention finds the source word that is linked to the word being written.
#
# A query is an item of a written word that has a link. A span is right if it contains a linked word
# or an item of one. It is wholly right if it contains all items of a linked word. The top spans of
# a head are compared with three baselines: spans of the same sizes at random positions, single
# items that are top areas of the head, and pairs. A pair is the top item with the heavier of its
# two neighbours, which a head without areas could show as well.
#
# Shapes: H heads, N items, A areas, W widths of areas, S any number of spans.


LINKED_SITE = "encoder-decoder"
Links = Set[tuple[int, int]]
Run = tuple[int, int]
BoolArray = npt.NDArray[np.bool_]
BASELINES = ("span_random", "span_diagonal")
"""Names of the baselines with spans of equal sizes."""
ENDS = ("", "_whole")
"""Suffixes of names for right and for wholly right spans."""


class LinkedCounts(Counts):
    """Sums over queries by name, each float64 [L, H]."""

    def figures(self) -> dict[str, Array]:
        """Return the figures of every head, each float64 [L, H], NaN without such a query.

        - linked_span_share: share of queries whose top area is a span of two or more items.
        - span: share of these spans that are right.
        - span_random: share of right spans among spans of equal sizes at random positions.
        - span_diagonal: share of right spans among spans of equal sizes on the diagonal, which have
          the relative place of the query as their middle.
        - single: share of right top areas among those of one item.
        - top: share of right top areas among all queries.
        - pair: share of queries for which the top item with its heavier neighbour is right.

        The suffix _whole means wholly right.
        """
        sums, queries, spans = self.sums, self.sums["queries"], self.sums["spans"]
        with np.errstate(divide="ignore", invalid="ignore"):
            found = {"linked_span_share": spans / queries}
            for end in ENDS:
                span, single = sums[f"span{end}"], sums[f"single{end}"]
                found[f"span{end}"] = span / spans
                for beside in BASELINES:
                    found[f"{beside}{end}"] = sums[f"{beside}{end}"] / spans
                found[f"single{end}"] = single / (queries - spans)
                found[f"top{end}"] = (span + single) / queries
                found[f"pair{end}"] = sums[f"pair{end}"] / queries
        return found


def count_linked_words(trace: Trace, links: Links) -> LinkedCounts:
    """Return the counts of one translation.

    Args:
        trace: Trace with a map of `LINKED_SITE` whose memory is a text.
        links: Links (source word, target word). Words are separated by spaces and counted from 0.
    """
    attention = trace.maps[LINKED_SITE]
    target, source = trace.fields[attention.query], trace.fields[attention.memory]
    words = find_word_runs(source)
    rows: list[tuple[int, list[Run]]] = []
    for number, (start, end) in enumerate(find_word_runs(target)):
        linked = [words[i] for i, j in sorted(links) if j == number and i < len(words)]
        if linked:
            rows += [(query, linked) for query in range(start, end)]
    layers = [_sum_layer(attention, layer, rows) for layer in range(attention.layers)]
    return LinkedCounts.of_layers(layers)


def contains_aligned_word(
    left_S: IntArray, end_S: IntArray, linked: Sequence[Run], whole: bool
) -> BoolArray:
    """Return whether each span from `left` to `end` (exclusive) is right: bool [S].

    A right span contains an item of a linked word. With `whole` it must contain all items of one.
    """
    right_S = np.zeros(np.shape(left_S), dtype=bool)
    for start, end in linked:
        if whole:
            right_S |= (left_S <= start) & (end <= end_S)
        else:
            right_S |= (left_S < end) & (start < end_S)
    return right_S


def _sum_layer(
    attention: AttentionMap, layer: int, rows: Sequence[tuple[int, list[Run]]]
) -> dict[str, Array]:
    """Return all sums of one layer, each [H].

    Args:
        attention: The map.
        layer: Layer, from 0.
        rows: For each query, its index and the items of each word linked to it.
    """
    _, left_A, _, width_A = attention.grid.table().T
    shares_HQN = np.stack([item_shares(attention, layer, h) for h in range(attention.heads)])
    names = [name + end for name in ("span", *BASELINES, "single", "pair") for end in ENDS]
    sums = {name: np.zeros(attention.heads) for name in ("queries", "spans", *names)}
    for query, linked in rows:
        top_H = attention.weights[layer, :, query].argmax(-1)
        is_span_H = width_A[top_H] > 1
        first_H, last_H = _find_top_pairs(shares_HQN[:, query])
        items, queries = shares_HQN.shape[2], shares_HQN.shape[1]
        on_diagonal_H = find_diagonal_spans(width_A[top_H], (query + 0.5) / queries, items)
        sums["queries"] += 1
        sums["spans"] += is_span_H
        for end in ENDS:
            right_A = contains_aligned_word(left_A, left_A + width_A, linked, whole=bool(end))
            chance_W = _average_by_width(right_A, width_A)
            sums[f"span{end}"] += right_A[top_H] & is_span_H
            sums[f"span_random{end}"] += is_span_H * chance_W[width_A[top_H]]
            on_it_H = contains_aligned_word(
                on_diagonal_H, on_diagonal_H + width_A[top_H], linked, whole=bool(end)
            )
            sums[f"span_diagonal{end}"] += is_span_H & on_it_H
            sums[f"single{end}"] += right_A[top_H] & ~is_span_H
            sums[f"pair{end}"] += contains_aligned_word(
                first_H, last_H + 1, linked, whole=bool(end)
            )
    return sums


def find_diagonal_spans(width_H: IntArray, place: float, items: int) -> IntArray:
    """Return the left edges of spans of these widths centred on a place, 0..1: int64 [H]."""
    left_H: IntArray = np.rint(place * items - width_H / 2).astype(np.int64)
    return np.clip(left_H, 0, items - width_H)


def _average_by_width(right_A: BoolArray, width_A: IntArray) -> Array:
    """Return the share of right spans of each width: float64 [W], 0 for width 0."""
    chance: Array = np.bincount(width_A, right_A) / np.maximum(np.bincount(width_A), 1)
    return chance


def _find_top_pairs(shares_HN: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the ends of each head's top item with its heavier neighbour: [H] each."""
    edged = np.pad(shares_HN, ((0, 0), (1, 1)), constant_values=-1)
    item_H = shares_HN.argmax(-1)
    row_H = np.arange(len(item_H))
    before_H, after_H = edged[row_H, item_H], edged[row_H, item_H + 2]
    # A text of one item has no neighbour. Ties are resolved in favour of the earlier one.
    takes_before_H = (before_H >= after_H) & (before_H >= 0)
    takes_after_H = (after_H > before_H) & (after_H >= 0)
    return item_H - takes_before_H, item_H + takes_after_H


# Agreement of a translator's attention with words that were linked by hand, and baselines.
#
# One head of one layer, or the mean of a layer's heads, is chosen on validation captions and
# measured on test captions. The baselines are the diagonal, a statistical aligner trained on the
# same corpus, and the untrained network, whose head is chosen in the same way. A second measure is
# how often the top spans of one head contain the linked word.


PlaceOrMean = tuple[int, int | None]
"""Layer and head, counted from 0. None is the mean of the layer's heads."""
LINKS_TEST = "test_2016_flickr"
PHRASES = 0.4
"""Smallest share of queries with a multi-item top area for a head whose spans are measured."""


def link_figures(model: GenerationModel, data: Path, test: str = LINKS_TEST) -> dict[str, float]:
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
    model: GenerationModel, heads: Mapping[str, Any], data: Path, test: str = LINKS_TEST
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


def compute_error_rates(model: GenerationModel, linked: Dataset) -> Mapping[PlaceOrMean, float]:
    """Return the error rate, 0 to 1, of every head and of the mean of each layer's heads.

    The model reads the given translations.
    """
    traces = list(iterate_given_traces(model, linked))
    rates: dict[PlaceOrMean, float] = {}
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


# Measures of a model's heads over held-out examples, and tables of trained forms from them.
#
# A table of forms compares networks that differ in how keys and values are made, each trained with
# several seeds. It is a JSON file with one entry per run, filled run by run:
# {run: {recipe, history, heads, untrained, ...}}.


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
UNTRAINED_FIGURES = ("multi_share", "long_exact_lift")
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
    metrics `UNTRAINED_FIGURES` also have their values in the untrained network, with the suffix
    _untrained. dependence_diagonal is the value of a head that moves along the items. Both are in
    bits. examples is the number of examples. Sites with a single query per example are left out,
    because dependence on the query needs several queries.
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
    """Return the metrics `UNTRAINED_FIGURES` of the untrained network, with names in _untrained.

    If no top area has several items, return nothing.
    """
    if not any(any(row) for row in before["multi_share"] + known["multi_share"]):
        return {}
    return {f"{name}_untrained": before[name] for name in UNTRAINED_FIGURES if name in known}


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


# Comparison of how well the areas of a model and of its untrained network fit the words of a text.
#
# The untrained network reads the trained network's output, so both have the same queries.


Place = tuple[int, int]
"""Layer and head, counted from 0."""
COMPARED_MEASURES = (
    "multi_share",
    "area_size",
    "entropy",
    "entropy_normalised",
    *(f"{counted}_{measure}" for counted in ("weighted", "multi") for measure in MEASURES),
)
"""Figures over all heads that also have a value for the untrained network (_untrained)."""
BESIDE_OF_HEAD = ("multi_share", "long_exact", "long_exact_lift")
"""Figures of a single head that also have a value for the untrained network (_untrained)."""


def compare_spans(model: TracedModel, requests: Sequence[Request]) -> dict[str, dict[str, float]]:
    """Measure the spans of a model and of its untrained network at each site.

    The figures are those of `areaviz.measures.spans.measure_spans`. The figures of
    `COMPARED_MEASURES` have a second value with the suffix _untrained.
    """
    given: list[Request] = []

    def written() -> Iterator[Trace]:
        for request in requests:
            trace = model.trace([request])[0]
            given.append(_make_given_request(trace))
            yield trace

    trained = measure_spans(written())
    blind = model.make_untrained()
    untrained = measure_spans(blind.trace([request])[0] for request in given)
    found = {}
    for site, figures in trained.items():
        before = untrained.get(site, {})
        beside = {f"{name}_untrained": before[name] for name in COMPARED_MEASURES if name in before}
        found[site] = {**figures, **beside}
    return found


def _make_given_request(trace: Trace) -> Request:
    """Return a request with the output of a trace as its target.

    A language model needs no target, because it only reads its text.
    """
    if is_one_text(trace):
        return trace.request
    return replace(trace.request, target=format_given_output(trace))


def measure_heads_at_places(
    model: TracedModel, requests: Sequence[Request], places: Mapping[str, Place | None]
) -> dict[str, dict[str, Any]]:
    """Return the figures of one head at each site, some of them also for the untrained network.

    A site without a head has only the figure multi_share, which is 0.

    Args:
        model: The trained model.
        requests: The examples.
        places: The head of each site, or None for a site without one.
    """
    trained = measure_heads(model, requests)
    untrained = measure_heads(model.make_untrained(), requests) if any(places.values()) else {}
    found: dict[str, dict[str, Any]] = {}
    for site, place in places.items():
        if place is None:
            found[site] = {"multi_share": 0.0}
            continue
        before = get_figures_of_head(convert_figures(untrained[site]), place)
        found[site] = get_figures_of_head(convert_figures(trained[site]), place)
        for name in BESIDE_OF_HEAD:
            if name in before:
                found[site][f"{name}_untrained"] = before[name]
    return found


# The best alignment of a translator, and its error on test captions next to baselines.
#
# Validation captions whose words were linked by hand choose the heads. There are four baselines:
# the diagonal, a statistical aligner (`areaviz.measures.alignment`), the untrained network with
# heads that are chosen in the same way, and the position alone. Position alone uses the links that
# the chosen heads make in another caption.


VALIDATION = "validation captions"


def collect_linked_maps(model: GenerationModel, linked: Dataset) -> list[LinkedMaps]:
    """Return the maps of every caption while the model reads the given translation."""
    found = []
    for trace, example in zip(iterate_given_traces(model, linked), linked.examples, strict=True):
        found.append(LinkedMaps.of(trace, example.sure, example.possible))
    return found


def choose_best(maps: Sequence[LinkedMaps], has_areas: bool) -> BestAlignment:
    """Choose the heads with the smallest alignment error on validation captions.

    Args:
        maps: The maps of the captions.
        has_areas: Whether the model shows areas. Its pages then show a head with areas first.
    """
    found = _choose_heads(maps)
    error, single = round(found.error, 4), round(found.error_single, 4)
    opens = not has_areas and error < single
    return BestAlignment(found.heads, len(maps), VALIDATION, error, single, opens)


def measure_best_alignment(
    model: GenerationModel, best: BestAlignment, chosen_on: Dataset, reported_on: Dataset
) -> dict[str, float]:
    """Return the alignment error of the chosen heads on test captions, 0 to 1.

    best is the error with its 95 % bootstrap interval best_low to best_high over the captions.
    best_val is the error on the captions that chose the heads. best_untrained is the error of the
    untrained network, whose heads are chosen in the same way. best_position is that of the links
    that the heads make in another caption. best_diagonal is that of the diagonal.
    """
    maps = collect_linked_maps(model, reported_on)
    counts = [one.counts(best.heads) for one in maps]
    low, high = bootstrap_interval(counts)
    blind = model.make_untrained()
    untrained = _choose_heads(collect_linked_maps(blind, chosen_on))
    return {
        "best": _add_counts(counts).error_rate,
        "best_low": float(low),
        "best_high": float(high),
        "best_val": best.error,
        "best_heads": len(best.heads),
        "best_untrained": compute_alignment_error(
            collect_linked_maps(blind, reported_on), untrained.heads
        ),
        "best_position": _add_counts(count_links_by_position(maps, best.heads)).error_rate,
        "best_diagonal": compute_diagonal_error_rate(reported_on),
    }


def _choose_heads(maps: Sequence[LinkedMaps]) -> Chosen:
    layers, heads = maps[0].coverage.shape[:2]
    return choose_heads(layers, heads, partial(compute_alignment_error, maps))


def _add_counts(counts: Sequence[LinkCounts]) -> LinkCounts:
    total = LinkCounts()
    for one in counts:
        total += one
    return total
