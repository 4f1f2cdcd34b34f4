"""Traces of attention that an interpretability library has cached by name: `areaviz.from_cache`.

TransformerLens stores the weights of a layer as "blocks.0.attn.hook_pattern". For an
encoder-decoder the names are "encoder.0.attn.hook_pattern", "decoder.0.attn.hook_pattern" and
"decoder.0.cross_attn.hook_pattern". Arrays saved with nnsight have names that their author chose.
Each name contains one number, which is the number of its layer.

Shapes: L layers, H heads, Q queries, N items of the memory.
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
    NO_OUTPUT,
    check_bytes,
    check_rows,
    check_shape,
    make_empty_output,
    make_labelled_field,
)
from areaviz.trace.check import validate
from areaviz.trace.derived_areas import make_areas_map, make_sums_map
from areaviz.trace.errors import InputError
from areaviz.trace.given_arrays import convert_to_array
from areaviz.trace.limits import AREA_SIZES, check_range, shorten
from areaviz.trace.record import AttentionMap, Field, Trace
from areaviz.trace.request import Request, check_options, make_model_name

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
