"""Metrics of one example: answers, outputs, coverage of the source, and attention.

`Measure` comes first. `compute_metrics` in the last section computes all metrics of an example.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from areaviz.extensions import ExtensibleRegistry
from areaviz.measures.alignment import (
    LinkCounts,
    count_links,
    find_attention_links,
    find_strongest_links,
    make_diagonal_links,
)
from areaviz.measures.pointing import find_hits
from areaviz.measures.references import (
    compute_rouge_l,
    count_edits,
    score_brackets,
    score_sentences,
    split_caption,
)
from areaviz.measures.spans import compute_weighted_purity, compute_word_attention, find_word_runs
from areaviz.samples.dataset import POINTS, STORIES, TREES, Box, Example, are_digits
from areaviz.samples.reasoning import compute_signed_area, measure_tour_length, solve_exactly
from areaviz.trace.areas import FloatArray
from areaviz.trace.errors import BackendError
from areaviz.trace.kinds import EXTENT
from areaviz.trace.query import (
    compute_head_shares,
    head_summary,
    is_one_text,
    item_shares,
    query_dependence,
)
from areaviz.trace.record import Trace

# Definition of a metric. areaviz computes its own in groups, and those of plug-ins one by one.


@dataclass(frozen=True, slots=True)
class Measure:
    """Description of a metric.

    Args:
        title: the displayed name.
        about: an explanation in one sentence.
        better: "high", "low", or "" if neither is better.
    """

    title: str
    about: str
    better: str


@dataclass(frozen=True, slots=True)
class OwnMeasure(Measure):
    """A metric that another package provides, with the function that computes it.

    Args:
        value: returns the metric for one example's trace, or None if the metric does not apply.
    """

    value: Callable[[Trace, Example], float | None]


def measure_problem(thing: object) -> str:
    """Return what is wrong with another package's metric, "" if it is valid."""
    if not isinstance(thing, OwnMeasure):
        return "is no OwnMeasure"
    if thing.better not in ("high", "low", ""):
        return 'is better neither "high" nor "low" nor ""'
    return ""


# Metrics of models that answer questions: trees, stories, hulls and tours of points, digits.
#
# Shapes: N points, K hops, M facts, T glimpses, D boxes.


Measured = Mapping[str, float]

ANSWER_MEASURES: Mapping[str, Measure] = {
    "right": Measure("Right", "1 if the whole answer is right, else 0.", "high"),
    "bracket_f1": Measure(
        "Bracket F1",
        "Brackets with the right label around the right words: harmonic mean of the shares of those"
        " written and of those wanted, 0 to 1.",
        "high",
    ),
    "tour_ratio": Measure(
        "Length", "Length of the tour divided by that of the shortest one. 1 is best.", "low"
    ),
    "hull_area": Measure(
        "Area", "Area of the hull divided by that of the exact one. 1 is best.", "high"
    ),
    "facts_read": Measure(
        "Facts read",
        "Share of the facts that answer the question and have the largest weight in some hop.",
        "high",
    ),
}
"""Metrics by name, in the order in which tables show them."""


def score_answer(kind: str, output: str, example: Example) -> Measured:
    """Score one output of any system against the right answers.

    Args:
        kind: the kind of the example's text, `TREES` or `STORIES`.
        output: a linearised tree, or an answer to a question.
        example: contains the right trees or answers.

    Returns:
        "right", 0 or 1, and for trees "bracket_f1", 0 to 1, against the closest right tree.
    """
    if kind == STORIES:
        return {"right": float(output.strip().lower() in map(str.lower, example.references))}
    scores = [score_brackets([output], [one]) for one in example.references]
    best = max(scores, key=lambda one: one.f1)
    return {"right": best.exact, "bracket_f1": best.f1}


def is_answer(kind: str) -> bool:
    """Return whether outputs of this kind are right or wrong, not compared word by word."""
    return kind in (TREES, STORIES)


def find_share_of_facts_read(trace: Trace, example: Example) -> Measured:
    """Return the share of gold facts that get the most attention in some hop, {} without facts."""
    for attention in trace.maps.values():
        if trace.fields[attention.memory].kind == "facts" and example.facts:
            break
    else:
        return {}
    read = {int(item_shares(attention, hop, None)[0].argmax()) for hop in range(attention.layers)}
    return {"facts_read": len(read & set(example.facts)) / len(example.facts)}


def has_digits_to_recognise(example: Example) -> bool:
    """Return whether the example is a picture of digits to be recognised."""
    return bool(example.file) and not example.text and are_digits(example.references)


def compute_glimpse_hit_rate(trace: Trace, example: Example) -> Measured:
    """Return the share of a digit classifier's glimpses that are centred on a digit.

    For attention to cells, the centre of the top cell counts. The result is {} for examples that
    are not digits and for models without glimpses or cells.
    """
    picture, places_T2 = trace.request.picture, _glimpse_centres_px(trace)
    if (
        picture is None
        or places_T2 is None
        or not (example.boxes and has_digits_to_recognise(example))
    ):
        return {}
    size = np.array([picture.width, picture.height])
    boxes_D4 = np.array([box for _, box in example.boxes])
    found_1T = find_hits((places_T2 / size)[None], boxes_D4[None])
    return {"pointing": float(found_1T.mean())}


def _glimpse_centres_px(trace: Trace) -> FloatArray | None:
    """Return the centre of each glimpse as (x, y) in pixels [T, 2], None without glimpses."""
    for site in ("glimpses", "transformer"):
        if site in trace.gazes:
            middles_T2: FloatArray = trace.gazes[site].corners[:, 0].mean(1)
            return middles_T2
    for attention in trace.maps.values():
        is_written = attention.query == trace.output.field
        if is_written and trace.fields[attention.memory].is_picture:
            chosen_T = item_shares(attention, attention.layers - 1, None).argmax(1)
            anchors_T22 = trace.fields[attention.memory].anchors[chosen_T].reshape(-1, 2, 2)
            return np.asarray(anchors_T22.mean(1))
    return None


def score_points(trace: Trace, example: Example) -> Measured:
    """Compare the answer for a set of points with the exact answer, which this function computes.

    A hull may start at any of its points. It is compared in the order in which it is written:
    counter-clockwise from the leftmost point.

    Returns:
        "right", and "tour_ratio" or "hull_area". The result is {} for other inputs.
    """
    field = trace.fields.get("points")
    if field is None:
        return {}
    points_N2 = field.anchors / EXTENT
    answer = [int(number) - 1 for number in trace.fields[trace.output.field].labels[:-1]]
    kind = trace.details["kind"]
    right = [int(one) for one in solve_exactly(kind, points_N2[None])[0] if one >= 0]
    found = {"right": float(answer == right)}
    if kind == "tour":
        found["tour_ratio"] = measure_tour_length(points_N2, answer) / measure_tour_length(
            points_N2, right
        )
    else:
        areas = [abs(compute_signed_area(points_N2[one])) for one in (answer, right)]
        found["hull_area"] = areas[0] / areas[1]
    return found


# Scores of outputs against references: all metrics that need no model.


def score_outputs(
    outputs: Sequence[str], examples: Sequence[Example], is_spoken: bool = False
) -> list[Measured]:
    """Return the length of every output and its scores against the references of its example.

    Args:
        outputs: the outputs of any system.
        examples: the example of each output.
        is_spoken: whether the outputs are transcripts, which are compared by characters.
    """
    found: list[Measured] = [
        _score_kind(output, example, is_spoken)
        for output, example in zip(outputs, examples, strict=True)
    ]
    scored = [
        place
        for place, (values, example) in enumerate(zip(found, examples, strict=True))
        if values.keys() == {"length"} and example.references
    ]
    # One call for all sentences that have a single reference is several times as fast as many
    # calls.
    single = [place for place in scored if len(examples[place].references) == 1]
    bleu, chrf = score_sentences(
        [outputs[place] for place in single], [examples[place].references[0] for place in single]
    )
    together = dict(zip(single, zip(bleu.tolist(), chrf.tolist(), strict=True), strict=True))
    for place in scored:
        output, references = outputs[place], examples[place].references
        scores = together.get(place) or _score_against_references(output, references)
        found[place] = {**found[place], **_score_text(output, references, *scores)}
    return found


def score_output(output: str, example: Example, is_spoken: bool = False) -> Measured:
    """Return the length and the scores of one output, see `score_outputs`."""
    return score_outputs([output], [example], is_spoken)[0]


def _score_kind(output: str, example: Example, is_spoken: bool) -> dict[str, float]:
    """Return the scores of a transcript, a digit or an answer, or the length of a text."""
    if is_spoken:
        return _score_spoken(output, example)
    if has_digits_to_recognise(example):
        return {"right": float(output in example.references)}
    kind = example.text_kind
    if kind == POINTS:
        return {}
    if is_answer(kind):
        return dict(score_answer(kind, output, example))
    return {"length": len(output.split())}


def _score_spoken(output: str, example: Example) -> dict[str, float]:
    """Return the character error rate of a transcript, which ignores spaces."""
    heard = "".join(output.split())
    errors = []
    for reference in example.references:
        said = "".join(reference.split())
        errors.append(count_edits(heard, said) / max(1, len(said)))
    return {"spoken_error": min(errors)} if errors else {}


def _score_against_references(output: str, references: Sequence[str]) -> tuple[float, float]:
    """Return sentence BLEU and chrF2 against several references, each 0..100."""
    bleu = BLEU(effective_order=True).sentence_score(output, references).score
    return bleu, CHRF().sentence_score(output, references).score


def _score_text(
    output: str, references: Sequence[str], bleu: float, chrf: float
) -> dict[str, float]:
    mean_length = np.mean([len(reference.split()) for reference in references])
    reference_words = [split_caption(reference) for reference in references]
    return {
        "bleu": bleu,
        "chrf": chrf,
        "rouge_l": 100 * compute_rouge_l(split_caption(output), reference_words),
        "length_ratio": float(len(output.split()) / mean_length),
    }


# Coverage deviation and absentmindedness, which measure how well attention covers a source.
#
# Both reveal suspicious translations without a reference, such as omitted or repeated words. They
# also reveal attention that is spread over the whole source (Rikters, Fishel and Bojar 2017).
#
# Shapes: T target words, S source words.


POWER = 6
"""Exponent of the deviation, as in the authors' tool SoftAlignments. Their paper uses 2."""


@dataclass(frozen=True, slots=True)
class SourceCoverage:
    """Three metrics of one sentence. 0 is best for all of them."""

    # 0 if the attention to every source word sums to 1, otherwise larger.
    coverage_deviation: float
    # Entropy of a target word's attention as a share of its maximum, 0..1.
    absentmindedness: float
    # Entropy of the attention that a source word receives, as a share of its maximum, 0..1.
    source_absentmindedness: float


def measure_coverage(shares_TS: FloatArray) -> SourceCoverage:
    """Compute the three metrics of one sentence.

    a_ts is the share of target word t's attention on source word s. The coverage deviation is 1/S
    sum_s log(1 + |1 - sum_t a_ts|^6). The absentmindedness is the mean over t of -sum_s a_ts log
    a_ts / log S. For source words, it is computed from the normalised attention that they receive,
    a_ts / sum_t a_ts, with log T.

    Args:
        shares_TS: Rows sum to 1, or to 0 for a word that attends to nothing.

    Raises:
        ValueError: One of the sides has no words.
    """
    if not shares_TS.size:
        raise ValueError("Certainty needs at least one word on each side.")
    received_S = shares_TS.sum(0, dtype=np.float64)
    return SourceCoverage(
        coverage_deviation=float(np.log1p(np.abs(1 - received_S) ** POWER).mean()),
        absentmindedness=_average_entropy(shares_TS),
        source_absentmindedness=_average_entropy(shares_TS.T),
    )


def _average_entropy(weights_RN: FloatArray) -> float:
    """Return the mean entropy of the non-empty rows, as a share of its maximum."""
    rows = weights_RN[weights_RN.sum(1) > 0].astype(np.float64)
    if not len(rows) or rows.shape[1] == 1:
        return 0.0
    shares = rows / rows.sum(1, keepdims=True)
    nats = -(shares * np.log(shares, out=np.zeros_like(shares), where=shares > 0)).sum(1)
    return float(nats.mean() / np.log(rows.shape[1]))


# Metrics of one example: quality of the output, confidence of the model, and its attention.
#
# A metric that does not apply, such as a score without a reference, is left out of the row.


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
    **ANSWER_MEASURES,
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
