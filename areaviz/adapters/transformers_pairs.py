"""`transformers` models that read a text or a picture and write a text: Marian, T5,
VisionEncoderDecoder.

Shapes: T target tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from areaviz.adapters.heads import Heads
from areaviz.adapters.interface import watched
from areaviz.adapters.model_run import Site, Story, output_of
from areaviz.adapters.options import Options
from areaviz.adapters.pixels import left_out, picture_fields, picture_sites
from areaviz.adapters.texts import Texts, Tokens
from areaviz.adapters.transformers_pictures import cells_of, read
from areaviz.adapters.transformers_sites import CROSS, DECODER, ENCODER, sites_of
from areaviz.adapters.transformers_texts import asking, row
from areaviz.trace.errors import InputError
from areaviz.trace.record import Field, Output

START_LABEL = "⟨start⟩"
Found = dict[str, list[Heads]]


def translated(model: Any, inputs: object, options: Options) -> Story:
    """A run of an encoder-decoder over a text, with the given target or the one it writes."""
    texts = Texts(options.tokenizer)
    source = texts.read(inputs, options.labels)
    given = {"input_ids": row(source.ids, model)}
    given["attention_mask"] = torch.ones_like(given["input_ids"])
    target, output, found = _run(model, given, options)
    size = (1, len(source.ids))
    sites = [
        Site(CROSS, "target", "source", size, found[CROSS]),
        Site(ENCODER, "source", "source", size, found[ENCODER]),
        _within(found, target),
    ]
    fields = [source.named("source"), *_written(target)]
    return Story(fields, sites, source.field.raw, output=output, details=_decoding(options))


def captioned(model: Any, inputs: object, options: Options) -> Story:
    """A run of an encoder-decoder over a picture; items that are no cells are left out of it."""
    config = model.encoder.config if hasattr(model, "encoder") else model.config
    seen = read(config, inputs, options)
    target, output, found = _run(model, {"pixel_values": seen.values.to(model.device)}, options)
    cut = cells_of(config, seen, found[ENCODER])
    looks = [heads.cut(slice(None), slice(cut.extra, None)) for heads in found[CROSS]]
    sites = [
        Site(CROSS, "target", "picture", cut.shape, looks),
        *picture_sites(found[ENCODER], cut),
        _within(found, target),
    ]
    fields = [*picture_fields(seen.picture, cut), *_written(target)]
    details = _decoding(options) | left_out([*found[CROSS], *found[ENCODER]], cut)
    return Story(fields, sites, "", seen.picture, output, details)


def _run(
    model: Any, given: dict[str, Tensor], options: Options
) -> tuple[Tokens, Output | None, Found]:
    """The target, its probabilities and every site's heads, from one pass over the whole target."""
    texts, start = Texts(options.tokenizer), _start(model)
    chosen = (
        texts.target_ids(options.target)
        if options.target is not None
        else _generated(model, given, options.steps)
    )
    target = texts.read(chosen)
    fed = torch.tensor([[start, *target.ids[:-1]]], device=model.device)
    with watched(model) as record:
        outputs = model(**given, decoder_input_ids=fed, **asking(model))
    logits = outputs.get("logits")
    output = None if logits is None else output_of("target", logits[0], target.ids, texts.label)
    return target, output, sites_of(model, record, outputs)


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
