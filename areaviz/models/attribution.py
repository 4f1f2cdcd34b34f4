"""Gradient times input: how much the probability of each output changes with each item it was made
from.

Beside attention, which says what was read; `areaviz/trace/attribution.py` makes maps of it.
Shapes: B examples, of which there is one, T outputs, N items, W width of an embedding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from areaviz.attention.interventions import Changed
from areaviz.models.decoder import token_log_probabilities
from areaviz.models.network import WritingNetwork
from areaviz.trace.errors import InputError
from areaviz.trace.record import FloatArray

# Outputs that can be asked, each of which takes a pass backwards.
MOST_OUTPUTS = 256
Batch = Sequence[Tensor | None]


def products(scores_T: Tensor, inputs: Sequence[Tensor]) -> list[FloatArray]:
    """x . d score / d x, summed over all that an item has: float32 [T, N] for each input.

    Args:
        scores_T: what is asked about each output, such as its log-probability.
        inputs: leaves of the graph of the scores, each [1, N, ...].
    """
    found: list[list[Tensor]] = [[] for _ in inputs]
    for score in scores_T:
        gradients = torch.autograd.grad(score, inputs, retain_graph=True, allow_unused=True)
        for rows, gradient, one in zip(found, gradients, inputs, strict=True):
            # An input that no output depends on has no gradient at all.
            product = torch.zeros_like(one) if gradient is None else gradient * one
            rows.append(product.detach()[0].flatten(1).sum(1))
    return [torch.stack(rows).float().cpu().numpy() for rows in found]


@contextmanager
def embedded(modules: Iterable[nn.Module]) -> Iterator[list[tuple[Tensor, Tensor]]]:
    """While it is entered: the token ids and embeddings of each call of these modules.

    The embeddings are leaves: what is computed from them has gradients that end there.
    """
    seen: list[tuple[Tensor, Tensor]] = []

    def leaf(module: nn.Module, given: tuple[Any, ...], output: Tensor) -> Tensor:
        cut = output.detach().requires_grad_()
        seen.append((given[0], cut))
        return cut

    hooks = [module.register_forward_hook(leaf) for module in modules]
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()


def check_outputs(count: int) -> None:
    """Refuse more outputs than can be asked with an InputError."""
    if count > MOST_OUTPUTS:
        raise InputError(
            f"The output has {count:,} items, but attribution takes a pass backwards for each of at"
            f" most {MOST_OUTPUTS}; shorten it, or leave attribution out."
        )


def of_writer(
    network: WritingNetwork,
    inputs: Mapping[str, Tensor | None],
    target_ids: Sequence[int],
    target_1T: Tensor,
    changed: Changed,
) -> dict[str, FloatArray]:
    """Gradient times input of the log-probability of each item that a network writes.

    Of a text, items are its embeddings, without their positions; of a picture, the features of a
    cell; of a clip, the pixels of a frame.

    Args:
        network: in the mode in which it writes.
        inputs: by field, in the network's order, a batch of one each; None for a missing one.
        target_ids: what was written.
        target_1T: the same as the decoder was fed with it.
        changed: what is done otherwise in the run.

    Returns:
        By field, "history" for what the decoder was fed with: float32 [T, N].
    """
    check_outputs(len(target_ids))
    # Also within `inference_mode`, whose tensors keep no graph: what it made is copied.
    with torch.inference_mode(False), torch.enable_grad(), embedded([network.embedding]) as seen:
        batch = {name: None if one is None else one.clone() for name, one in inputs.items()}
        leaves, texts = dict[str, Tensor](), list[str]()
        for name, one in batch.items():
            if one is not None and one.is_floating_point():
                leaves[name] = one.requires_grad_()
            elif one is not None:
                texts.append(name)
        run = network.attend(*batch.values(), target_1T.clone(), changed=changed)
        for name, (_, embeddings) in zip([*texts, "history"], seen, strict=True):
            leaves[name] = embeddings
        likely_TV = token_log_probabilities(run.logits[0])
        scores_T = likely_TV[torch.arange(len(target_ids)), torch.tensor(target_ids)]
        rows = products(scores_T, list(leaves.values()))
    return dict(zip(leaves, rows, strict=True))
