"""From one pass of a network that writes to the parts of a Trace.

Shapes: T target items, V vocabulary, L layers, H heads, Q queries, A areas.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from areaviz.data.tokenizer import END, Token, Tokenizer
from areaviz.decoding.stepper import Hypothesis
from areaviz.models.decoder import token_log_probabilities
from areaviz.models.network import Pass, Sites
from areaviz.trace.areas import AreaGrid
from areaviz.trace.errors import InputError
from areaviz.trace.interventions import Places
from areaviz.trace.limits import MAX_MAP_BYTES
from areaviz.trace.query import predicted_bytes
from areaviz.trace.record import AttentionMap, Field, FloatArray, Output

MAX_TRACE_BYTES = MAX_MAP_BYTES
ALTERNATIVES = 5
END_LABEL, START_LABEL = "⟨end⟩", "⟨start⟩"


def given(tokenizer: Tokenizer, target: str) -> Hypothesis:
    """A given output; the pass over it shows how likely it is."""
    return Hypothesis(tuple(tokenizer.ids(target)), math.nan, True)


def log_probability(found: Hypothesis, result: Output) -> str:
    """The natural logarithm of a whole output's probability: as found, or of a given one's pass."""
    total = found.log_probability
    if math.isnan(total):
        # A probability may be too small for a number, and its logarithm has to be one.
        likely_T = np.maximum(result.probabilities, np.finfo(np.float32).tiny)
        total = float(np.log(likely_T).sum())
    return f"{total:.3f}"


def weights_bytes(places: Places) -> int:
    """The memory that the weights of a trace take; `places` has every field with its most items."""
    size = 0
    for query, memory in places.sites.values():
        queries, grid = places.lengths[query], places.grids[memory]
        size += predicted_bytes(places.layers, places.heads, queries, grid)
    return size


def fits(places: Places) -> bool:
    """Whether the weights of a trace fit in memory, known before a model runs."""
    return weights_bytes(places) <= MAX_TRACE_BYTES


def check_size(places: Places) -> None:
    """InputError where they do not."""
    if not fits(places):
        raise InputError(
            f"The attention of this model would take {weights_bytes(places) / 2**20:,.0f} MiB but"
            f" at most {MAX_TRACE_BYTES // 2**20} MiB are possible; choose a smaller largest area"
            " or a shorter text."
        )


def target_fields(target_ids: Sequence[int], tokenizer: Tokenizer) -> dict[str, Field]:
    """The fields "target" and "history" of what was written."""
    text, tokens = tokenizer.decode(target_ids)
    finished = target_ids[-1] == END
    # The last item was written and never read; where that is the end symbol, no token is it.
    read = tokens if finished else tokens[:-1]
    target = text_field("target", text, tokens, end=finished)
    return {"target": target, "history": text_field("history", text, read, start=True)}


def text_field(
    name: str, raw: str, tokens: list[Token], start: bool = False, end: bool = False
) -> Field:
    """A text field with an optional symbol in front and behind, which stand for no text."""
    labels = [token.text for token in tokens]
    anchors = [(token.start, token.end) for token in tokens]
    if start:
        labels.insert(0, START_LABEL)
        anchors.insert(0, (0, 0))
    if end:
        labels.append(END_LABEL)
        anchors.append((len(raw), len(raw)))
    anchors_N2 = np.array(anchors, dtype=np.int64).reshape(-1, 2)
    return Field(name, "text", raw, tuple(labels), anchors_N2)


def attention_maps(
    run: Pass, sites: Sites, grids: Mapping[str, AreaGrid]
) -> dict[str, AttentionMap]:
    """The map of every site of a pass over one example; grids: the areas of each field."""
    maps = {}
    for site, layers in run.weights.items():
        query, memory = sites[site]
        grid = grids[memory]
        weights_LHQA = np.stack([_on_grid(layer[0], grid) for layer in layers])
        chosen, strength = _stacked(run.chosen, site), _stacked(run.strength, site)
        maps[site] = AttentionMap(
            site, query, memory, grid, weights_LHQA, chosen=chosen, strength=strength
        )
    return maps


def _on_grid(weights_HQA: Tensor, grid: AreaGrid) -> FloatArray:
    """The weights of a layer; one without large areas has zeros for them."""
    missing = grid.count - weights_HQA.shape[2]
    return np.pad(weights_HQA.float().cpu().numpy(), ((0, 0), (0, 0), (0, missing)))


def _stacked(layers: Mapping[str, list[Tensor]], site: str) -> npt.NDArray[Any] | None:
    """What one site has of a single example, layer by layer."""
    if site not in layers:
        return None
    return np.stack([layer[0].cpu().numpy() for layer in layers[site]])


def output(logits_TV: Tensor, target_ids: Sequence[int], tokenizer: Tokenizer) -> Output:
    """What was written, with its probabilities and the most probable alternatives."""
    likely_TV = token_log_probabilities(logits_TV).exp().cpu()
    # Of the pass that gave the weights, not of the search that found the output.
    chosen_T = likely_TV[torch.arange(len(target_ids)), torch.tensor(target_ids)]
    best = likely_TV.topk(min(ALTERNATIVES, likely_TV.shape[1]))
    alternatives = []
    for tokens, shares in zip(best.indices.tolist(), best.values.tolist(), strict=True):
        labels = [END_LABEL if token == END else tokenizer.label(token) for token in tokens]
        alternatives.append(tuple(zip(labels, shares, strict=True)))
    return Output("target", chosen_T.numpy().astype(np.float32), tuple(alternatives))
