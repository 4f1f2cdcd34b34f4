"""Recordings as others' models hear them: their samples or spectrum, and the times of the items."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from areaviz.adapters.model_run import Options
from areaviz.trace.arrays import text_of
from areaviz.trace.errors import InputError
from areaviz.trace.record import Field

# Samples a second, and steps of a spectrum a second, where a processor says nothing else.
RATE, STEPS = 16_000, 100


@dataclass(frozen=True, slots=True, eq=False)
class Sound:
    """A recording."""

    # By the names of the model's inputs, a batch of one.
    given: Mapping[str, Tensor]
    # Its samples, or the steps of its spectrum, padding included; None where these are not known.
    length: int | None
    # How many of them are a second.
    rate: int

    def times(self, items: int) -> Field:
        """The field "source": the time at which each item begins, or its number."""
        if self.length is None:
            return text_of("source", [str(item) for item in range(1, items + 1)])
        starts = np.arange(items) * (self.length / self.rate) / items
        return text_of("source", [f"{start:.2f}s" for start in starts])


def times_before(model: Any, heard: Sound) -> tuple[int, int] | None:
    """One row, and how many items a model makes of a recording, before it has heard it.

    None where the model does not say what its convolutions leave of a length.
    """
    left = getattr(model, "_get_feat_extract_output_lengths", None)
    if left is None or heard.length is None:
        return None
    # Some layers put several of these into one item.
    together = getattr(model.config, "squeeze_factor", 1)
    return 1, int(left(torch.tensor(heard.length))) // together


def sound(name: str, inputs: object, options: Options, bands: int | None = None) -> Sound:
    """Samples, a spectrum or a mapping of them, as a model takes it.

    Args:
        name: of the model's input: "input_values" are samples, "input_features" a spectrum.
        inputs: samples [N] (with a processor also for models of spectra), what the model takes
            [1, ...], or a mapping that has it.
        bands: of a spectrum [1, bands, steps], one step for each hundredth of a second.
        options: the processor, and which example of a batch is meant.

    Raises:
        InputError: it is none of these.
    """
    if isinstance(inputs, Mapping):
        given = dict(inputs)
    elif options.processor is not None:
        read = options.processor(np.asarray(inputs), sampling_rate=RATE, return_tensors="pt")
        given = dict(read)
    else:
        given = {name: inputs}
    if name not in given:
        raise InputError(f"This model hears {name}; give them, or samples and its processor.")
    try:
        values = torch.as_tensor(given[name]).float()
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(
            "The input must be a recording, as samples or a spectrum; give one of them."
        ) from error
    whole = 2 if name == "input_values" else 3
    values = values[None] if values.dim() == whole - 1 else values
    if values.dim() != whole or not values.numel():
        raise InputError(
            f"The recording has the shape {tuple(values.shape)} but must have {whole} axes, the"
            " first of which is the batch."
        )
    if len(values) > 1:
        values = values[options.example : options.example + 1]
    has_length = whole == 2 or values.shape[1] == bands
    beside = {key: value for key, value in given.items() if key != name}
    length, rate = values.shape[-1], RATE if whole == 2 else STEPS
    return Sound({name: values, **beside}, length if has_length else None, rate)
