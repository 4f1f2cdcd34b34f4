"""Gradient times input: how much the probability of each output changes with each item it was made
from.

Beside attention, which says what was read; `areaviz/trace/attribution.py` makes maps of it.
Shapes: B examples, of which there is one, T outputs, N items, W width of an embedding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from areaviz.attention.gradients import embedded, products, too_many
from areaviz.attention.interventions import Changed
from areaviz.models.decoder import token_log_probabilities
from areaviz.models.network import WritingNetwork
from areaviz.trace.attribution import GRADIENT, WAYS, gradient_maps
from areaviz.trace.record import FloatArray, Trace
from areaviz.trace.rollout import rollout_maps


def with_attribution(
    trace: Trace,
    network: WritingNetwork,
    inputs: Mapping[str, Tensor | None],
    target_1T: Tensor,
    ids: Sequence[int],
    changed: Changed,
) -> Trace:
    """A trace of a network that writes, with rollout and gradient times input beside its attention.

    Args:
        trace: of the run.
        network: that wrote it.
        inputs: by field, in the network's order, a batch of one each; None for a missing one.
        target_1T: what was written, as the decoder was fed with it.
        ids: the same as it was written.
        changed: what was done otherwise in the run.

    Raises:
        InputError: the maps would take too much memory.
    """
    found, details = rollout_maps(trace.maps), dict(trace.details)
    if why := too_many(len(ids)):
        details[WAYS[GRADIENT]] = why
    else:
        rows = of_writer(network, inputs, target_1T, ids, changed)
        found += gradient_maps(trace.maps, trace.output.field, rows)
    maps = {**trace.maps, **{one.site: one for one in found}}
    return replace(trace, maps=maps, details=details)


def of_writer(
    network: WritingNetwork,
    inputs: Mapping[str, Tensor | None],
    target_1T: Tensor,
    ids: Sequence[int],
    changed: Changed,
) -> dict[str, FloatArray]:
    """Gradient times input of the log-probability of each item that a network writes.

    Of a text, items are its embeddings, without their positions; of a picture, the features of a
    cell; of a clip, the pixels of a frame. The arguments are those of `with_attribution`.

    Returns:
        By field, "history" for what the decoder was fed with: float32 [T, N].
    """
    # Also within `inference_mode`, whose tensors keep no graph: what it made is copied.
    with (
        torch.inference_mode(False),
        torch.enable_grad(),
        embedded([network.get_submodule("embedding")]) as seen,
    ):
        leaves, texts, batch = dict[str, Tensor](), list[str](), list[Tensor | None]()
        for name, one in inputs.items():
            copied = None if one is None else _leaf(one)
            batch.append(copied)
            if copied is not None and copied.is_floating_point():
                leaves[name] = copied.requires_grad_()
            elif copied is not None:
                texts.append(name)
        run = network.attend(*batch, target_1T.clone(), changed=changed)
        for name, (_, embeddings) in zip([*texts, "history"], seen, strict=True):
            leaves[name] = embeddings
        likely_TV = token_log_probabilities(run.logits[0])
        scores_T = likely_TV[torch.arange(len(ids)), torch.tensor(ids)]
        rows = products(scores_T, list(leaves.values()))
    return dict(zip(leaves, rows, strict=True))


def _leaf(values: Tensor) -> Tensor:
    """A copy from which a graph can begin: of the bytes of pixels as numbers with gradients."""
    return values.float() if values.dtype == torch.uint8 else values.clone()
