"""Gradient times input: what each of many scores depends on, for any network of torch.

Our networks (`areaviz/models/attribution.py`) and those of others
(`areaviz/adapters/attributed.py`) are asked by it.
Shapes: B examples, of which there is one, T scores, N items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from areaviz.trace.record import FloatArray

# Outputs that can be asked, each of which takes a pass backwards.
MOST_OUTPUTS = 256


def products(
    scores_T: Tensor,
    inputs: Sequence[Tensor],
    on_step: Callable[[int, int], None] | None = None,
) -> list[FloatArray]:
    """Return x . d score / d x, summed over all features of an item.

    Args:
        scores_T: what is asked about each output, such as its log-probability.
        inputs: leaves of the graph of the scores, each [1, N, ...].
        on_step: called before each output, with its number, from 1, and how many there are.

    Returns:
        For each input float32 [T, N].
    """
    found: list[list[Tensor]] = [[] for _ in inputs]
    for number, score in enumerate(scores_T, start=1):
        if on_step is not None:
            on_step(number, len(scores_T))
        gradients = torch.autograd.grad(score, inputs, retain_graph=True, allow_unused=True)
        for rows, gradient, one in zip(found, gradients, inputs, strict=True):
            # An input that no output depends on has no gradient at all.
            product = torch.zeros_like(one) if gradient is None else gradient.float() * one.float()
            rows.append(product.detach()[0].flatten(1).sum(1))
    return [torch.stack(rows).cpu().numpy() for rows in found]


@contextmanager
def embedded(modules: Iterable[nn.Module]) -> Iterator[list[tuple[Tensor, Tensor]]]:
    """While it is entered: the token ids and embeddings of each call of these modules.

    The embeddings are leaves: what is computed from them has gradients that end there.
    """
    seen: list[tuple[Tensor, Tensor]] = []

    def leaf(module: nn.Module, given: tuple[Any, ...], output: Tensor) -> Tensor:
        cut = output.detach().requires_grad_()
        seen.append((given[0], cut))
        # A copy, as some models scale their embeddings in place, which no leaf can be.
        return cut.clone()

    hooks = [module.register_forward_hook(leaf) for module in modules]
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()


def too_many(count: int) -> str:
    """Why so many outputs are not asked about, "" where they are."""
    if count <= MOST_OUTPUTS:
        return ""
    return (
        f"left out: it takes a pass backwards for each of {count:,} outputs, more than"
        f" {MOST_OUTPUTS}"
    )
