"""What is measured of one example: how good the output is, how sure the model was, and what its
attention did.

A measure that has nothing to say of an example, such as a score without a reference, is left out of
its row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from areaviz.data.examples import Example
from areaviz.metrics.aer import LinkCounts, attention_links, count_links
from areaviz.metrics.captions import caption_words, rouge_l
from areaviz.metrics.certainty import Certainty, certainty
from areaviz.metrics.spans import span_counts
from areaviz.metrics.words import word_attention, word_runs
from areaviz.trace.query import head_summary, item_shares
from areaviz.trace.record import AttentionMap, Trace

CROSS = "encoder-decoder"
"""The site whose attention is measured: from what is written to what is read."""

_MARKS = " .,;:!?\"'()"
Measured = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Measure:
    """title: for people. about: what it is, one sentence. better: "high", "low", or "" where
    neither is.

    of: its value, None where it has none.
    """

    title: str
    about: str
    better: str
    of: Callable[[Trace, Example], float | None]


def measure(trace: Trace, example: Example) -> Measured:
    """The value of every measure that has one."""
    found = {name: one.of(trace, example) for name, one in MEASURES.items()}
    return {
        name: float(value)
        for name, value in found.items()
        if value is not None and np.isfinite(value)
    }


def output_of(trace: Trace) -> str:
    """What the model wrote."""
    return trace.fields[trace.output.field].raw


def link_counts(trace: Trace, example: Example) -> LinkCounts | None:
    """Links read off the attention (last layer, mean of heads) against the gold ones; None without
    gold links.

    Counts of examples add up, and the alignment error rate of a set is that of the sum.
    """
    if not (example.sure or example.possible) or not _is_text(trace):
        return None
    return count_links(
        attention_links(trace, trace.maps[CROSS].layers - 1), example.sure, example.possible
    )


def _is_text(trace: Trace) -> bool:
    """Whether a text is attended to when the output is written."""
    attention = trace.maps.get(CROSS)
    return attention is not None and trace.fields[attention.memory].kind == "text"


def _bleu(trace: Trace, example: Example) -> float | None:
    if not example.references:
        return None
    return float(
        BLEU(effective_order=True).sentence_score(output_of(trace), list(example.references)).score
    )


def _chrf(trace: Trace, example: Example) -> float | None:
    return (
        float(CHRF().sentence_score(output_of(trace), list(example.references)).score)
        if example.references
        else None
    )


def _rouge(trace: Trace, example: Example) -> float | None:
    if not example.references:
        return None
    return 100 * rouge_l(
        caption_words(output_of(trace)), [caption_words(one) for one in example.references]
    )


def _length(trace: Trace, example: Example) -> float:
    return len(output_of(trace).split())


def _length_ratio(trace: Trace, example: Example) -> float | None:
    words = [len(one.split()) for one in example.references]
    return _length(trace, example) / float(np.mean(words)) if words else None


def _confidence(trace: Trace, _: Example) -> float | None:
    likely = trace.output.probabilities
    return float(np.exp(np.log(np.maximum(likely, 1e-12)).mean())) if len(likely) else None


def _certainty(trace: Trace) -> Certainty | None:
    """Of words to words, last layer, mean of heads; None where no text is attended to."""
    if not _is_text(trace):
        return None
    attention = trace.maps[CROSS]
    fields = trace.fields[attention.query], trace.fields[attention.memory]
    if not all(map(word_runs, fields)):
        return None
    return certainty(word_attention(item_shares(attention, attention.layers - 1, None), *fields))


def _of_certainty(name: str) -> Callable[[Trace, Example], float | None]:
    def of(trace: Trace, _: Example) -> float | None:
        found = _certainty(trace)
        return None if found is None else float(getattr(found, name))

    return of


def _of_heads(name: str) -> Callable[[Trace, Example], float | None]:
    def of(trace: Trace, _: Example) -> float | None:
        attention = trace.maps.get(CROSS)
        return None if attention is None else float(getattr(head_summary(attention), name).mean())

    return of


def _purity(trace: Trace, _: Example) -> float | None:
    """The share of the attention to areas that lie within one word of the source."""
    if not _is_text(trace):
        return None
    attention = trace.maps[CROSS]
    return span_counts(attention, trace.fields[attention.memory]).figures().get("weighted_purity")


def _pointing(trace: Trace, example: Example) -> float | None:
    """The pointing game of the words of the output that have boxes; last layer, mean of heads."""
    attention = next((one for one in trace.maps.values() if _looks(trace, one)), None)
    picture = trace.request.picture
    if attention is None or picture is None or not example.boxes:
        return None
    written, cells = trace.fields[attention.query], trace.fields[attention.memory]
    shares_QN = item_shares(attention, attention.layers - 1, None)
    edges_N4 = cells.anchors / np.array([picture.width, picture.height] * 2)
    right = []
    for start, end in word_runs(written):
        text = (
            written.raw[written.anchors[start, 0] : written.anchors[end - 1, 1]]
            .strip(_MARKS)
            .lower()
        )
        boxes = [box for word, box in example.boxes if word == text]
        if boxes:
            left, top, beyond, below = edges_N4[shares_QN[start:end].mean(0).argmax()]
            x, y = (left + beyond) / 2, (top + below) / 2
            right.append(any(box[0] <= x < box[2] and box[1] <= y < box[3] for box in boxes))
    return float(np.mean(right)) if right else None


def _looks(trace: Trace, attention: AttentionMap) -> bool:
    """Whether it goes from what is written to a picture."""
    return (
        attention.query == trace.output.field and trace.fields[attention.memory].kind == "picture"
    )


def _alignment_error(trace: Trace, example: Example) -> float | None:
    counts = link_counts(trace, example)
    return None if counts is None else counts.error_rate


MEASURES: Mapping[str, Measure] = {
    "bleu": Measure(
        "BLEU",
        "Sentence BLEU by sacrebleu, 0 to 100, orders without any match left out.",
        "high",
        _bleu,
    ),
    "chrf": Measure("chrF", "chrF2 by sacrebleu, 0 to 100.", "high", _chrf),
    "rouge_l": Measure(
        "ROUGE-L", "Longest common run of words with the references, 0 to 100.", "high", _rouge
    ),
    "length": Measure("Words", "Words of the output.", "", _length),
    "length_ratio": Measure(
        "Length ratio", "Words of the output for each word of its references.", "", _length_ratio
    ),
    "confidence": Measure(
        "Confidence",
        "Geometric mean of the probabilities of what was written.",
        "high",
        _confidence,
    ),
    "coverage_deviation": Measure(
        "Coverage deviation",
        "How far the attention the source words get is from one target word's worth each; 0 is"
        " even.",
        "low",
        _of_certainty("coverage_deviation"),
    ),
    "absentmindedness": Measure(
        "Absentmindedness",
        "Entropy of a target word's attention over the source words, as a share of the most"
        " possible.",
        "low",
        _of_certainty("absentmindedness"),
    ),
    "source_absentmindedness": Measure(
        "Absentmindedness, source",
        "Entropy of the attention a source word gets over the target words, as a share of the most"
        " possible.",
        "low",
        _of_certainty("source_absentmindedness"),
    ),
    "entropy": Measure(
        "Entropy",
        "Of the area weights in bits, mean of layers and heads.",
        "",
        _of_heads("entropy"),
    ),
    "area_size": Measure(
        "Area size", "Mean items of an attended area.", "", _of_heads("area_size")
    ),
    "purity": Measure(
        "Within a word", "Share of the attention on areas within one source word.", "", _purity
    ),
    "pointing": Measure(
        "Points right",
        "Share of the output's words with gold boxes whose attention is largest within one of their"
        " boxes.",
        "high",
        _pointing,
    ),
    "alignment_error": Measure(
        "Alignment error",
        "Alignment error rate against gold links; 0 is best.",
        "low",
        _alignment_error,
    ),
}
"""By name, in the order tables show them."""
