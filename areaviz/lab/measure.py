"""Measurement of a checkpoint: its figures, its faithfulness, and the views it opens with.

Read `evaluate_checkpoint` first. Faithfulness stands above it. Below it, the best heads and the
first view of a page are chosen on validation examples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from areaviz.backend.backend import DEFAULT_CHECKPOINTS, MODEL, Checkpoints, Device, find_model
from areaviz.cards.card import Card, Opening, read_card, write_card
from areaviz.cards.tasks import TASKS
from areaviz.lab.heads import LINKED_SITE, choose_phrase_head, count_linked, iterate_given_traces
from areaviz.lab.tasks import EVALUATIONS
from areaviz.measures.alignment import Chosen, choose_heads
from areaviz.measures.faithfulness import (
    Contrast,
    Faithfulness,
    Probe,
    SplitOtherwise,
    TooFew,
    compute_mean_and_deviation,
    find_losing_queries,
    find_output_words,
    get_probed_map,
    join_items,
    measure_faithfulness,
    measure_inputs,
    pool_faithfulness,
)
from areaviz.measures.heads import WANTED
from areaviz.measures.pointing import PointedWords, bootstrap_hit_interval
from areaviz.measures.spans import find_word_runs
from areaviz.models import MODELS
from areaviz.models.base import choose_device
from areaviz.models.generation import GenerationModel
from areaviz.samples.dataset import Dataset, Example
from areaviz.samples.sample_sets import SAMPLE_SETS
from areaviz.trace import query
from areaviz.trace.derived import BestAlignment
from areaviz.trace.errors import InputError, check_choice
from areaviz.trace.query import format_given_output
from areaviz.trace.record import AttentionMap, Field, Run, Trace
from areaviz.trace.request import Request

# Faithfulness over many inputs, each with a word of its output and a foil for this word.


LIKELIEST = "likeliest"
"""Value of a foil that stands for the most probable alternative of an item."""


def measure_contrast(
    requests: Sequence[Request], probe: Probe, run: Run, word: str, foil: str
) -> tuple[Faithfulness, int]:
    """Measure several inputs together, each with a word of its output and a foil.

    Args:
        requests: The inputs.
        probe: What to measure. Its contrast is replaced.
        run: Function that runs the model.
        word: The word. Its first occurrence as a whole word is measured.
        foil: The other word. With "likeliest", `word` is ignored. The word is then the item of an
            output whose alternative is closest in probability, and the foil is this alternative.

    Returns:
        The figures, and the number of inputs that were measured.

    Raises:
        InputError: See `measure_faithfulness`. Also raised if no output has the word.
        BackendError: See `run`.
    """
    if foil != LIKELIEST and not word:
        raise InputError(
            "An alternative needs the word that it replaces. Give that word of the outputs."
        )
    found = []
    for request in requests:
        trace = run(request)
        output = trace.fields[trace.output.field]
        if foil == LIKELIEST:
            contrast = find_closest_contrast(trace, _list_measurable_items(trace, probe))
        else:
            contrast = find_contrast(output, word, foil)
        if contrast is None:
            continue
        given = replace(request, target=format_given_output(trace))
        try:
            found.append(measure_faithfulness(given, replace(probe, contrast=contrast), run))
        except (TooFew, SplitOtherwise):
            continue
    if not found:
        raise InputError(
            f"None of the {len(requests):,} outputs has that word and an input with more than"
            f" {probe.k:,} {probe.unit}s. Choose another word."
        )
    return pool_faithfulness(found), len(found)


def find_contrast(output: Field, word: str, foil: str) -> Contrast | None:
    """Return the first place of a word in an output, or None if the output does not have it."""
    for first, last in find_output_words(output):
        if join_items(output, first, last) == word:
            return Contrast(first, last, foil)
    return None


def _list_measurable_items(trace: Trace, probe: Probe) -> Sequence[int]:
    """Return the items of an output for which the map can be measured.

    For a text that attends to itself, these are the items that see more items than they lose.
    """
    items = range(len(trace.output.probabilities))
    try:
        attention = get_probed_map(trace, probe)
    except TooFew:
        return ()
    if attention.memory != "history":
        return items
    losing_Q = find_losing_queries(trace, attention, probe)
    return [item for item in items if losing_Q[item]]


def find_closest_contrast(trace: Trace, items: Sequence[int]) -> Contrast | None:
    """Return the item with the closest alternative, and that alternative, or None without one."""
    found: tuple[float, Contrast] | None = None
    output = trace.fields[trace.output.field]
    for item in items:
        options = trace.output.alternatives[item]
        start, end = output.anchors[item].tolist()
        others = [one for one in options if one[0] != output.labels[item]]
        # Symbols without text, such as the end symbol, cannot be part of a given output.
        texts = [one for one in others if start < end and not one[0].startswith("⟨")]
        for label, probability in texts[:1]:
            # In a text that the model did not write, the alternative may be more probable than the
            # item.
            ratio = probability / max(float(trace.output.probabilities[item]), 1e-12)
            near = min(ratio, 1 / max(ratio, 1e-12))
            if label.strip() and (found is None or near > found[0]):
                found = near, Contrast(item, item + 1, label)
    return found[1] if found else None


# `areaviz faithfulness MODEL`: measure how faithful an attention map is.


def faithfulness(
    model: Annotated[str, typer.Argument(help=MODEL)],
    examples: Annotated[
        int, typer.Option(min=1, help="Number of the app's own examples to measure.")
    ] = 24,
    site: Annotated[
        str,
        typer.Option(
            help=(
                "Attention type, such as encoder-decoder or encoder self. Default: the"
                " attention from the output to the input."
            )
        ),
    ] = "",
    layer: Annotated[int, typer.Option(min=1, help="Layer of the map, from 1.")] = 1,
    head: Annotated[
        int | None, typer.Option(min=1, help="Head of the map, from 1. Default: all.")
    ] = None,
    k: Annotated[
        int,
        typer.Option(
            min=1, help=("Number of attended items or areas to remove or keep per output item.")
        ),
    ] = 5,
    unit: Annotated[str, typer.Option(help="item or area.")] = "item",
    word: Annotated[
        str, typer.Option(help="With --foil: the output word to compare with the foil.")
    ] = "",
    foil: Annotated[
        str,
        typer.Option(
            help='Measure how much more probable --word is than this word. "likeliest"'
            " compares the least certain item of each output with its most probable"
            " alternative."
        ),
    ] = "",
    draws: Annotated[int, typer.Option(min=2, help="Number of random baselines to draw.")] = 5,
    checkpoints: Checkpoints = DEFAULT_CHECKPOINTS,
    device: Device = "auto",
) -> None:
    """Measure how faithful an attention map is to its model, compared with random areas."""
    chosen = find_model(model, checkpoints, device)
    card, run = chosen.card, chosen.open().trace
    samples = _name_samples(card)
    probe = Probe(site, layer - 1, None if head is None else head - 1, k, unit, draws)
    dataset = SAMPLE_SETS[samples]()
    asked = Request(card.name, "", target=card.given)
    requests = [dataset.asked(asked, one) for one in dataset.examples[:examples]]
    if not foil:
        found, taken = measure_inputs(requests, probe, run)
        if taken < len(requests):
            left = f"{len(requests) - taken:,} of {len(requests):,} examples"
            typer.echo(f"{left} have fewer than {k + 1:,} {unit}s and were left out.", err=True)
    else:
        found, taken = measure_contrast(requests, probe, run, word, foil)
        if taken < len(requests):
            left = f"{len(requests) - taken:,} of {len(requests):,} examples"
            typer.echo(
                f"{left} do not contain the word or have too few {unit}s. They were left out.",
                err=True,
            )
    for line in format_lines(found, taken, is_contrast=bool(foil)):
        typer.echo(line)


def _name_samples(card: Card) -> str:
    """Return the name of the sample set for a model.

    Raises:
        InputError: the app has no examples on which attention of this model can be removed.
    """
    takes = {}
    for task in TASKS.values():
        if task.samples and {"weigh", "target"} <= task.can:
            takes[task.key] = task.title
    if card.task not in takes:
        raise InputError(
            f"“{card.title}” cannot be measured: the app has no examples on which its attention"
            f" can be removed. Choose a model for one of these tasks: {', '.join(takes.values())}."
        )
    return TASKS[card.task].samples


def format_lines(found: Faithfulness, examples: int, is_contrast: bool = False) -> list[str]:
    """Format the results over `examples` examples, one line per measure."""
    lines = [
        f"examples: {examples}, output items: {found.items}, mean probability:"
        f" {found.probability:.3f}"
    ]
    if is_contrast:
        lines = [f"examples: {examples}, p(word) - p(foil): {found.probability:.3f}"]
    for name in ("comprehensiveness", "sufficiency"):
        mean, deviation = compute_mean_and_deviation(getattr(found, f"random_{name}"))
        lines.append(
            f"{name}: {getattr(found, name):.3f}, by chance {mean:.3f} (standard deviation"
            f" {deviation:.3f})"
        )
    return lines


# Measurement of a checkpoint.
#
# The function of its task measures it and the figures go to the card.


Place = tuple[int, int]
"""Layer and head, counted from 0."""


@dataclass(frozen=True, slots=True)
class Options:
    """Options for measuring models that write."""

    # Beam width. 1 is greedy decoding.
    beam: int = 4
    # Number of examples over which attention is measured, 0 for none.
    traces: int = 200
    # True if outputs are written and scored. Without them, only attention is measured.
    outputs: bool = True

    @property
    def method(self) -> str:
        """The decoding method, as in a request."""
        return "greedy" if self.beam == 1 else "beam"


@dataclass(frozen=True, slots=True)
class Measured:
    """The results of a task for a model on one split."""

    # Metric -> value, for the split's entry of `Card.figures`.
    figures: Mapping[str, Any]
    # Entry of `Card.attention` -> metric -> value.
    attention: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    # The outputs of the model.
    outputs: Sequence[str] = ()
    # Entry of `Card.recipe` -> value that validation chose.
    chosen: Mapping[str, Any] = field(default_factory=dict)
    # Figures of every head, for `Card.heads`.
    heads: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    # How pages first show each site, if validation chose it.
    opening: Mapping[str, Opening] = field(default_factory=dict)


def evaluate_checkpoint(
    folder: Path, data: Path, split: str, options: Options, device: str = "auto"
) -> tuple[Card, Sequence[str]]:
    """Measure a checkpoint and write the figures to its card.

    Returns:
        The card, and the outputs of the model.

    Raises:
        FileNotFoundError: The corpus is not in `data`.
        BackendError: The checkpoint cannot be loaded.
        InputError: The task does not have this split, or another split has to be measured first.
    """
    card = read_card(folder / "card.json")
    task = TASKS[card.task]
    check_choice("split", split, task.splits)
    model = MODELS[card.family].load(folder, card, choose_device(device))
    found: Measured = resolve_name(EVALUATIONS[task.key])(model, data, split, options)
    attention = dict(card.attention)
    for name, values in found.attention.items():
        attention[name] = values if options.outputs else {**attention.get(name, {}), **values}
    card = replace(
        card,
        recipe={**card.recipe, **found.chosen},
        figures={**card.figures, split: found.figures} if found.figures else card.figures,
        attention=attention,
        heads=found.heads or card.heads,
        opening={**card.opening, **found.opening},
    )
    write_card(card, folder / "card.json")
    return card, found.outputs


def choose_pointing_head(
    card: Card, split: str, measured: Mapping[Place, Mapping[str, float]]
) -> Place:
    """Return the head that points best on "val". For other splits, return the head on the card.

    Raises:
        InputError: "val" has not been measured yet.
    """
    if split == "val":
        return max(measured, key=lambda place: measured[place]["pointing"])
    check_chosen(card, split)
    assert card.pointing_head is not None
    return card.pointing_head


def check_chosen(card: Card, split: str) -> None:
    """Check that the pointing head has been chosen on "val".

    Raises:
        InputError: The head has not been chosen, and choosing it on this split would be unfair.
    """
    if split != "val" and card.pointing_head is None:
        raise InputError(
            'Measure the split "val" first: the head that points best is chosen on it, not on'
            f' "{split}".'
        )


# The choice, on validation, of the heads that together point best at boxes, moments or frames.


HEADLESS = ("_uniform", "_middle")
"""Suffixes of the baselines for pictures that do not depend on the heads."""
MOMENTS = ("_uniform", "_diagonal", "_position")
"""Suffixes of the baselines for sounds and clips that do not depend on the heads."""


def choose_best(words: PointedWords, chosen_on: str, may_open: bool) -> BestAlignment | None:
    """Choose the heads that point right most often.

    Args:
        words: Words of validation examples.
        chosen_on: Description of the words, such as "words of validation photos".
        may_open: Whether pages may show the choice first. They do if it beats the best single head.

    Returns:
        The choice, or None if there is a single head and no later step helps.
    """
    found = _choose_heads(words)
    if words.shape == (1, 1) and found.heads == ((0, 0, 0),):
        return None
    error, single = round(found.error, 4), round(found.error_single, 4)
    opens = may_open and error < single
    return BestAlignment(found.heads, len(words), chosen_on, error, single, opens)


def choose_pointing_opening(
    card: Card, site: str, place: Place, words: PointedWords, split: str
) -> Opening:
    """Return how pages first show a captioner's picture. "val" chooses the pointing heads.

    Args:
        card: The card of the model.
        site: The site of the picture.
        place: The head that points best.
        words: The words with boxes of the split.
        split: "val" or "test".
    """
    first = card.opening.get(site, Opening("coverage", *place))
    if split != "val":
        return first
    best = choose_best(words, f"words of validation {card.pictures}", card.mechanism != "area")
    return replace(first, best=best, pointing_head=place)


def choose_moment_opening(
    card: Card, site: str, words: PointedWords, split: str, chosen_on: str
) -> dict[str, Opening]:
    """Return how pages first show a model for sounds or clips, by site. "val" chooses the heads.

    The result is empty if validation chose no heads and the card has no entry. Pages then use their
    usual default.
    """
    first = card.opening.get(site, Opening("heaviest", 0, None))
    if split == "val":
        first = replace(first, best=choose_best(words, chosen_on, may_open=True))
    return {site: first} if first.best is not None or site in card.opening else {}


def measure_best_pointing(
    measure: str,
    words: PointedWords,
    untrained: PointedWords,
    best: BestAlignment | None,
    single: Mapping[str, float],
    same: Sequence[str] = HEADLESS,
) -> dict[str, float]:
    """Return how often the chosen heads point right, with baselines. The keys begin with "best_".

    The suffixes _low and _high are the ends of a 95 % bootstrap interval over examples. For
    _position, every word has the mean map of all words. For _untrained, the untrained network is
    measured, with heads that are chosen in the same way. They are chosen on the reported words,
    which favours the untrained network.
    it.

    Args:
        measure: Key of the metric, such as "pointing".
        words: The words to report.
        untrained: The same words in the untrained network.
        best: The chosen heads. None gives an empty result.
        single: Figures of the best single head.
        same: Suffixes of the baselines in `single` that do not depend on the heads.
    """
    if best is None:
        return {}
    key = f"best_{measure}"
    hits_W = words.hits(best.heads)
    low, high = bootstrap_hit_interval(hits_W, words.examples)
    return {
        key: float(hits_W.mean()),
        f"{key}_low": low,
        f"{key}_high": high,
        f"{key}_position": words.blind(best.heads),
        f"{key}_untrained": 1.0 - _choose_heads(untrained).error,
        "best_heads": len(best.heads),
        **{f"{key}{one}": single[f"{measure}{one}"] for one in same if f"{measure}{one}" in single},
    }


def _choose_heads(words: PointedWords) -> Chosen:
    return choose_heads(*words.shape, words.error)


# The choice, on validation, of the display, layer and head that a page shows first.
#
# Top areas, which the softmax chose, are shown if a head has multi-item top areas. In a
# translator's cross-attention, this is the head whose multi-item areas contain the linked word most
# often, among those that have such areas often. At other sites, one head must depend on its query
# more than the untrained network, and its top areas must have several items often enough
# (`has_enough_spans`). Elsewhere the top area is a single item, and a page shows the attention that
# items receive:
#
# - In a translator's cross-attention: the item with most coverage or the densest area, in the layer
# and head (or mean head of a layer) that agrees best with words linked by hand.
# - In a captioner: coverage, in the head that points best.
# - At other sites: coverage, in the head that depends most on its query.
#
# Shapes: L layers, H heads, Q queries, N items, A areas.


PlaceOrMean = tuple[int, int | None]
"""Layer and head, counted from 0. None is the mean of the layer's heads."""
Rated = tuple[str, PlaceOrMean]
"""A display (a key of `READINGS`) at a place."""
Figures = Mapping[str, Any]
Spans = npt.NDArray[np.int64]
"""Start and end item of one span per query: [Q, 2]."""
AT_LEAST = 0.2
"""Smallest share of queries with a multi-item top area, at sites that `WANTED` does not name."""


def choose_openings(heads: Mapping[str, Figures]) -> dict[str, Opening]:
    """Return how pages first show every measured site, as far as its heads determine it."""
    found = {}
    for site, figures in heads.items():
        depends_LH = np.array(figures["dependence"])
        shares_LH = np.where(has_enough_spans(figures, site), np.array(figures["multi_share"]), 0.0)
        if shares_LH.any():
            found[site] = Opening("heaviest", *_find_largest(shares_LH))
        else:
            found[site] = Opening("coverage", *_find_largest(depends_LH))
    return found


def make_pointing_opening(figures: Figures, place: tuple[int, int]) -> Opening:
    """Return how pages first show a picture, given the layer and head (from 0) that points best."""
    reading = "heaviest" if has_enough_spans(figures, "picture")[place] else "coverage"
    return Opening(reading, *place, pointing_head=place)


def choose_linked_opening(model: GenerationModel, figures: Figures, linked: Dataset) -> Opening:
    """Return how pages first show a translator's cross-attention.

    Args:
        model: The translator.
        figures: Figures of its heads at this site.
        linked: Validation sentences with links.
    """
    if has_enough_spans(figures, LINKED_SITE).any():
        spans_LH = count_linked(model, linked).figures()["span"]
        place = choose_phrase_head(figures, spans_LH)
        assert place is not None
        shown, phrases = place
        # Several heads of the layer show areas, each in its own colour, so the page shows all
        # heads.
        is_alone = int(has_enough_spans(figures, LINKED_SITE)[shown].sum()) == 1
        return Opening("heaviest", shown, phrases if is_alone else None)
    agrees = measure_agreement(model, linked)
    others = [rated for rated in agrees if rated[0] != "heaviest"]
    reading, (layer, head) = max(others, key=lambda rated: agrees[rated])
    return Opening(reading, layer, head)


def has_enough_spans(figures: Figures, site: str) -> npt.NDArray[np.bool_]:
    """Return whether each head has multi-item top areas often enough: [L, H].

    Heads count only if they depend on their query more than the untrained network.
    """
    wanted, _ = WANTED.get(site, (AT_LEAST, 0.0))
    depends_LH = np.array(figures["dependence"]) > figures["dependence_untrained"]
    found: npt.NDArray[np.bool_] = depends_LH & (np.array(figures["multi_share"]) >= wanted)
    return found


def measure_agreement(model: GenerationModel, linked: Dataset) -> dict[Rated, float]:
    """Return how well each display agrees with linked words at every place, 0 to 1.

    The value is the mean F1 overlap over every item of a written word with a link. F1 is twice the
    number of items that are both shown and in linked words, divided by the sum of both numbers.
    """
    sums: dict[Rated, float] = {}
    count = 0
    for trace, example in zip(iterate_given_traces(model, linked), linked.examples, strict=True):
        wanted_QN = _find_linked_items(trace, example)
        rows = np.flatnonzero(wanted_QN.any(-1))
        count += len(rows)
        attention = trace.maps[LINKED_SITE]
        for layer in range(attention.layers):
            for head in (*range(attention.heads), None):
                for reading, spans_Q2 in _find_shown_spans(attention, layer, head).items():
                    rated = (reading, (layer, head))
                    total = _compute_f1(spans_Q2[rows], wanted_QN[rows]).sum()
                    sums[rated] = sums.get(rated, 0.0) + float(total)
    return {rated: total / max(1, count) for rated, total in sums.items()}


def _find_linked_items(trace: Trace, example: Example) -> npt.NDArray[np.bool_]:
    """Return which items belong to words linked with each written item's word: bool [Q, N]."""
    attention = trace.maps[LINKED_SITE]
    target, source = trace.fields[attention.query], trace.fields[attention.memory]
    targets, sources = find_word_runs(target), find_word_runs(source)
    wanted_QN = np.zeros((len(target), len(source)), dtype=bool)
    for i, j in example.sure | example.possible:
        if i < len(sources) and j < len(targets):
            wanted_QN[slice(*targets[j]), slice(*sources[i])] = True
    return wanted_QN


def _find_shown_spans(attention: AttentionMap, layer: int, head: int | None) -> dict[str, Spans]:
    """Return the span that each display shows for every query. An item is a span of one item."""
    shares_QN = query.item_shares(attention, layer, head)
    item_Q = shares_QN.argmax(-1)
    found = {"coverage": np.stack([item_Q, item_Q + 1], 1)}
    densest = query.densest_areas(attention, layer, head)
    found["densest"] = np.array(
        [(one.area.left, one.area.left + one.area.width) if one else (0, 0) for one in densest]
    )
    if head is not None:
        _, left_A, _, width_A = attention.grid.table().T
        top_Q = attention.weights[layer, head].argmax(-1)
        found["heaviest"] = np.stack([left_A[top_Q], left_A[top_Q] + width_A[top_Q]], 1)
    return found


def _compute_f1(spans_Q2: Spans, wanted_QN: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """Return the F1 overlap of each span with the wanted items, 0 to 1: [Q]."""
    item_N = np.arange(wanted_QN.shape[1])
    shown_QN = (spans_Q2[:, :1] <= item_N) & (item_N < spans_Q2[:, 1:])
    both_Q = (shown_QN & wanted_QN).sum(-1)
    overlap: npt.NDArray[np.float64] = 2 * both_Q / (shown_QN.sum(-1) + wanted_QN.sum(-1))
    return overlap


def _find_largest(values_LH: npt.NDArray[np.floating]) -> tuple[int, int]:
    """Return the layer and head of the largest value, counted from 0."""
    layer, head = np.unravel_index(values_LH.argmax(), values_LH.shape)
    return int(layer), int(head)
