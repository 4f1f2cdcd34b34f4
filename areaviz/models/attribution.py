"""Gradient times input, which shows how the probability of an output changes with an input item.

It complements attention, which shows what a model read. `areaviz/trace/derived.py` turns it
into maps.

Shapes: B examples, always one here, T outputs, N items, W width of an embedding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from areaviz.attention.gradients import (
    collect_embeddings,
    compute_gradient_times_input,
    describe_too_many,
)
from areaviz.attention.interventions import NetworkInterventions
from areaviz.models.base import OnStep
from areaviz.models.decoder import compute_token_log_probabilities
from areaviz.models.network import GenerationNetwork
from areaviz.trace.areas import FloatArray
from areaviz.trace.derived import GRADIENT, WAYS, make_gradient_maps, make_rollout_maps
from areaviz.trace.record import Trace


@dataclass(frozen=True, slots=True)
class AttributedRun:
    """One run of a generating network, whose outputs are attributed to its inputs.

    Args:
        network: the network that ran.
        inputs: a batch of one example per field, in the network's order. None if it is missing.
        target_1T: the output, as it was fed to the decoder.
        ids: the output, as ids of the tokenizer.
        changed: the changes of the run.
    """

    network: GenerationNetwork
    inputs: Mapping[str, Tensor | None]
    target_1T: Tensor
    ids: Sequence[int]
    changed: NetworkInterventions


def add_attribution(trace: Trace, run: AttributedRun, on_step: OnStep | None = None) -> Trace:
    """Return a trace with rollout and gradient times input in addition to its attention.

    Args:
        trace: the trace of the run.
        run: the run.
        on_step: called for each output.

    Raises:
        InputError: if the maps would take too much memory.
    """
    found, details = make_rollout_maps(trace.maps), dict(trace.details)
    if why := describe_too_many(len(run.ids)):
        details[WAYS[GRADIENT]] = why
    else:
        rows = compute_attribution(run, on_step)
        found += make_gradient_maps(trace.maps, trace.output.field, rows)
    maps = {**trace.maps, **{one.site: one for one in found}}
    return replace(trace, maps=maps, details=details)


def compute_attribution(run: AttributedRun, on_step: OnStep | None = None) -> dict[str, FloatArray]:
    """Return gradient times input of the log-probability of each output item.

    The items of a text are its embeddings without positions. The items of a picture are the
    features of its cells, and the items of a clip are the pixels of its frames.

    Args:
        run: the run.
        on_step: called for each output.

    Returns:
        One float32 array [T, N] per field. "history" is the decoder's own input.
    """
    # Callers may be in `inference_mode`, whose tensors keep no graph. The inputs are therefore
    # copied.
    with torch.inference_mode(False), torch.enable_grad():
        scores_T, leaves = _compute_scores_and_leaves(run)
        # The hooks on the embeddings are removed before the backward passes, because other requests
        # may run between these passes.
        rows = compute_gradient_times_input(scores_T, list(leaves.values()), on_step)
    return dict(zip(leaves, rows, strict=True))


def _compute_scores_and_leaves(run: AttributedRun) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the log-probabilities [T] of the output, and the leaves they depend on, by field."""
    leaves, texts, batch = dict[str, Tensor](), list[str](), list[Tensor | None]()
    for name, one in run.inputs.items():
        copied = None if one is None else _copy_as_leaf(one)
        batch.append(copied)
        if copied is not None and copied.is_floating_point():
            leaves[name] = copied.requires_grad_()
        elif copied is not None:
            texts.append(name)
    with collect_embeddings([run.network.get_submodule("embedding")]) as seen:
        result = run.network.attend(*batch, run.target_1T.clone(), changed=run.changed)
    for name, (_, embeddings) in zip([*texts, "history"], seen, strict=True):
        leaves[name] = embeddings
    likely_TV = compute_token_log_probabilities(result.logits[0])
    return likely_TV[torch.arange(len(run.ids)), torch.tensor(run.ids)], leaves


def _copy_as_leaf(values: Tensor) -> Tensor:
    """Return a copy from which a graph can start. Bytes of pixels become floats."""
    return values.float() if values.dtype == torch.uint8 else values.clone()
