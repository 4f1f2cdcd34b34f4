"""Metrics of one example: quality of the output, confidence of the model, and its attention.

A metric that does not apply, such as a score without a reference, is left out of the row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from areaviz.analysis.answer_metrics import MEASURES as OF_ANSWERS
from areaviz.analysis.answer_metrics import (
    Measured,
    compute_glimpse_hit_rate,
    find_share_of_facts_read,
    score_points,
)
from areaviz.analysis.measure import Measure, OwnMeasure, measure_problem
from areaviz.analysis.output_scores import score_output
from areaviz.extensions import ExtensibleRegistry
from areaviz.measures.alignment import (
    LinkCounts,
    count_links,
    find_attention_links,
    find_strongest_links,
    make_diagonal_links,
)
from areaviz.measures.spans import compute_weighted_purity, compute_word_attention, find_word_runs
from areaviz.metrics.source_coverage import measure_coverage
from areaviz.samples.dataset import Box, Example
from areaviz.trace.errors import BackendError
from areaviz.trace.query import (
    compute_head_shares,
    head_summary,
    is_one_text,
    item_shares,
    query_dependence,
)
from areaviz.trace.record import Trace

# The attention type that is measured, from the output to the input.
CROSS = "encoder-decoder"
# The attention type that is measured for a language model, from the output to the text before it.
SELF_ATTENTION = "decoder self"
# Punctuation to strip from the ends of words.
_PUNCTUATION = " .,;:!?\"'()"


def compute_metrics(trace: Trace, example: Example) -> Measured:
    """Return the value of every metric that applies, in the order of `MEASURES`."""
    values: dict[str, float] = {}
    for group in GROUPS:
        values |= group(trace, example)
    for name, one in MEASURES.items():
        if isinstance(one, OwnMeasure):
            values |= _compute_own_measure(name, one, trace, example)
    return {name: value for name, value in order_measures(values).items() if np.isfinite(value)}


def order_measures(values: Measured) -> Measured:
    """Return values as plain numbers in the order of `MEASURES`.

    Raises:
        KeyError: a value has no entry in `MEASURES`, so it would be lost.
    """
    unknown = sorted(values.keys() - MEASURES.keys())
    if unknown:
        raise KeyError(f"MEASURES lacks {', '.join(unknown)}")
    return {name: float(values[name]) for name in MEASURES if name in values}


def _compute_own_measure(name: str, one: OwnMeasure, trace: Trace, example: Example) -> Measured:
    """Compute another package's metric.

    Raises:
        BackendError: the metric failed.
    """
    try:
        value = one.value(trace, example)
        return {} if value is None else {name: float(value)}
    except Exception as error:
        raise BackendError(
            f'The measure "{name}" failed on the example {example.name}'
            f" ({type(error).__name__}: {error}). Update or remove the package that brings"
            " it."
        ) from error


def link_counts(trace: Trace, example: Example) -> LinkCounts | None:
    """Compare alignments read from attention (last layer, mean of heads) with gold alignments.

    Counts of examples can be added. The alignment error rate of a dataset is computed from the
    sums.

    Returns:
        The counts, or None if there are no gold alignments or the output does not attend to text.
    """
    if not (example.sure or example.possible) or not _has_text_memory(trace):
        return None
    made = find_attention_links(trace, trace.maps[CROSS].layers - 1)
    return count_links(made, example.sure, example.possible)


def _has_text_memory(trace: Trace) -> bool:
    """Return whether the output attends to a text."""
    attention = trace.maps.get(CROSS)
    return attention is not None and trace.fields[attention.memory].is_text


def _measure_output(trace: Trace, example: Example) -> Measured:
    """Return the scores of `score_output` and the probabilities of the output."""
    is_spoken = trace.request.sound is not None
    if is_one_text(trace):
        # The output was given with the input, so the model did not write it.
        example = replace(example, references=())
    values = dict(score_output(trace.answer, example, is_spoken))
    probabilities = trace.output.probabilities
    if len(probabilities):
        # The logarithm of a probability that was rounded to 0 would be minus infinity.
        logs = np.log(np.maximum(probabilities, 1e-12))
        values["confidence"] = np.exp(logs.mean())
    return values


def _measure_word_attention(trace: Trace, example: Example) -> Measured:
    """Measure attention from words to words: last layer, mean of heads."""
    if not _has_text_memory(trace):
        return {}
    attention = trace.maps[CROSS]
    target, source = trace.fields[attention.query], trace.fields[attention.memory]
    purity, random = compute_weighted_purity(attention, source)
    values = {"purity": purity, "purity_random": random}
    if find_word_runs(target) and find_word_runs(source):
        shares_QN = item_shares(attention, attention.layers - 1, None)
        found = measure_coverage(compute_word_attention(shares_QN, target, source))
        for name in ("coverage_deviation", "absentmindedness", "source_absentmindedness"):
            values[name] = getattr(found, name)
    return values


def _measure_area_attention(trace: Trace, example: Example) -> Measured:
    """Measure the entropy of the weights, the size of areas and their dependence on the query.

    All values are means over layers and heads.
    """
    site = SELF_ATTENTION if is_one_text(trace) else CROSS
    if site not in trace.maps:
        return {}
    attention = trace.maps[site]
    heads = head_summary(attention)
    bits, shares = [], []
    for layer in range(attention.layers):
        for shares_QN in compute_head_shares(attention, layer):
            dependence, most = query_dependence(shares_QN)
            bits.append(dependence)
            shares.append(dependence / most if most else 0.0)
    return {
        "entropy": heads.entropy.mean(),
        "area_size": heads.area_size.mean(),
        "dependence": np.mean(bits),
        "dependence_share": np.mean(shares),
    }


def _measure_pointing(trace: Trace, example: Example) -> Measured:
    """Play the pointing game for output words with boxes, in the mean head of the last layer.

    A word counts as right if its attention is largest inside one of its boxes. One baseline points
    at the middle of the picture for every word. Another one points at the heaviest cell of the mean
    map of all words.
    """
    picture, boxes = trace.request.picture, example.boxes
    for attention in trace.maps.values():
        written, cells = trace.fields[attention.query], trace.fields[attention.memory]
        if attention.query == trace.output.field and cells.is_picture:
            break
    else:
        return {}
    if picture is None or not boxes:
        return {}
    shares_QN = item_shares(attention, attention.layers - 1, None)
    corners_N22 = cells.anchors.reshape(-1, 2, 2) / (picture.width, picture.height)
    middles_N2 = corners_N22.mean(1)
    blind_x, blind_y = middles_N2[shares_QN.mean(0).argmax()]
    hits, in_middle, is_blind_right = [], [], []
    for start, end in find_word_runs(written):
        text = written.raw[written.anchors[start, 0] : written.anchors[end - 1, 1]]
        word = text.strip(_PUNCTUATION).lower()
        # A word may have several boxes, such as two dogs. Each of them counts as right.
        word_boxes = [box for name, box in boxes if name == word]
        if word_boxes:
            x, y = middles_N2[shares_QN[start:end].mean(0).argmax()]
            hits.append(_is_in_any_box(x, y, word_boxes))
            in_middle.append(_is_in_any_box(0.5, 0.5, word_boxes))
            is_blind_right.append(_is_in_any_box(blind_x, blind_y, word_boxes))
    found = {"pointing": hits, "pointing_middle": in_middle, "pointing_blind": is_blind_right}
    return {name: float(np.mean(values)) for name, values in found.items() if values}


def _is_in_any_box(x: float, y: float, boxes: Iterable[Box]) -> bool:
    """Return whether a point is in any box."""
    return any(left <= x < right and top <= y < bottom for left, top, right, bottom in boxes)


def _measure_alignment(trace: Trace, example: Example) -> Measured:
    """Compare alignments from attention with the gold alignments, and do so for two baselines.

    One baseline is the diagonal. The other one uses the mean map of all words for every word.
    """
    counts = link_counts(trace, example)
    if counts is None:
        return {}
    attention = trace.maps[CROSS]
    target, source = trace.fields[attention.query], trace.fields[attention.memory]
    sizes = len(find_word_runs(source)), len(find_word_runs(target))
    diagonal = count_links(make_diagonal_links(*sizes), example.sure, example.possible)
    shares_QN = item_shares(attention, attention.layers - 1, None)
    words_TS = compute_word_attention(shares_QN, target, source)
    same_TS = np.broadcast_to(words_TS.mean(0), words_TS.shape)
    blind = count_links(find_strongest_links(same_TS), example.sure, example.possible)
    return {
        "alignment_error": counts.error_rate,
        "alignment_diagonal": diagonal.error_rate,
        "alignment_blind": blind.error_rate,
    }


# Each function computes related metrics in one pass and leaves out those that do not apply.
GROUPS = (
    _measure_output,
    score_points,
    find_share_of_facts_read,
    _measure_word_attention,
    _measure_area_attention,
    _measure_pointing,
    compute_glimpse_hit_rate,
    _measure_alignment,
)

_OURS: Mapping[str, Measure] = {
    **OF_ANSWERS,
    "spoken_error": Measure(
        "Error",
        "Inserted, deleted and substituted characters, as a share of the spoken characters. 0 is"
        " best.",
        "low",
    ),
    "bleu": Measure(
        "BLEU",
        "Sentence BLEU by sacrebleu, 0 to 100, over the n-gram orders that have a match.",
        "high",
    ),
    "chrf": Measure("chrF", "chrF2 by sacrebleu, 0 to 100.", "high"),
    "rouge_l": Measure(
        "ROUGE-L", "Longest common subsequence of words with the references, 0 to 100.", "high"
    ),
    "length": Measure("Words", "Words of the output.", ""),
    "length_ratio": Measure(
        "Length ratio", "Words of the output divided by words of its references.", ""
    ),
    "confidence": Measure(
        "Confidence", "Geometric mean of the probabilities of the output.", "high"
    ),
    "coverage_deviation": Measure(
        "Coverage deviation",
        "Difference of the attention that each source word receives from that of one target word."
        " 0 means that every source word receives as much as one target word gives.",
        "low",
    ),
    "absentmindedness": Measure(
        "Spread of attention",
        "Entropy of each output word's attention, divided by its maximum (absentmindedness). 0"
        " means attention to one source word, 1 means equal attention to all of them.",
        "low",
    ),
    "source_absentmindedness": Measure(
        "Spread over the output",
        "Entropy of the attention that a source word receives, divided by its maximum. 0 means"
        " attention from one output word, 1 means equal attention from all of them.",
        "low",
    ),
    "entropy": Measure(
        "Entropy", "Entropy of the area weights in bits, mean of layers and heads.", ""
    ),
    "area_size": Measure("Area size", "Mean number of items of an attended area.", ""),
    "dependence": Measure(
        "Query dependence",
        "Mutual information of query and attended item in bits, mean of layers and heads. 0 means"
        " that every query attends to the same place.",
        "",
    ),
    "dependence_share": Measure(
        "Query dependence, share",
        "Query dependence divided by its maximum for the head's average attention.",
        "",
    ),
    "purity": Measure(
        "Within a word", "Share of the attention on areas within one source word.", ""
    ),
    "purity_random": Measure(
        "Areas anywhere within a word",
        "Value of Within a word for areas of the same sizes and weights at random places, as a"
        " baseline.",
        "",
    ),
    "pointing": Measure(
        "Points right",
        "Share of the output's words with gold boxes whose attention is largest inside one of their"
        " boxes. For a digit classifier, the share of glimpses that are centred on a digit.",
        "high",
    ),
    "pointing_middle": Measure(
        "Middle points right",
        "Value of Points right if every word points at the middle of the picture, as a baseline.",
        "",
    ),
    "pointing_blind": Measure(
        "One map points right",
        "Value of Points right if every word has the mean map of all words, as a baseline.",
        "",
    ),
    "alignment_error": Measure(
        "Alignment error", "Alignment error rate against gold links. 0 is best.", "low"
    ),
    "alignment_diagonal": Measure(
        "Alignment error of the diagonal",
        "Alignment error of links at equal relative places, as a baseline.",
        "",
    ),
    "alignment_blind": Measure(
        "Alignment error of one map",
        "Alignment error if every word has the mean map of all words, as a baseline.",
        "",
    ),
}
# Metrics by name, in the order in which tables show them: our own, then those of other packages.
MEASURES: Mapping[str, Measure] = ExtensibleRegistry("measures", _OURS, measure_problem)
