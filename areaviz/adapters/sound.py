"""Recordings for external speech models, read from any form, and the times of their items."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from areaviz.adapters.heads import CROSS, ENCODER, Found, select_items
from areaviz.adapters.pictures import run_processor
from areaviz.adapters.run import Options
from areaviz.media.sounds import read_recording, resample
from areaviz.trace.arrays import make_text_field
from areaviz.trace.errors import InputError, check_range
from areaviz.trace.record import Field, find_file
from areaviz.trace.request import RATE, Sound

# Recordings in any form as one sequence of samples: files, arrays, and rows of datasets.
#
# Shapes: N samples, C channels.


MOST_SECONDS = 600
MAX_CHANNELS = 8
RATES = (1_000, 384_000)
"""Minimum and maximum samples per second of an array."""


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """One channel of a recording."""

    # float32 [N], from -1 to 1.
    values_N: npt.NDArray[np.float32]
    # Samples per second.
    rate: int
    # Details for users on how the recording was read.
    details: Mapping[str, str] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """The length of the recording in seconds."""
        return len(self.values_N) / self.rate


def read_samples(given: object, rate: int) -> Samples:
    """Return a recording as one channel of samples at a rate.

    Args:
        given: A path, an array or a list of samples at this rate (several channels become their
            mean), a mapping with "array" and "sampling_rate", or a `Sound`.
        rate: Samples per second.

    Raises:
        InputError: It is none of these, or the file cannot be read.
    """
    if isinstance(given, str | Path):
        return _read_file(find_file(given), rate)
    own_rate = rate
    if isinstance(given, Sound):
        given, own_rate = given.samples, RATE
    elif isinstance(given, Mapping):
        stated = given.get("sampling_rate", rate)
        check_range("sampling_rate", stated, RATES)
        own_rate = int(stated)
        given = given["array"]
    try:
        values = np.asarray(given)
        numbers = values.astype(np.float32)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(
            "The input must be a recording, as a file, samples or a spectrum. Give one of these."
        ) from error
    if values.dtype.kind in "iu":
        # Integers are samples in the form of a file. Models expect values from -1 to 1.
        numbers /= np.float32(np.iinfo(values.dtype).max)
    mean_N, channels = _mix_channels(numbers)
    return Samples(resample(mean_N, own_rate, rate), rate, _describe_channels(channels))


def _mix_channels(values: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.float32], int]:
    """Return the mean of the channels, which may be on either axis, and the number of channels."""
    if values.ndim == 2 and min(values.shape) <= MAX_CHANNELS < max(values.shape):
        axis = int(np.argmin(values.shape))
        return values.mean(axis), values.shape[axis]
    if values.ndim != 1 or not values.size:
        raise InputError(
            f"The recording has the shape {values.shape} but must be one row of samples, or two"
            " axes of channels and samples."
        )
    return values, 1


def _describe_channels(channels: int) -> dict[str, str]:
    return {"channels": f"the mean of {channels} channels is heard"} if channels > 1 else {}


def _read_file(path: Path, rate: int) -> Samples:
    try:
        found = read_recording(path.read_bytes(), MOST_SECONDS)
    except ImportError as error:
        raise InputError(
            "Reading a recording needs the package soundfile. Install areaviz[app], or give"
            " the samples themselves."
        ) from error
    return Samples(
        resample(found.mean_S, found.rate, rate), rate, _describe_channels(found.channels)
    )


# Recordings for external speech models, as samples or as a spectrum, and the times of their items.
#
# Shapes: N samples, C channels.


DEFAULT_RATE, STEPS = 16_000, 100
"""Sampling rate if the processor states none, and steps of a spectrum per second."""


@dataclass(frozen=True, slots=True, eq=False)
class SoundInput:
    """A recording as the input of a model."""

    # Inputs of the model by name, as a batch of one.
    given: Mapping[str, Tensor]
    # Number of samples, or of steps of the spectrum, including padding. None if unknown.
    length: int | None
    # Number of samples or steps per second.
    rate: int
    # Number of samples or steps in the recording itself, without padding.
    heard: int | None = None
    # Details for users on how the recording was read.
    details: Mapping[str, str] = field(default_factory=dict)

    def count_heard_items(self, items: int) -> int:
        """Return the number of the model's items that cover the recording.

        The others are padding.
        """
        if self.length is None or self.heard is None:
            return items
        return max(1, min(items, ceil(items * self.heard / self.length)))

    def times(self, items: int) -> Field:
        """Return the field "source": the start time of each item, or its number.

        Args:
            items: Number of items that the model makes of the recording and its padding.
        """
        kept = self.count_heard_items(items)
        if self.length is None:
            return make_text_field("source", [str(item) for item in range(1, kept + 1)])
        starts = np.arange(kept) * (self.length / self.rate) / items
        return make_text_field("source", [f"{start:.2f}s" for start in starts])


def predict_times(model: Any, heard: SoundInput) -> tuple[int, int] | None:
    """Return (1, number of items) that a model will make of a recording.

    The result is None if the model does not state how its convolutions change a length.
    """
    left = getattr(model, "_get_feat_extract_output_lengths", None)
    if left is None or heard.length is None:
        return None
    # Some layers merge several of these items into one.
    together = getattr(model.config, "squeeze_factor", 1)
    return 1, int(left(torch.tensor(heard.length))) // together


def keep_recording(found: Found, heard: SoundInput) -> tuple[Found, dict[str, str]]:
    """Return the heads over the recording only, and a detail about the attention that was left out.

    Whisper pads each recording to 30 seconds with silence, and most attention may go to this
    silence. The weights that are shown are shares of the attention within the recording.
    """
    shown, shares = dict(found), []
    for site, layers in found.items():
        if site not in (CROSS, ENCODER) or not layers:
            continue
        items = layers[0].shape[-1]
        kept = heard.count_heard_items(items)
        if kept == items:
            continue
        memory = torch.arange(kept)
        queries = [memory if site == ENCODER else torch.arange(one.shape[1]) for one in layers]
        pairs = list(zip(layers, queries, strict=True))
        shares += [float(one.weights[:, rows, kept:].sum(-1).mean()) for one, rows in pairs]
        shown[site] = [select_items(one, rows, memory) for one, rows in pairs]
    if not shares:
        return found, {}
    share = np.mean(shares)
    said = (
        f"left out: {share:.0%} of the attention goes to the silence added after the"
        " recording. The weights shown are shares of the rest"
    )
    return shown, {"padding": said}


def prepare_sound(
    name: str, inputs: object, options: Options, bands: int | None = None
) -> SoundInput:
    """Return a recording in the form that a model takes.

    Args:
        name: Name of the model's input: "input_values" for samples, "input_features" for a
            spectrum.
        inputs: A file, samples [N] or [channels, N], the model's own input [1, ...], or a
            mapping with it. A model of spectra takes a file or samples only with a processor.
        options: Options with the processor, and the example of a batch.
        bands: Number of bands of a spectrum [1, bands, steps] with 100 steps per second.

    Raises:
        InputError: The input has none of these forms.
    """
    details: dict[str, str] = {}
    samples = None
    rate = _get_rate(options.processor)
    if _is_raw(name, inputs, options):
        if name == "input_features" and options.processor is None:
            raise InputError(
                "This model needs a spectrum. Pass the processor that computes it (processor=)."
            )
        samples = read_samples(inputs, rate)
        details |= samples.details
    if isinstance(inputs, Mapping) and samples is None:
        given = dict(inputs)
    elif samples is not None and options.processor is not None:
        heard_N, make = samples.values_N, options.processor
        given = dict(run_processor(lambda: make(heard_N, sampling_rate=rate, return_tensors="pt")))
    elif samples is not None:
        given = {name: samples.values_N}
    else:
        given = {name: inputs}
    if name not in given:
        raise InputError(f"This model needs {name}. Pass them, or a recording and its processor.")
    values, beside = _make_batch_of_one(name, given, options)
    whole = 2 if name == "input_values" else 3
    length = values.shape[-1] if whole == 2 or values.shape[1] == bands else None
    steps = rate if whole == 2 else STEPS
    heard = _count_heard_samples(values, beside, length, samples, rate, steps)
    if samples is not None and length is not None and samples.seconds > length / steps + 0.5:
        details["recording"] = (
            f"only the first {length / steps:g} s of {samples.seconds:.1f} s are heard,"
            " because the model accepts no more at once. Cut the recording to hear the rest"
        )
    return SoundInput({name: values, **beside}, length, steps, heard, details)


def _is_raw(name: str, inputs: object, options: Options) -> bool:
    """Return whether inputs are a recording that has to be prepared for the model."""
    if isinstance(inputs, Mapping):
        return "array" in inputs and name not in inputs
    if isinstance(inputs, str | Path):
        return True
    if name == "input_features" and options.processor is None:
        return False
    # A batch of prepared samples is assumed if the example is not the first one.
    return options.example == 0


def _get_rate(processor: Any) -> int:
    """Return the sampling rate that a processor expects."""
    extractor = getattr(processor, "feature_extractor", processor)
    return int(getattr(extractor, "sampling_rate", None) or DEFAULT_RATE)


def _make_batch_of_one(
    name: str, given: Mapping[str, Any], options: Options
) -> tuple[Tensor, dict[str, Any]]:
    """Return the values of the chosen example, and its other inputs.

    Raises:
        InputError: The input is not an array that a model takes.
    """
    try:
        values = torch.as_tensor(given[name]).float()
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(
            "The input must be a recording, as a file, samples or a spectrum. Give one of these."
        ) from error
    whole = 2 if name == "input_values" else 3
    values = values[None] if values.dim() == whole - 1 else values
    if values.dim() != whole or not values.numel():
        raise InputError(
            f"The recording has the shape {tuple(values.shape)} but must have {whole} axes, the"
            " first of which is the batch."
        )
    count = len(values)
    if count > 1 and not 0 <= options.example < count:
        raise InputError(
            f"The batch has {count} examples, so there is no example {options.example}. Count"
            " them from 0."
        )
    beside = {key: value for key, value in given.items() if key != name}
    if count > 1:
        one = slice(options.example, options.example + 1)
        values = values[one]
        for key, value in beside.items():
            if isinstance(value, Tensor) and value.dim() and len(value) == count:
                beside[key] = value[one]
    return values, beside


def _count_heard_samples(
    values: Tensor,
    beside: Mapping[str, Any],
    length: int | None,
    samples: Samples | None,
    rate: int,
    steps: int,
) -> int | None:
    """Return the number of samples or steps in the recording itself, or None if unknown."""
    if length is None:
        return None
    mask = beside.get("attention_mask")
    if isinstance(mask, Tensor) and mask.shape[-1] == length:
        return int(mask.sum())
    if samples is not None:
        return min(length, ceil(len(samples.values_N) * steps / rate))
    if values.dim() != 3:
        return length
    # The added silence is a run of equal steps at the end.
    differs = (values[0] != values[0, :, -1:]).any(0).nonzero()
    return int(differs[-1]) + 1 if len(differs) else length
