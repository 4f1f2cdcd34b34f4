"""Gradient times input, which attributes scores of any torch network to its inputs.

Our networks (`areaviz/models/generation.py`) and external models
(`areaviz/adapters/run.py`) both use it.
Shapes: B examples, here always one, T scores, N items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from areaviz.trace.areas import FloatArray

# Largest number of outputs to attribute. Each of them takes one backward pass.
MAX_OUTPUTS = 256


def compute_gradient_times_input(
    scores_T: Tensor, inputs: Sequence[Tensor], on_step: Callable[[int, int], None] | None = None
) -> list[FloatArray]:
    """Return x . d score / d x, summed over all features of an item.

    Args:
        scores_T: one score per output, such as its log-probability.
        inputs: leaves of the scores' graph, each [1, N, ...].
        on_step: called before each output with its number, starting at 1, and the number of
            outputs.

    Returns:
        One float32 array [T, N] per input.
    """
    found: list[list[Tensor]] = [[] for _ in inputs]
    for number, score in enumerate(scores_T, start=1):
        if on_step is not None:
            on_step(number, len(scores_T))
        gradients = torch.autograd.grad(score, inputs, retain_graph=True, allow_unused=True)
        for rows, gradient, one in zip(found, gradients, inputs, strict=True):
            # No output depends on this input, so autograd gives no gradient.
            product = torch.zeros_like(one) if gradient is None else gradient.float() * one.float()
            rows.append(product.detach()[0].flatten(1).sum(1))
    return [torch.stack(rows).cpu().numpy() for rows in found]


@contextmanager
def collect_embeddings(modules: Iterable[nn.Module]) -> Iterator[list[tuple[Tensor, Tensor]]]:
    """Collect the token ids and embeddings of each call of these modules while active.

    The embeddings are leaves: gradients of values that are computed from them end there.
    """
    seen: list[tuple[Tensor, Tensor]] = []

    def replace_by_leaf(module: nn.Module, given: tuple[Any, ...], output: Tensor) -> Tensor:
        cut = output.detach().requires_grad_()
        seen.append((given[0], cut))
        # Return a copy because some models scale their embeddings in place, which is not allowed on
        # a leaf.
        return cut.clone()

    hooks = [module.register_forward_hook(replace_by_leaf) for module in modules]
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()


def describe_too_many(count: int) -> str:
    """Return why `count` outputs are too many to attribute, or "" if they are not."""
    if count <= MAX_OUTPUTS:
        return ""
    return (
        f"left out: it needs one backward pass for each of {count:,} outputs, but the limit is"
        f" {MAX_OUTPUTS}"
    )
