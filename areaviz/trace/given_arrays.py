"""Conversion of weights of any library to one NumPy array."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from areaviz.trace.errors import InputError

_ASK_FOR_WEIGHTS = (
    'Load the model with attn_implementation="eager" and call it with output_attentions=True, or'
    " use areaviz.attend"
)


def convert_to_array(weights: Any) -> npt.NDArray[Any]:
    """Return weights of any library as an array. The layers of a model are stacked.

    Tensors may require gradients, be on another device or have a type that NumPy lacks. A layer
    [1, H, Q, N] belongs to a batch of one. Layers that are None are left out.

    Raises:
        InputError: There are no weights, the layers have different shapes, or the input is not made
            of arrays.
    """
    if weights is None or (isinstance(weights, list | tuple) and not len(weights)):
        raise InputError(f"There are no weights ({weights!r}). {_ASK_FOR_WEIGHTS}.")
    if isinstance(weights, list | tuple) and all(layer is None for layer in weights):
        raise InputError(f"No layer has weights: all are None. {_ASK_FOR_WEIGHTS}.")
    if isinstance(weights, list | tuple) and any(_holds_arrays(step) for step in weights):
        raise InputError(
            "The weights belong to single steps of generation, but one pass over the whole"
            " text is needed. Pass the result of generate() to areaviz.from_generate."
        )
    if isinstance(weights, list | tuple) and any(hasattr(layer, "shape") for layer in weights):
        # Hybrid models have layers without attention.
        layers = [convert_to_array(layer) for layer in weights if layer is not None]
        shapes = {layer.shape for layer in layers}
        if len(shapes) > 1:
            raise InputError(
                "The layers have different shapes. Pass the layers of a single forward pass."
            )
        if shapes == {(1, *layers[0].shape[1:])} and layers[0].ndim == 4:
            layers = [layer[0] for layer in layers]
        return np.stack(layers)
    if hasattr(weights, "detach"):
        weights = weights.detach().cpu()
        # NumPy has no bfloat16. Half precision is at least as precise.
        weights = weights.half() if weights.element_size() == 2 else weights
    try:
        found = np.asarray(weights)
        if found.dtype.kind in "OSU":
            raise TypeError(f"{type(weights).__name__} of {found.dtype}")
        return found
    except (ValueError, TypeError, RuntimeError) as error:
        raise InputError(
            "The weights are neither a floating-point array nor one array per layer. Pass the"
            " result of generate() to areaviz.from_generate."
        ) from error


def _holds_arrays(step: object) -> bool:
    """Return whether an object is a sequence of arrays, such as the layers of a generation step."""
    return isinstance(step, list | tuple) and any(hasattr(layer, "shape") for layer in step)
