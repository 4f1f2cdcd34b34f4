"""Faithfulness by words and foils over many inputs: which words are meant, and the figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from areaviz.evaluation.contrast import Contrast, SplitOtherwise, output_words, text_of
from areaviz.evaluation.faithfulness import Faithfulness, Probe, TooFew, faithfulness, pooled
from areaviz.trace.errors import InputError
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
        contrast = likeliest(trace) if foil == LIKELIEST else contrast_of(output, word, foil)
        if contrast is None:
            continue
        given = replace(request, target=output.raw)
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


def likeliest(trace: Trace) -> Contrast | None:
    """The item that came nearest to being another one, and that one; None where there is none."""
    found: tuple[float, Contrast] | None = None
    output = trace.fields[trace.output.field]
    for item, options in enumerate(trace.output.alternatives):
        start, end = output.anchors[item].tolist()
        others = [one for one in options if one[0] != output.labels[item]]
        # What stands for no text, such as the end, cannot be read as an output.
        texts = [one for one in others if start < end and not one[0].startswith("⟨")]
        for label, probability in texts[:1]:
            near = probability / max(float(trace.output.probabilities[item]), 1e-12)
            if label.strip() and (found is None or near > found[0]):
                found = near, Contrast(item, item + 1, label)
    return found[1] if found else None
