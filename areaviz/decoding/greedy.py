"""Greedy decoding, which always picks the most probable next token."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from areaviz.decoding.stepper import Hypothesis, Stepper, check_limits


@torch.no_grad()
def greedy_search(
    stepper: Stepper, start: int, end: int, limits: Sequence[int]
) -> list[Hypothesis]:
    """Decode a batch of sentences, one row each, until all have ended or reached their limit.

    A sentence's result does not depend on the rest of the batch.

    Args:
        stepper: the model, with one row for each sentence.
        start: id of the symbol before a sentence.
        end: id of the symbol after a sentence.
        limits: largest number of tokens of each sentence, including its end symbol.

    Raises:
        ValueError: if a limit is below one.
    """
    check_limits(limits)
    ids: list[list[int]] = [[] for _ in limits]
    totals = [0.0] * len(limits)
    tokens = [start] * len(limits)
    open_rows = list(range(len(limits)))
    while open_rows:
        log_probabilities = stepper.step(torch.tensor(tokens))
        # Beam search also uses `topk`, so a beam of one breaks ties in the same way.
        best, choice = log_probabilities.topk(1, dim=-1)
        values, tokens = best[:, 0].tolist(), choice[:, 0].tolist()
        for row in open_rows:
            ids[row].append(tokens[row])
            totals[row] += values[row]
        open_rows = [row for row in open_rows if tokens[row] != end and len(ids[row]) < limits[row]]
    return [Hypothesis(tuple(i), total, i[-1] == end) for i, total in zip(ids, totals, strict=True)]
