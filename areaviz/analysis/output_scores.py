"""Scores of outputs against references: all metrics that need no model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from areaviz.analysis.answer_metrics import (
    Measured,
    has_digits_to_recognise,
    is_answer,
    score_answer,
)
from areaviz.measures.references import compute_rouge_l, count_edits, score_sentences, split_caption
from areaviz.samples.dataset import POINTS, Example


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
