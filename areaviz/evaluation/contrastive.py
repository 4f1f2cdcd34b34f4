"""Contrastive measures of how much more probable a model finds its own word than another word.

“Why did the model write er?” has no final answer, but “Why er and not sie?” has one that can be
measured (contrastive explanations: Yin and Neubig 2022). The other word is called the foil. It
replaces the word after the same items, so the model reads it as its own output. Two numbers are
compared, each the product of the probabilities of the items:

    p(word | items before) and p(foil | items before)

Shapes: T output items.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from areaviz.metrics.word_areas import find_word_runs
from areaviz.trace.changes import Change, Hide, Weigh
from areaviz.trace.errors import InputError, shorten
from areaviz.trace.query import is_one_text
from areaviz.trace.record import Field, Run, Trace
from areaviz.trace.request import Request

MAX_FOIL_CHARACTERS = 200
"""Maximum number of characters in a foil."""
_LEAST = 1e-38
"""Lower limit of probabilities, so that their logarithms are finite."""


class SplitOtherwise(InputError):
    """Raised if the model splits the text before a foil into different items."""


@dataclass(frozen=True, slots=True)
class Contrast:
    """Items of an output, and a foil that could have been written instead."""

    # Item indices, counted from 0. `last` is exclusive.
    first: int
    last: int
    foil: str


@dataclass(frozen=True, slots=True)
class Odds:
    """Probabilities of the word and the foil after the same items, above 0 and at most 1."""

    word: float
    foil: float

    @property
    def difference(self) -> float:
        """The difference p(word) - p(foil), -1 to 1."""
        return self.word - self.foil

    @property
    def log_ratio(self) -> float:
        """The natural logarithm of p(word) / p(foil)."""
        return math.log(self.word / self.foil)


def find_output_words(output: Field) -> list[tuple[int, int]]:
    """Return the words of an output as items (start, end), without surrounding punctuation."""
    found = []
    for run in find_word_runs(output):
        inside = [item for item in range(*run) if any(map(str.isalnum, output.labels[item]))]
        if inside:
            found.append((inside[0], inside[-1] + 1))
    return found


def join_items(output: Field, first: int, last: int) -> str:
    """Return the text of some items of an output."""
    text: str = output.raw[output.anchors[first, 0] : output.anchors[last - 1, 1]]
    return text.strip()


def make_foil_request(trace: Trace, contrast: Contrast) -> Request:
    """Return a request whose given output is the trace's output up to the word, and then the foil.

    For a language model, the text of the request contains both.

    Raises:
        InputError: The foil is empty, too long or equal to the word.
    """
    output = trace.fields[trace.output.field]
    foil = contrast.foil.strip()
    if not foil or len(foil) > MAX_FOIL_CHARACTERS:
        raise InputError(
            f"Another word has 1 to {MAX_FOIL_CHARACTERS} characters. Type a word that fits this"
            f" place."
        )
    if foil == join_items(output, contrast.first, contrast.last):
        raise InputError(f"“{shorten(foil)}” is the word at this place. Type another one.")
    read = output.raw[: output.anchors[contrast.first, 0]] + foil
    if is_one_text(trace):
        return replace(trace.request, text=read, target="")
    return replace(trace.request, target=read)


def find_foil_items(trace: Trace, read: Trace, contrast: Contrast) -> slice:
    """Return the items of the foil in a run that read the foil.

    Raises:
        SplitOtherwise: The model splits the text before the foil into different items.
    """
    before, after = trace.fields[trace.output.field], read.fields[read.output.field]
    first = contrast.first
    starts, ends = after.anchors.T
    # A language model's output has one more item, its most probable continuation. It is not text.
    whole = read.fields.get("history", after).raw
    last = int(((starts < ends) & (ends <= len(whole))).sum())
    same = before.labels[:first] == after.labels[:first]
    if not same or last <= first:
        raise SplitOtherwise(
            f"With “{shorten(contrast.foil)}” the text before it is split into different"
            " items, so the two cannot be compared. Choose a whole word."
        )
    return slice(first, last)


def keep_shared_changes(trace: Trace, first: int) -> tuple[Change, ...]:
    """Return the changes of a run without those that concern items after the word.

    The word starts with item `first`. Neither the word nor its foil can attend to later items, and
    the output with the foil may not have such items.
    """
    memories = {site: attention.memory for site, attention in trace.maps.items()}
    kept: list[Change] = []
    for change in trace.request.changes:
        if isinstance(change, Hide) and change.field == "history":
            change = replace(change, items=_limit_items(change.items, first))
            if not change.items:
                continue
        # With `rest`, all areas that are not listed change. Leaving out a listed area would change
        # it.
        elif (
            isinstance(change, Weigh) and not change.rest and memories.get(change.site) == "history"
        ):
            areas = tuple(one for one in change.areas if one.left + one.width <= first + 1)
            change = replace(change, items=_limit_items(change.items, first), areas=areas)
            if not change.items and not change.areas:
                continue
        kept.append(change)
    return tuple(kept)


def _limit_items(items: tuple[int, ...], last: int) -> tuple[int, ...]:
    return tuple(item for item in items if item <= last)


def compute_probability(trace: Trace, items: slice) -> float:
    """Return the joint probability of some items of an output, each given the items before it."""
    return float(np.prod(trace.output.probabilities[items].astype(np.float64)))


def compute_odds(trace: Trace, contrast: Contrast, run: Run, changed: Trace | None = None) -> Odds:
    """Return the probabilities of the word and the foil.

    Args:
        trace: Trace of the output as the model wrote it.
        contrast: The word in that output, and the foil.
        run: Function that runs the model on the foil.
        changed: A changed run over the output. Its changes also apply to the foil. None for no
            changes.

    Raises:
        InputError: See `make_foil_request` and `find_foil_items`.
    """
    seen = trace if changed is None else changed
    changes = keep_shared_changes(seen, contrast.first)
    asked = replace(make_foil_request(trace, contrast), changes=changes)
    read = run(replace(asked, picture=seen.request.picture))
    items = find_foil_items(trace, read, contrast)
    word = compute_probability(seen, slice(contrast.first, contrast.last))
    return Odds(max(word, _LEAST), max(compute_probability(read, items), _LEAST))
