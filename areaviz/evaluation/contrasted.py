"""Faithfulness by words and foils over many inputs: which words are meant, and the figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from areaviz.evaluation.contrast import Contrast, SplitOtherwise, output_words, text_of
from areaviz.evaluation.faithfulness import Faithfulness, faithfulness, pooled
from areaviz.evaluation.probe import Probe, TooFew, losing_queries, probed
from areaviz.trace.errors import InputError
from areaviz.trace.query import output_given
from areaviz.trace.record import Field, Run, Trace
from areaviz.trace.request import Request

LIKELIEST = "likeliest"
"""In place of a foil: the likeliest other item."""


def contrasted(
    requests: Sequence[Request], probe: Probe, run: Run, word: str, foil: str
) -> tuple[Faithfulness, int]:
    """Several inputs as one, each by a word of its output and a foil, and how many have the word.

    Args:
        requests: the inputs.
        probe: how, but for the contrast.
        run: runs the model.
        word: the first place where it stands by itself is meant.
        foil: another word; "likeliest" is the item of an output that came nearest to being another
            one, and that one, whatever `word` is.

    Raises:
        InputError: as `faithfulness`, and where no output has the word.
        BackendError: as `run`.
    """
    if foil != LIKELIEST and not word:
        raise InputError("A foil stands against a word; say which word of the outputs is meant.")
    found = []
    for request in requests:
        trace = run(request)
        output = trace.fields[trace.output.field]
        if foil == LIKELIEST:
            contrast = likeliest(trace, _measurable(trace, probe))
        else:
            contrast = contrast_of(output, word, foil)
        if contrast is None:
            continue
        given = replace(request, target=output_given(trace))
        try:
            found.append(faithfulness(given, replace(probe, contrast=contrast), run))
        except (TooFew, SplitOtherwise):
            continue
    if not found:
        raise InputError(
            f"None of the {len(requests):,} outputs has that word and an input with more than"
            f" {probe.k:,} {probe.unit}s; choose another word."
        )
    return pooled(found), len(found)


def contrast_of(output: Field, word: str, foil: str) -> Contrast | None:
    """The first place where a word stands in an output; None where it does not."""
    for first, last in output_words(output):
        if text_of(output, first, last) == word:
            return Contrast(first, last, foil)
    return None


def _measurable(trace: Trace, probe: Probe) -> Sequence[int]:
    """The items of an output by which the map can be measured: of a text that attends to itself
    those that see more than they are to lose.
    """
    items = range(len(trace.output.probabilities))
    try:
        attention = probed(trace, probe)
    except TooFew:
        return ()
    if attention.memory != "history":
        return items
    losing_Q = losing_queries(trace, attention, probe)
    return [item for item in items if losing_Q[item]]


def likeliest(trace: Trace, items: Sequence[int]) -> Contrast | None:
    """Of some items that which came nearest to being another one, and that one.

    None where there is none.
    """
    found: tuple[float, Contrast] | None = None
    output = trace.fields[trace.output.field]
    for item in items:
        options = trace.output.alternatives[item]
        start, end = output.anchors[item].tolist()
        others = [one for one in options if one[0] != output.labels[item]]
        # What stands for no text, such as the end, cannot be read as an output.
        texts = [one for one in others if start < end and not one[0].startswith("⟨")]
        for label, probability in texts[:1]:
            # Of a text that was read, the other may be the more probable one.
            ratio = probability / max(float(trace.output.probabilities[item]), 1e-12)
            near = min(ratio, 1 / max(ratio, 1e-12))
            if label.strip() and (found is None or near > found[0]):
                found = near, Contrast(item, item + 1, label)
    return found[1] if found else None
