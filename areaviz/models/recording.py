"""Functions that make the parts of a Trace from one pass of a generating network.

Shapes: B examples, T target items, V vocabulary, K alternatives, L layers, H heads, Q queries, A
areas, R areas of the longest example.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from areaviz.data.tokenizer import END, Token, Tokenizer
from areaviz.decoding.stepper import Hypothesis
from areaviz.models.decoder import compute_token_log_probabilities
from areaviz.models.network import GenerationNetwork, Pass
from areaviz.trace.areas import AreaGrid, FloatArray
from areaviz.trace.changes import Places
from areaviz.trace.errors import MAX_MAP_BYTES, InputError
from areaviz.trace.query import predict_bytes
from areaviz.trace.record import AttentionMap, Field, Output

MAX_TRACE_BYTES = MAX_MAP_BYTES
ALTERNATIVES = 5
END_LABEL, START_LABEL = "⟨end⟩", "⟨start⟩"


def make_teacher_forced_output(tokenizer: Tokenizer, target: str) -> Hypothesis:
    """Return a given output as a hypothesis.

    Its probability is NaN, because it is only known after the pass over the output.
    """
    return Hypothesis(tuple(tokenizer.ids(target)), math.nan, True)


def format_log_probability(found: Hypothesis, result: Output) -> str:
    """Format the natural logarithm of an output's probability.

    The search gives the log-probability. For a given output, it is computed from the pass over it.
    """
    total = found.log_probability
    if math.isnan(total):
        # A probability may underflow to zero, and its logarithm must still be finite.
        likely_T = np.maximum(result.probabilities, np.finfo(np.float32).tiny)
        total = float(np.log(likely_T).sum())
    return f"{total:.3f}"


def compute_weights_bytes(places: Places) -> int:
    """Return the memory for the weights of a trace, in bytes.

    `places` must list every field with its largest number of items.
    """
    size = 0
    for query, memory in places.sites.values():
        queries, grid = places.lengths[query], places.grids[memory]
        size += predict_bytes(places.layers, places.heads, queries, grid)
    return size


def find_longest_length(holds: Callable[[int], bool]) -> int:
    """Return the largest length up to 65,536 for which a condition holds.

    Args:
        holds: a condition on the length. It must be true for 1, and for all lengths below any
            length for which it is true.
    """
    low, high = 1, 1 << 16
    while low < high:
        middle = (low + high + 1) // 2
        if holds(middle):
            low = middle
        else:
            high = middle - 1
    return low


def weights_fit_in_memory(places: Places) -> bool:
    """Return whether the weights of a trace fit in memory, without running a model."""
    return compute_weights_bytes(places) <= MAX_TRACE_BYTES


def check_size(places: Places) -> None:
    """Check that the weights of a trace fit in memory.

    Raises:
        InputError: the weights do not fit.
    """
    if not weights_fit_in_memory(places):
        raise InputError(
            f"The attention of this model would take {compute_weights_bytes(places) / 2**20:,.0f}"
            f" MiB, but the limit is {MAX_TRACE_BYTES // 2**20} MiB. Choose a smaller largest"
            " area or a shorter text."
        )


def make_target_fields(target_ids: Sequence[int], tokenizer: Tokenizer) -> dict[str, Field]:
    """Return the fields "target" and "history" of an output."""
    return make_written_fields(*tokenizer.decode(target_ids), target_ids[-1] == END)


def make_written_fields(text: str, tokens: list[Token], finished: bool) -> dict[str, Field]:
    """Return the fields "target" and "history" of a text with its tokens.

    Args:
        text: the output.
        tokens: its tokens.
        finished: whether the end symbol follows them.
    """
    # The network never reads the last item that it writes. The end symbol is not among the tokens.
    read = tokens if finished else tokens[:-1]
    target = make_text_field("target", text, tokens, end=finished)
    return {"target": target, "history": make_text_field("history", text, read, start=True)}


def make_text_field(
    name: str, raw: str, tokens: list[Token], start: bool = False, end: bool = False
) -> Field:
    """Return a text field, with an optional start and end symbol that match no characters."""
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


def make_attention_maps(
    run: Pass, network: GenerationNetwork, fields: Sequence[Mapping[str, Field]]
) -> list[dict[str, AttentionMap]]:
    """Return the maps of every example of a pass.

    If texts of several lengths were processed together, each example gets only the weights of its
    own items.

    Args:
        run: the pass.
        network: the network.
        fields: the fields of each example, with one item for each item of the network.
    """
    maps: list[dict[str, AttentionMap]] = [{} for _ in fields]
    for site, layers in run.weights.items():
        query, memory = network.sites[site]
        areas = network.areas(memory)
        whole = areas.make_grid(max(len(own[memory]) for own in fields))
        layers_BHQR = [layer.float().cpu().numpy() for layer in layers]
        for place, own in enumerate(fields):
            grid, queries = areas.make_grid(len(own[memory])), len(own[query])
            cut = []
            for weights_BHQR in layers_BHQR:
                cut.append(_select_own_areas(weights_BHQR[place, :, :queries], whole, grid))
            chosen = _stack_layers(run.chosen, site, place, queries)
            strength = _stack_layers(run.strength, site, place, queries)
            maps[place][site] = AttentionMap(
                site, query, memory, grid, np.stack(cut), chosen=chosen, strength=strength
            )
    return maps


def _select_own_areas(weights_HQR: FloatArray, whole: AreaGrid, own: AreaGrid) -> FloatArray:
    """Select the weights of an example's own areas from the weights of the whole grid.

    Areas that are too large for the layer get zeros.
    """
    if whole == own and weights_HQR.shape[2] == own.count:
        return weights_HQR
    own_HQA = np.zeros((*weights_HQR.shape[:2], own.count), np.float32)
    for height, width in own.shapes():
        place, rows, columns = own.slab(height, width)
        first, _, _ = whole.slab(height, width)
        if first < weights_HQR.shape[2]:
            # Only sequences are padded, and they have one row.
            count = rows * columns
            own_HQA[..., place : place + count] = weights_HQR[..., first : first + count]
    return own_HQA


def _stack_layers(
    layers: Mapping[str, list[Tensor]], site: str, place: int, queries: int
) -> npt.NDArray[Any] | None:
    """Return the values of one site for an example, stacked by layer, or None if there are none."""
    if site not in layers:
        return None
    return np.stack([layer[place, :, :queries].cpu().numpy() for layer in layers[site]])


def make_output(
    logits_BTV: Tensor, targets: Sequence[Sequence[int]], tokenizer: Tokenizer
) -> list[Output]:
    """Return the output of each example, with probabilities and the most probable alternatives."""
    likely_BTV = compute_token_log_probabilities(logits_BTV).exp().cpu()
    best = likely_BTV.topk(min(ALTERNATIVES, likely_BTV.shape[2]))
    tokens_BTK, shares_BTK = best.indices.tolist(), best.values.tolist()
    labels: dict[int, str] = {END: END_LABEL}
    outputs = []
    for place, ids in enumerate(targets):
        # The probabilities come from the pass that gave the weights, not from the search that found
        # the output.
        chosen_T = likely_BTV[place, torch.arange(len(ids)), torch.tensor(ids)]
        alternatives = []
        for step in range(len(ids)):
            tokens = tokens_BTK[place][step]
            for token in tokens:
                if token not in labels:
                    labels[token] = tokenizer.label(token)
            words = [labels[token] for token in tokens]
            alternatives.append(tuple(zip(words, shares_BTK[place][step], strict=True)))
        likely_T = chosen_T.numpy().astype(np.float32)
        outputs.append(Output("target", likely_T, tuple(alternatives)))
    return outputs


def list_changeable_places(
    network: GenerationNetwork, inputs: Mapping[str, int], target: int
) -> Places:
    """Return the sites, layers, heads and items that can be changed in a run of a network.

    Args:
        network: the network.
        inputs: the number of items of each input, by the name of its field.
        target: the number of items of the output, 0 if it is not known.
    """
    lengths = dict(inputs)
    if target:
        lengths |= {"target": target, "history": target}
    known = {*inputs, "target", "history"}
    sites = {site: ends for site, ends in network.sites.items() if known.issuperset(ends)}
    grids = {name: network.areas(name).make_grid(count) for name, count in lengths.items()}
    return Places(sites, network.config.layers, network.config.heads, lengths, grids)


def check_request_size(
    network: GenerationNetwork,
    lengths: Mapping[str, int],
    target: int,
    get_limit: Callable[[int], int],
    unit: str,
) -> None:
    """Refuse a request whose trace would be too large, and say how to make it smaller.

    Args:
        network: the network.
        lengths: the number of items of each input, by the name of its field.
        target: the number of items of a given output, 0 if none is given.
        get_limit: returns the largest number of output items for a number of source items.
        unit: the word for several items of a text.

    Raises:
        InputError: if the weights of the trace do not fit in memory.
    """
    source = lengths.get("source", 0)
    places = list_changeable_places(network, lengths, target or get_limit(source))
    if weights_fit_in_memory(places):
        return
    # The largest possible length can be computed only if a text is the sole input.
    if len(lengths) > 1 or not source:
        check_size(places)
    largest = find_longest_length(
        lambda count: weights_fit_in_memory(
            list_changeable_places(network, {"source": count}, get_limit(count))
        )
    )
    if source > largest:
        raise InputError(
            f"The text has {source - 1} {unit}, but the attention of this model fits in memory"
            f" for at most {largest - 1}. Shorten the text or choose a smaller area size."
        )
    raise InputError("The given output is too long for its attention to fit in memory. Shorten it.")
