"""From one pass of a Transformer to a Trace.

Shapes: T target items, V vocabulary, L layers, H heads, Q queries, A areas.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from areaviz.data.tokenizer import END, Token, Tokenizer
from areaviz.decoding.stepper import Hypothesis
from areaviz.models.stepper import token_log_probabilities
from areaviz.models.transformer import Pass, TransformerConfig
from areaviz.trace.areas import AreaGrid
from areaviz.trace.errors import InputError
from areaviz.trace.interventions import Places
from areaviz.trace.limits import MAX_MAP_BYTES
from areaviz.trace.query import predicted_bytes
from areaviz.trace.record import AttentionMap, Field, FloatArray, Output, Trace
from areaviz.trace.request import Request

MAX_TRACE_BYTES = MAX_MAP_BYTES
ALTERNATIVES = 5
END_LABEL, START_LABEL = "⟨end⟩", "⟨start⟩"
SITES = {
    "encoder self": ("source", "source"),
    "decoder self": ("target", "history"),
    "encoder-decoder": ("target", "source"),
}


def record(
    request: Request,
    tokenizer: Tokenizer,
    config: TransformerConfig,
    run: Pass,
    hypothesis: Hypothesis,
    details: Mapping[str, str],
) -> Trace:
    """The trace of a pass over one sentence that produced a hypothesis."""
    target_ids = hypothesis.ids
    source = text_field("source", request.text, tokenizer.tokens(request.text), end=True)
    fields = {"source": source, **target_fields(target_ids, tokenizer)}
    size = config.area_size if config.area_layers else 1
    grids = {name: AreaGrid.clamped((1, len(item)), (1, size)) for name, item in fields.items()}
    maps = attention_maps(run, SITES, grids)
    found = output(run.logits[0], target_ids, tokenizer)
    details = {**details, "log-probability": log_probability(hypothesis, found)}
    return Trace(request, fields, found, maps, details)


def given(tokenizer: Tokenizer, target: str) -> Hypothesis:
    """An output that is given and not found; the pass over it tells how likely it is."""
    return Hypothesis(tuple(tokenizer.ids(target)), math.nan, True)


def log_probability(found: Hypothesis, result: Output) -> str:
    """Of a whole output, natural, for the reader: as it was found, or where it was given, as the
    pass has it.
    """
    likely = np.maximum(result.probabilities, np.finfo(np.float32).tiny)
    return f"{np.log(likely).sum() if math.isnan(found.log_probability) else found.log_probability:.3f}"


def trace_bytes(config: TransformerConfig, source: int, target: int) -> int:
    """How much memory the weights of a trace take, known before anything is computed; lengths in
    items.
    """
    lengths = {"source": source, "target": target, "history": target}
    return sum(
        predicted_bytes(
            config.layers,
            config.heads,
            lengths[query],
            AreaGrid.clamped((1, lengths[memory]), (1, config.area_size)),
        )
        for query, memory in SITES.values()
    )


def check_maps(places: Places) -> None:
    """Refuse what would take too much memory before a model runs; places: with every field, at its
    most items.

    Raises:
        InputError: the weights of all sites would take more than 256 MiB.
    """
    size = sum(
        predicted_bytes(places.layers, places.heads, places.lengths[query], places.grids[memory])
        for query, memory in places.sites.values()
    )
    if size > MAX_TRACE_BYTES:
        raise InputError(
            f"The attention of this model would take {size / 2**20:,.0f} MiB but at most"
            f" {MAX_TRACE_BYTES // 2**20} MiB are possible; choose a smaller largest area or a"
            " shorter text."
        )


def target_fields(target_ids: Sequence[int], tokenizer: Tokenizer) -> dict[str, Field]:
    """The fields "target" and "history" of what was written."""
    text, tokens = tokenizer.decode(target_ids)
    finished = target_ids[-1] == END
    return {
        "target": text_field("target", text, tokens, end=finished),
        "history": text_field("history", text, tokens if finished else tokens[:-1], start=True),
    }


def text_field(
    name: str, raw: str, tokens: list[Token], start: bool = False, end: bool = False
) -> Field:
    """A text field with an optional symbol in front and behind, which stand for no text."""
    labels = [
        *([START_LABEL] if start else []),
        *(token.text for token in tokens),
        *([END_LABEL] if end else []),
    ]
    anchors = [*([(0, 0)] if start else []), *((token.start, token.end) for token in tokens)]
    anchors += [(len(raw), len(raw))] if end else []
    return Field(name, "text", raw, tuple(labels), np.array(anchors, dtype=np.int64).reshape(-1, 2))


def attention_maps(
    run: Pass, sites: Mapping[str, tuple[str, str]], grids: Mapping[str, AreaGrid]
) -> dict[str, AttentionMap]:
    """The map of every site of a pass over one example; sites: the fields that attend and are
    attended to.

    grids: the areas of each field that is attended to, by its name.
    """
    return {site: _map(site, *sites[site], grids[sites[site][1]], run) for site in run.weights}


def _map(site: str, query: str, memory: str, grid: AreaGrid, run: Pass) -> AttentionMap:
    layers = np.stack(
        [_widened(layer[0].float().cpu().numpy(), grid.count) for layer in run.weights[site]]
    )
    chosen, strength = (
        np.stack([layer[0].cpu().numpy() for layer in part[site]]) if site in part else None
        for part in (run.chosen, run.strength)
    )
    return AttentionMap(site, query, memory, grid, layers, chosen=chosen, strength=strength)


def _widened(weights_HQA: FloatArray, areas: int) -> FloatArray:
    """Weights of a layer without large areas, on the grid of the others: zero for the
    larger areas.
    """
    return np.pad(weights_HQA, ((0, 0), (0, 0), (0, areas - weights_HQA.shape[2])))


def output(logits_TV: Tensor, target_ids: Sequence[int], tokenizer: Tokenizer) -> Output:
    """What was written, with its probabilities and the most probable alternatives."""
    likely_TV = token_log_probabilities(logits_TV).exp().cpu()
    chosen_T = likely_TV[torch.arange(len(target_ids)), torch.tensor(target_ids)]
    best = likely_TV.topk(min(ALTERNATIVES, likely_TV.shape[1]))
    alternatives = tuple(
        tuple(
            (END_LABEL if token == END else tokenizer.label(token), likely)
            for token, likely in zip(*row, strict=True)
        )
        for row in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    )
    return Output("target", chosen_T.numpy().astype(np.float32), alternatives)
