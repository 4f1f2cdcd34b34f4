"""Faithfulness over many inputs, each with a word of its output and a foil for this word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from areaviz.measures.faithfulness import (
    Contrast,
    Faithfulness,
    Probe,
    SplitOtherwise,
    TooFew,
    find_losing_queries,
    find_output_words,
    get_probed_map,
    join_items,
    measure_faithfulness,
    pool_faithfulness,
)
from areaviz.trace.errors import InputError
from areaviz.trace.query import format_given_output
from areaviz.trace.record import Field, Run, Trace
from areaviz.trace.request import Request

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
