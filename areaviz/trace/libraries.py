"""Traces from other libraries: named caches of attention, and results of `generate`.

`from_cache` reads arrays by their names, as TransformerLens stores them. `from_generate` reads
what `transformers` returns.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from areaviz.trace.areas import AreaGrid, FloatArray
from areaviz.trace.arrays import (
    AREA_SIZE,
    MAX_ITEMS,
    NO_OUTPUT,
    check_bytes,
    check_rows,
    check_shape,
    convert_to_array,
    make_empty_output,
    make_labelled_field,
)
from areaviz.trace.derived import make_areas_map, make_sums_map
from areaviz.trace.document import validate
from areaviz.trace.errors import AREA_SIZES, InputError, check_map_bytes, check_range, shorten
from areaviz.trace.record import AttentionMap, Field, Output, Trace
from areaviz.trace.request import Request, check_options, make_model_name

# Traces of attention that an interpretability library has cached by name: `areaviz.from_cache`.
#
# TransformerLens stores the weights of a layer as "blocks.0.attn.hook_pattern". For an
# encoder-decoder the names are "encoder.0.attn.hook_pattern", "decoder.0.attn.hook_pattern" and
# "decoder.0.cross_attn.hook_pattern". Arrays saved with nnsight have names that their author chose.
# Each name contains one number, which is the number of its layer.
#
# Shapes: L layers, H heads, Q queries, N items of the memory.


PATTERN, SCORES = "hook_pattern", "hook_attn_scores"
CROSS, DECODER, ENCODER, ONE = "encoder-decoder", "decoder self", "encoder self", "attention"
# Maximum difference between the softmax of the cached scores and the cached weights. Both may be
# rounded.
NEAR = 5e-3
_LAYER = re.compile(r"(?<![^.\[_ ])\d+(?![^.\]_ ])")


@dataclass(frozen=True, slots=True, eq=False)
class Stack:
    """All layers of one attention. Its name has a star in place of the layer number."""

    name: str
    layers: Mapping[int, Any]

    @property
    def site(self) -> str:
        """The site of the attention, inferred from its name."""
        if "cross" in self.name:
            return CROSS
        if "decoder" in self.name:
            return DECODER
        return ENCODER if "encoder" in self.name else ONE

    def weights(self, example: int) -> npt.NDArray[Any]:
        """Return all layers of one example as [L, H, Q, N], in the order of their numbers."""
        found = [self._layer(number, example) for number in sorted(self.layers)]
        if len({layer.shape for layer in found}) > 1:
            raise InputError(
                f'The layers of "{shorten(self.name)}" have different shapes. Keep those of'
                " one run."
            )
        return np.stack(found)

    def _layer(self, number: int, example: int) -> npt.NDArray[Any]:
        layer = convert_to_array(self.layers[number])
        if layer.ndim not in (3, 4):
            raise InputError(
                f'Layer {number} of "{shorten(self.name)}" has {layer.ndim} axes but must be'
                " heads x queries x memory items, perhaps of a batch. Choose the weights by"
                " keys=."
            )
        if layer.ndim == 3:
            return layer
        if not 0 <= example < len(layer):
            raise InputError(
                f"There is no example {example} in a batch of {len(layer)}. Choose one of 0"
                f" to {len(layer) - 1}."
            )
        one: npt.NDArray[Any] = layer[example]
        return one


def from_cache(
    cache: Any,
    source: Sequence[str] | None = None,
    target: Sequence[str] | None = None,
    *,
    keys: str = PATTERN,
    example: int = 0,
    area_size: int = AREA_SIZE,
    name: str = "your-arrays",
) -> Trace:
    """Make a trace from a TransformerLens `ActivationCache`, or from any arrays cached by name.

    Every site gets the sums of its weights over areas. If the cache also has the scores
    (`hook_attn_scores`), the site also gets the area distribution of its queries and keys.

    Args:
        cache: The result of `run_with_cache`, or a mapping from names to weights [H, Q, N] or
            [batch, H, Q, N]. Each name contains the number of the layer, as in
            "transformer.h.0.attn". Tensors may require gradients, be on a GPU or be bfloat16.
        source: A label for each item of the text, such as `model.to_str_tokens(text)`. For an
            encoder-decoder, the labels of its input. By default the numbers of the items.
        target: For an encoder-decoder, a label for each item of the output.
        keys: Part of the names to use. If no name contains "hook_pattern", the default uses all
            names.
        example: Index of the example in a batch, from 0.
        area_size: Maximum number of items in an area, 1..16. With 1 there are no areas.
        name: Name of the model: letters, digits, dots, hyphens and underscores.

    Raises:
        InputError: No name of weights contains `keys`, two arrays of weights would have the same
            site, or the arrays are invalid as for `from_arrays`.
    """
    check_range("area_size", area_size, AREA_SIZES)
    request = Request(make_model_name(name), "")
    check_options(request)
    kept = {str(key): value for key, value in _list_items(cache)}
    fields: dict[str, Field] = {}
    maps: dict[str, AttentionMap] = {}
    for stack in group_layers(kept, keys):
        given_LHQN = stack.weights(example)
        attention = _make_map(stack.site, given_LHQN, (source, target), fields)
        maps[attention.site] = attention
        if area_size > 1 and attention.grid.items > 1:
            logs_LHQN = _read_logs(stack.name, kept, attention.weights, example)
            derived = [make_sums_map(attention, (1, area_size))]
            if logs_LHQN is not None:
                derived.insert(0, make_areas_map(attention, logs_LHQN, (1, area_size)))
            maps |= {one.site: one for one in derived}
    fields[make_empty_output().name] = make_empty_output()
    trace = Trace(request, fields, NO_OUTPUT, maps)
    validate(trace)
    return trace


def group_layers(kept: Mapping[str, Any], keys: str = PATTERN) -> list[Stack]:
    """Group cached arrays into attentions with layers. Errors are those of `from_cache`."""
    taken = [key for key in kept if keys in key]
    if not taken and keys == PATTERN:
        taken = list(kept)
    layers: dict[str, dict[int, Any]] = {}
    for key in taken:
        numbers = _LAYER.findall(key)
        if len(numbers) != 1:
            raise InputError(
                f'The name "{shorten(key)}" has {len(numbers)} numbers, so its layer number'
                " is unclear. Select the weights with keys=, or rename them."
            )
        layers.setdefault(_LAYER.sub("*", key), {})[int(numbers[0])] = kept[key]
    if not layers:
        raise InputError(
            f'The cache has no entries with "{shorten(keys)}" in their names. Cache the'
            " attention weights, or select other entries with keys=."
        )
    found = [Stack(name, layers[name]) for name in layers]
    sites = [stack.site for stack in found]
    if len(set(sites)) < len(sites):
        names = ", ".join(shorten(stack.name) for stack in found)
        raise InputError(f"The cache has several attentions ({names}). Choose one by keys=.")
    # In traces, as in models, an encoder comes before the decoder that reads it.
    order = (ONE, ENCODER, DECODER, CROSS)
    return sorted(found, key=lambda stack: order.index(stack.site))


def _list_items(cache: Any) -> list[tuple[Any, Any]]:
    if isinstance(cache, list | tuple):
        return list(enumerate(cache))
    try:
        return list(cache.items())
    except AttributeError as error:
        raise InputError(
            "The cache must be an ActivationCache, or a mapping from names to weights."
        ) from error


def _make_map(
    site: str,
    given_LHQN: npt.NDArray[Any],
    labels: tuple[Sequence[str] | None, Sequence[str] | None],
    fields: dict[str, Field],
) -> AttentionMap:
    """Return the map of a site, and add its query and memory to `fields`."""
    shape = given_LHQN.shape
    check_shape(shape, given_LHQN.dtype, None)
    check_bytes(shape, None, 1)
    *_, queries, items = shape
    if site != CROSS and queries != items:
        raise InputError(
            f"Each of {items:,} items must attend to all of them, but there are {queries:,}"
            " queries. Keep the weights of one pass over the whole text."
        )
    source, target = labels
    memory = "target" if site == DECODER else "source"
    query = "target" if site == CROSS else memory
    for name, count in ((memory, items), (query, queries)):
        given = target if name == "target" else source
        fields[name] = make_labelled_field(name, given, count, name)
    rows_RN = check_rows(given_LHQN.reshape(-1, items), 0, shape)
    weights_LHQN = rows_RN.reshape(shape)
    grid = AreaGrid(1, items, 1, 1)
    return AttentionMap(site, query, memory, grid, weights_LHQN, "rows sum to 1 over items")


def _read_logs(
    pattern: str, kept: Mapping[str, Any], weights_LHQN: FloatArray, example: int
) -> FloatArray | None:
    """Return the logarithms of the weights from the cached scores, as float16.

    The result is None if the scores are not cached, or if they give other weights, for example
    because of an attention sink.
    """
    name = pattern.replace(PATTERN, SCORES)
    layers = {}
    for key, value in kept.items():
        if name != pattern and _LAYER.sub("*", key) == name:
            layers[int(_LAYER.findall(key)[0])] = value
    if len(layers) != len(weights_LHQN):
        return None
    scores_LHQN = Stack(name, layers).weights(example).astype(np.float32)
    largest_LHQ1 = scores_LHQN.max(-1, keepdims=True)
    # Limit the maximum: where everything is masked, -inf - (-inf) would be NaN.
    scores_LHQN = scores_LHQN - np.maximum(largest_LHQ1, np.finfo(np.float32).min)
    shares_LHQN = np.exp(scores_LHQN)
    sums_LHQ1 = shares_LHQN.sum(-1, keepdims=True)
    shares_LHQN /= np.maximum(sums_LHQ1, 1e-30)
    if not np.allclose(shares_LHQN, weights_LHQN, atol=NEAR):
        return None
    logs_LHQN: FloatArray = np.minimum(scores_LHQN - np.log(np.maximum(sums_LHQ1, 1e-30)), 0)
    return logs_LHQN.astype(np.float16)


# Traces of what `generate` of `transformers` returned with its attentions.
#
# The first generation step has the rows of weights of the whole prompt. Every further step has one
# row. Beams are reordered during the search, so each step records the beam that a row is taken
# from.
#
# Shapes: L layers, H heads, T generated items, N items.


_ADVICE = (
    "Call generate with return_dict_in_generate=True and output_attentions=True, for a model with"
    ' attn_implementation="eager"'
)
_START = "⟨start⟩"


def from_generate(
    outputs: Any,
    *,
    tokenizer: Any = None,
    source: Sequence[str] | None = None,
    target: Sequence[str] | None = None,
    sequence: int = 0,
    area_size: int = AREA_SIZE,
    name: str = "generated",
) -> Trace:
    """Make a trace of a result of `model.generate` with attentions, including beam search.

    The text of a decoder is the field "history": the prompt and the generated text without its last
    token. An encoder-decoder has the fields "source", "target" and "history".

    Args:
        outputs: The result of `generate` with `return_dict_in_generate` and `output_attentions`.
        tokenizer: Tokenizer of `transformers` for the labels. By default the labels are token ids.
        source: For an encoder-decoder, a label for each item of the input. By default their
            numbers.
        target: A label for each token of the sequence, including its first token.
        sequence: Index of the returned sequence, from 0.
        area_size: Maximum number of items in an area, 1..16. With 1 there are no areas.
        name: Name of the model.

    Raises:
        InputError: The outputs lack the attentions of some steps, or the sequence does not exist.
    """
    check_range("area_size", area_size, AREA_SIZES)
    ids = _list_token_ids(outputs, sequence)
    request = Request(make_model_name(name), "")
    check_options(request)
    labels = _make_labels(ids, tokenizer, target)
    is_pair = _get_part(outputs, "cross_attentions") is not None
    steps = _list_steps(outputs, "decoder_attentions" if is_pair else "attentions")
    rows = _find_rows(outputs, sequence, len(steps), len(ids))
    if is_pair:
        found = _make_pair_maps(outputs, ids, labels, source, rows, sequence)
    else:
        found = _make_decoder_maps(steps, ids, labels, rows)
    fields, attentions = found
    maps: dict[str, AttentionMap] = {}
    for attention in attentions:
        maps[attention.site] = attention
        if area_size > 1 and attention.grid.items > 1:
            sums = make_sums_map(attention, (1, area_size))
            maps[sums.site] = sums
    output = _make_output(outputs, ids, rows, sequence) if is_pair else None
    everything = {field.name: field for field in (*fields, make_empty_output())}
    trace = Trace(request, everything, output or NO_OUTPUT, maps, {"decoding": "generate"})
    validate(trace)
    return trace


def _get_part(outputs: Any, name: str) -> Any:
    """Return a part of the outputs by its name, or None."""
    found = outputs.get(name) if hasattr(outputs, "get") else getattr(outputs, name, None)
    return found if found is not None and (not hasattr(found, "__len__") or len(found)) else None


def _list_token_ids(outputs: Any, sequence: int) -> list[int]:
    """Return the token ids of the sequence that is shown."""
    given = _get_part(outputs, "sequences")
    if given is None:
        raise InputError(f"These are not outputs of generate with its attentions. {_ADVICE}.")
    found = convert_to_array(given)
    if found.ndim != 2 or found.dtype.kind not in "iu" or not found.shape[1]:
        raise InputError(
            f"The sequences have the shape {found.shape} but must be token ids [sequence, token]."
            f" {_ADVICE}."
        )
    if not isinstance(sequence, int) or not 0 <= sequence < len(found):
        raise InputError(
            f"There is no sequence {sequence} among {len(found)}. Choose one of 0 to"
            f" {len(found) - 1}."
        )
    ids: list[int] = found[sequence].tolist()
    if len(ids) > MAX_ITEMS:
        raise InputError(
            f"The sequence has {len(ids):,} tokens, but the limit is {MAX_ITEMS:,}. Write a"
            " shorter text."
        )
    return ids


def _make_labels(ids: Sequence[int], tokenizer: Any, given: Sequence[str] | None) -> list[str]:
    if given is not None:
        return list(make_labelled_field("target", given, len(ids), "the sequence").labels)
    if tokenizer is None:
        return [str(token) for token in ids]
    try:
        pieces = tokenizer.convert_ids_to_tokens(list(ids))
    except Exception as error:
        # Tokenizers raise many kinds of errors.
        reason = " ".join(str(error).split()).rstrip(".")[:200]
        raise InputError(
            f"The tokenizer cannot name these tokens ({reason}). Pass the model's own tokenizer."
        ) from error
    return [str(piece).replace("▁", " ").replace("Ġ", " ").strip() or "␣" for piece in pieces]


def _list_steps(outputs: Any, name: str) -> list[list[npt.NDArray[Any]]]:
    """Return the weights [rows, H, Q, N] of every step and layer."""
    steps = _get_part(outputs, name)
    if steps is None:
        raise InputError(f"The outputs of generate have no attentions. {_ADVICE}.")
    found = []
    for step in steps:
        layers = [] if step is None else [layer for layer in step if layer is not None]
        if not layers:
            raise InputError(f"A step of generate has no attentions. {_ADVICE}.")
        found.append([convert_to_array(layer) for layer in layers])
    shapes = {(len(step), step[0].ndim) for step in found}
    if len(shapes) > 1 or found[0][0].ndim != 4:
        raise InputError(f"The steps of generate differ in their layers. {_ADVICE}.")
    return found


def _find_rows(outputs: Any, sequence: int, steps: int, tokens: int) -> list[int]:
    """Return the row of the sequence's weights in each step until the sequence ends."""
    beams = _get_part(outputs, "beam_indices")
    if beams is None:
        # A sequence that ended early is padded.
        return [sequence] * min(steps, tokens)
    chosen = convert_to_array(beams)[sequence].tolist()
    return [int(row) for row in chosen[:steps] if row >= 0]


def _make_decoder_maps(
    steps: Sequence[Sequence[npt.NDArray[Any]]],
    ids: Sequence[int],
    labels: Sequence[str],
    rows: Sequence[int],
) -> tuple[list[Field], list[AttentionMap]]:
    prompt = steps[0][0].shape[2]
    count = prompt + len(rows) - 1
    if not 1 <= count < len(ids) + 1 or not rows:
        raise InputError(
            f"The attentions are of {count:,} tokens but the sequence has {len(ids):,}. {_ADVICE}."
        )
    weights = _place_rows(steps, rows, prompt, count)
    history = make_labelled_field("history", labels[:count], count, "the sequence")
    grid = AreaGrid(1, count, 1, 1)
    site = AttentionMap("decoder self", "history", "history", grid, weights)
    return [history], [site]


def _make_pair_maps(
    outputs: Any,
    ids: Sequence[int],
    labels: Sequence[str],
    source: Sequence[str] | None,
    rows: Sequence[int],
    sequence: int,
) -> tuple[list[Field], list[AttentionMap]]:
    within = _list_steps(outputs, "decoder_attentions")
    across = _list_steps(outputs, "cross_attentions")
    count = min(len(rows), len(ids) - 1)
    if count < 1 or len(across) < count:
        raise InputError(f"The outputs of generate have no generation step. {_ADVICE}.")
    items = across[0][0].shape[3]
    fields = [
        make_labelled_field("source", source, items, "the source"),
        make_labelled_field("target", labels[1 : count + 1], count, "the sequence"),
        make_labelled_field("history", [_START, *labels[1:count]], count, "the sequence"),
    ]
    looks = _place_rows(across, rows[:count], 1, items, is_growing=False)
    history = _place_rows(within, rows[:count], 1, count)
    maps = [
        AttentionMap("encoder-decoder", "target", "source", AreaGrid(1, items, 1, 1), looks),
        AttentionMap("decoder self", "target", "history", AreaGrid(1, count, 1, 1), history),
    ]
    read = _get_part(outputs, "encoder_attentions")
    if read is not None:
        layers = [convert_to_array(layer) for layer in read if layer is not None]
        example = _find_example(outputs, sequence, len(layers[0])) if layers else 0
        own = [layer[example] for layer in layers if layer.shape[-2:] == (items, items)]
        if own:
            weights = _check_weights(np.stack(own))
            grid = AreaGrid(1, items, 1, 1)
            maps.append(AttentionMap("encoder self", "source", "source", grid, weights))
    return fields, maps


def _find_example(outputs: Any, sequence: int, batch: int) -> int:
    """Return the index of a sequence's example. All examples have equally many sequences."""
    each = max(1, len(convert_to_array(_get_part(outputs, "sequences"))) // batch)
    return min(sequence // each, batch - 1)


def _place_rows(
    steps: Sequence[Sequence[npt.NDArray[Any]]],
    rows: Sequence[int],
    first: int,
    items: int,
    is_growing: bool = True,
) -> FloatArray:
    """Return the rows of all steps in one array [L, H, Q, N].

    Args:
        steps: The weights of every step and layer.
        rows: For each step, the index of the row to take.
        first: Number of queries in the first step.
        items: N.
        is_growing: Whether each step attends to one more item than the step before. A cache of
            fixed size has empty positions at its end, and a sliding window has only the latest
            items.
    """
    layers, heads = len(steps[0]), steps[0][0].shape[1]
    check_map_bytes(4 * layers * heads * (first + len(rows) - 1) * items)
    weights = np.zeros((layers, heads, first + len(rows) - 1, items), np.float32)
    end = 0
    for step, row in zip(steps, rows, strict=False):
        begin, end = end, end + step[0].shape[2]
        seen = end if is_growing else items
        for layer, given in enumerate(step):
            if row >= len(given) or given.shape[1] != heads or end > weights.shape[2]:
                raise InputError(f"The steps of generate do not fit each other. {_ADVICE}.")
            taken = given[row].astype(np.float32)[..., :seen]
            start = seen - taken.shape[-1]
            weights[layer, :, begin:end, start:seen] = taken
    return _check_weights(weights)


def _check_weights(weights: npt.NDArray[Any]) -> FloatArray:
    rows = check_rows(weights.reshape(-1, weights.shape[-1]), 0, weights.shape)
    return rows.reshape(weights.shape)


def _make_output(
    outputs: Any, ids: Sequence[int], rows: Sequence[int], sequence: int
) -> Output | None:
    """Return the probability of each generated token, or None if generate returned no scores."""
    scores = _get_part(outputs, "scores")
    count = min(len(rows), len(ids) - 1)
    if scores is None or len(scores) < count:
        scores = None
    likely = np.zeros(count, np.float32)
    if scores is None:
        return None
    for step in range(count):
        row = convert_to_array(scores[step])[rows[step]].astype(np.float64)
        shares = np.exp(row - np.nanmax(row))
        likely[step] = shares[ids[step + 1]] / shares.sum()
    if not np.isfinite(likely).all():
        return None
    return Output("target", likely, tuple(() for _ in range(count)))
