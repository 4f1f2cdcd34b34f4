"""Models of the `transformers` library, and those of two stacks: Marian, T5, VisionEncoderDecoder.

Which way a model is run follows from what it takes and has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from areaviz.adapters.model_run import ModelRun, Options, Site, frozen, output_of, to_trace
from areaviz.adapters.pixels import left_out, picture_fields, picture_sites
from areaviz.adapters.texts import Texts, Tokens
from areaviz.adapters.transformers_record import CROSS, DECODER, ENCODER, Found, run
from areaviz.adapters.transformers_stacks import (
    cells_of,
    picture_of,
    read_picture,
    read_text,
    row,
)
from areaviz.trace.errors import InputError
from areaviz.trace.record import Field, Output, Trace

START_LABEL = "⟨start⟩"


def fits(model: nn.Module) -> bool:
    """Whether a model is one of `transformers`, which need not be imported for that."""
    return any(kind.__module__ == "transformers.modeling_utils" for kind in type(model).__mro__)


def attend(model: Any, inputs: object, options: Options) -> Trace:
    """See `areaviz.attend`."""
    pair = getattr(model.config, "is_encoder_decoder", False)
    if getattr(model, "main_input_name", "") == "pixel_values":
        read = caption if pair else read_picture
    else:
        read = translate if pair else read_text
    with frozen(model):
        found = read(model, inputs, options)
    return to_trace(found, model, options)


def translate(model: Any, inputs: object, options: Options) -> ModelRun:
    """A run of an encoder-decoder over a text, with the given target or the one it writes."""
    source = Texts(options.tokenizer).read(inputs, options.labels)
    ids_1N = row(source.ids, model)
    given = {"input_ids": ids_1N, "attention_mask": torch.ones_like(ids_1N)}
    target, output, found = _write(model, given, options)
    shape = (1, len(source.ids))
    sites = [
        Site(CROSS, "target", "source", shape, found[CROSS]),
        Site(ENCODER, "source", "source", shape, found[ENCODER]),
        _within(found, target),
    ]
    fields = [source.named("source"), *_written(target)]
    return ModelRun(fields, sites, source.field.raw, output=output, details=_decoding(options))


def caption(model: Any, inputs: object, options: Options) -> ModelRun:
    """A run of an encoder-decoder over a picture; items that are no cells are left out of it."""
    config = model.encoder.config if hasattr(model, "encoder") else model.config
    seen = picture_of(config, inputs, options)
    given = {"pixel_values": seen.values.to(model.device)}
    target, output, found = _write(model, given, options)
    cut = cells_of(config, seen, found[ENCODER])
    looks = [heads.cut(slice(None), slice(cut.extra, None)) for heads in found[CROSS]]
    sites = [
        Site(CROSS, "target", "picture", cut.shape, looks),
        *picture_sites(found[ENCODER], cut),
        _within(found, target),
    ]
    fields = [*picture_fields(seen.picture, cut), *_written(target)]
    details = _decoding(options) | left_out([*found[CROSS], *found[ENCODER]], cut)
    return ModelRun(fields, sites, "", seen.picture, output, details)


def _write(
    model: Any, given: dict[str, Tensor], options: Options
) -> tuple[Tokens, Output | None, Found]:
    """The target, its probabilities and every site's heads, from one pass over the whole target."""
    texts = Texts(options.tokenizer)
    if options.target is None:
        target = texts.read(_generated(model, given, options.steps))
    else:
        target = texts.read(texts.target_ids(options.target))
    fed = torch.tensor([[_start(model), *target.ids[:-1]]], device=model.device)
    outputs, found = run(model, **given, decoder_input_ids=fed)
    logits = outputs.get("logits")
    output = None if logits is None else output_of(logits[0], target.ids, texts.label)
    return target, output, found


def _generated(model: Any, given: dict[str, Tensor], steps: int) -> Sequence[int]:
    """What the model writes by itself: the most probable token each time."""
    if not model.can_generate():
        raise InputError(
            f"{type(model).__name__} writes no text by itself; give what it should write as target."
        )
    ids = model.generate(**given, max_new_tokens=steps, do_sample=False, num_beams=1)[0].tolist()
    written: list[int] = ids[1:] if ids[:1] == [_start(model)] else ids
    if not written:
        raise InputError("The model wrote nothing; give what it should write as target.")
    return written


def _start(model: Any) -> int:
    """The token a decoder begins with."""
    places = (
        getattr(model, "generation_config", None),
        model.config,
        getattr(model.config, "decoder", None),
    )
    for name in ("decoder_start_token_id", "bos_token_id"):
        for place in places:
            if (token := getattr(place, name, None)) is not None:
                return int(token)
    raise InputError(
        "The model's configuration has no decoder_start_token_id; set it to the token a text begins"
        " with."
    )


def _within(found: Found, target: Tokens) -> Site:
    return Site(DECODER, "target", "history", (1, len(target.ids)), found[DECODER])


def _written(target: Tokens) -> tuple[Field, Field]:
    """The fields "target" and "history", what the decoder had been fed before each of its items."""
    field = target.named("target")
    anchors = np.vstack([[[0, 0]], field.anchors[:-1]])
    return field, Field("history", "text", field.raw, (START_LABEL, *field.labels[:-1]), anchors)


def _decoding(options: Options) -> dict[str, str]:
    return {} if options.target is None else {"decoding": "given text"}
