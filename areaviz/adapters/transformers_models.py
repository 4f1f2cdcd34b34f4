"""Models of the `transformers` library, and those of two stacks: Marian, T5, VisionEncoderDecoder.

Which way a model is run follows from what it takes and has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from areaviz.adapters.attributed import Attributed, Items
from areaviz.adapters.calls import CROSS, DECODER, ENCODER, Found, some_items
from areaviz.adapters.model_run import ModelRun, Options, frozen, output_of, to_trace
from areaviz.adapters.pixels import is_picture, left_out, picture_fields, picture_sites
from areaviz.adapters.sinks import Site
from areaviz.adapters.sound import sound
from areaviz.adapters.texts import Texts, Tokens
from areaviz.adapters.transformers_both import has_both, read_both
from areaviz.adapters.transformers_detect import detect
from areaviz.adapters.transformers_run import (
    accepted,
    attribution_of,
    check_size,
    logits_of,
    main_input,
    row,
    takes,
    watch,
)
from areaviz.adapters.transformers_stacks import (
    cells_of,
    picture_of,
    read_picture,
    read_sound,
    read_text,
)
from areaviz.trace.errors import InputError
from areaviz.trace.record import Field, Output, Trace

START_LABEL = "⟨start⟩"


def fits(model: nn.Module) -> bool:
    """Whether a model is one of `transformers`, which need not be imported for that."""
    return any(kind.__module__ == "transformers.modeling_utils" for kind in type(model).__mro__)


def attend(model: Any, inputs: object, options: Options) -> Trace:
    """See `areaviz.attend`."""
    with frozen(model):
        found = _reader(model, inputs)(model, inputs, options)
    return to_trace(found, model, options)


def _reader(model: Any, inputs: object) -> Callable[[Any, Any, Options], ModelRun]:
    """How a model is run on these inputs."""
    reads = main_input(model)
    if has_both(inputs):
        return read_both
    if getattr(model.config, "is_encoder_decoder", False):
        if reads == "pixel_values" and "decoder_input_ids" not in takes(model):
            return detect
        return {"pixel_values": caption, "input_ids": translate}.get(reads, transcribe)
    if reads in ("input_values", "input_features"):
        return read_sound
    # A model that sees and reads may be given a text alone.
    reads_too = hasattr(model.config, "text_config") and not is_picture(inputs)
    return read_picture if reads == "pixel_values" and not reads_too else read_text


def translate(model: Any, inputs: object, options: Options) -> ModelRun:
    """A run of an encoder-decoder over a text, with the given target or the one it writes."""
    source = Texts(options.tokenizer, options.example).read(inputs, options.labels)
    ids_1N = row(source, model)
    check_size(model, len(source.ids), len(source.ids), options)
    given = {"input_ids": ids_1N, "attention_mask": torch.ones_like(ids_1N), **source.more}
    written = _write(model, given, options)
    field = source.named("source")
    sites = _text_sites(written, len(source.ids))
    details = options.of_batch(written.details, source.batch)
    fields = [field, *_fields(written.target)]
    return ModelRun(
        fields,
        sites,
        field.raw,
        output=written.output,
        details=details,
        attributed=_attributed(model, written, options, Items("input_ids", "source")),
    )


def transcribe(model: Any, inputs: object, options: Options) -> ModelRun:
    """The same over a recording: the source's items are times of it."""
    heard = sound(main_input(model), inputs, options, getattr(model.config, "num_mel_bins", None))
    written = _write(model, heard.given, options)
    layers = written.found.get(CROSS) or written.found.get(ENCODER) or []
    if not layers:
        return ModelRun([], [], details=written.details)
    source = heard.times(layers[0].shape[-1])
    sites = _text_sites(written, len(source))
    fields = [source, *_fields(written.target)]
    return ModelRun(fields, sites, output=written.output, details=written.details)


def caption(model: Any, inputs: object, options: Options) -> ModelRun:
    """A run of an encoder-decoder over a picture; items that are no cells are left out of it."""
    config = model.encoder.config if hasattr(model, "encoder") else model.config
    seen = picture_of(config, inputs, options)
    written = _write(model, {"pixel_values": seen.values}, options)
    across, within = (written.found.get(site, []) for site in (CROSS, ENCODER))
    if not across and not within:
        return ModelRun([], [], details=written.details)
    cut = cells_of(config, seen, across or within)
    sites, details = [], options.of_batch(written.details, seen.batch)
    if across:
        every = [torch.arange(heads.shape[1]) for heads in across]
        looks = [some_items(heads, q, cut.cells) for heads, q in zip(across, every, strict=True)]
        sites.append(Site(CROSS, "target", "picture", cut.shape, looks))
    if {heads.shape[-1] for heads in within} == {len(cut.cells) + cut.extra}:
        sites += picture_sites(within, cut)
    elif within:
        details["encoder self"] = "not shown, as its layers have other items than its result"
        within = []
    fields = [*picture_fields(seen.picture, cut), *_fields(written.target)]
    sites += _history_site(written)
    details |= left_out([*across, *within], cut)
    cells = Items("pixel_values", "picture", cut.shape)
    attributed = _attributed(model, written, options, cells)
    return ModelRun(fields, sites, "", seen.picture, written.output, details, attributed)


@dataclass(frozen=True, slots=True, eq=False)
class Written:
    """What an encoder-decoder wrote, or was given to write, and how."""

    target: Tokens
    output: Output | None
    found: Found
    details: dict[str, str]
    # What the model was given, the start of the target included.
    given: Mapping[str, Tensor]


def _write(model: Any, given: Mapping[str, Tensor], options: Options) -> Written:
    """The target, its probabilities and every site's heads, from one pass over the whole target."""
    texts, given = Texts(options.tokenizer), accepted(model, given)
    if options.target is None:
        target = texts.read(_generated(model, given, options.steps))
    else:
        target = texts.read(texts.target_ids(options.target))
    fed = torch.tensor([[_start(model), *target.ids[:-1]]], device=model.device)
    sites = (CROSS, ENCODER, DECODER)
    given = {**given, "decoder_input_ids": fed}
    seen = watch(model, given, options, sites)
    logits = logits_of(seen.outputs)
    output = None if logits is None else output_of(logits[0], target.ids, texts.label)
    details = {"decoding": "given text"} if options.target is not None else {}
    return Written(target, output, seen.found, details | dict(seen.details), given)


def _attributed(model: Any, written: Written, options: Options, read: Items) -> Attributed:
    """What the outputs depend on of what was read, and of what was written before them."""
    items = [read, Items("decoder_input_ids", "history")]
    return attribution_of(model, written.given, options, items, written.target.ids)


def _generated(model: Any, given: Mapping[str, Tensor], steps: int) -> Sequence[int]:
    """What the model writes by itself: the most probable token each time."""
    if not model.can_generate():
        raise InputError(
            f"{type(model).__name__} writes no text by itself; give what it should write as target."
        )
    placed = {name: value.to(model.device) for name, value in given.items()}
    ids = model.generate(**placed, max_new_tokens=steps, do_sample=False, num_beams=1)[0].tolist()
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


def _text_sites(written: Written, items: int) -> list[Site]:
    """The sites of a source of items in a row, those that were seen."""
    shape, found = (1, items), written.found
    sites = []
    if CROSS in found:
        sites.append(Site(CROSS, "target", "source", shape, found[CROSS]))
    if ENCODER in found:
        sites.append(Site(ENCODER, "source", "source", shape, found[ENCODER]))
    return sites + _history_site(written)


def _history_site(written: Written) -> list[Site]:
    if DECODER not in written.found:
        return []
    shape = (1, len(written.target.ids))
    return [Site(DECODER, "target", "history", shape, written.found[DECODER])]


def _fields(target: Tokens) -> tuple[Field, Field]:
    """The fields "target" and "history", what the decoder had been fed before each of its items."""
    field = target.named("target")
    anchors = np.vstack([[[0, 0]], field.anchors[:-1]])
    return field, Field("history", "text", field.raw, (START_LABEL, *field.labels[:-1]), anchors)
