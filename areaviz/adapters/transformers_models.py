"""Models of the `transformers` library: which way one is run follows from what it takes and has."""

from __future__ import annotations

from typing import Any

from torch import nn

from areaviz.adapters.model_run import told
from areaviz.adapters.options import Options
from areaviz.adapters.record_attention import at_rest
from areaviz.adapters.transformers_pairs import captioned, translated
from areaviz.adapters.transformers_pictures import pictured
from areaviz.adapters.transformers_texts import one_stack
from areaviz.trace.record import Trace


def fits(model: nn.Module) -> bool:
    """Whether a model is one of `transformers`, which need not be imported to tell."""
    return any(kind.__module__ == "transformers.modeling_utils" for kind in type(model).__mro__)


def attend(model: Any, inputs: object, options: Options) -> Trace:
    """See `areaviz.attend`."""
    pair = bool(getattr(model.config, "is_encoder_decoder", False))
    pictures = getattr(model, "main_input_name", "input_ids") == "pixel_values"
    run = (captioned if pair else pictured) if pictures else (translated if pair else one_stack)
    with at_rest(model):
        story = run(model, inputs, options)
    return told(story, options.name or type(model).__name__, options.area_size)
