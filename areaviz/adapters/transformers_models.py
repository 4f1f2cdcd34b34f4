"""Models of the `transformers` library, and those of two stacks: Marian, T5, VisionEncoderDecoder.

Which way a model is run follows from what it takes and has.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from areaviz.adapters.attributed import Attributed, Items
from areaviz.adapters.calls import CROSS, DECODER, ENCODER, Found, some_items
from areaviz.adapters.changes import changing
from areaviz.adapters.model_run import ModelRun, Options, frozen, output_of, to_trace
from areaviz.adapters.pixels import is_picture, left_out, picture_fields, picture_sites
from areaviz.adapters.sinks import Site
from areaviz.adapters.sizes import cells_before, check_size
from areaviz.adapters.sound import sound, times_before
from areaviz.adapters.texts import Texts, Tokens
from areaviz.adapters.transformers_both import has_both, read_both
from areaviz.adapters.transformers_detect import detect
from areaviz.adapters.transformers_run import (
    accepted,
    attribution_of,
    logits_of,
    main_input,
    placed_for,
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
from areaviz.adapters.watching import Watched
from areaviz.trace.errors import Advised, InputError
from areaviz.trace.record import Field, Output, Trace

START_LABEL = "⟨start⟩"


def fits(model: nn.Module) -> bool:
    """Whether a model is one of `transformers`, which need not be imported for that."""
    return any(kind.__module__ == "transformers.modeling_utils" for kind in type(model).__mro__)


def attend(model: Any, inputs: object, options: Options) -> Trace:
    """See `areaviz.attend`."""
    with frozen(model), _changed(model, inputs, options):
        found = _reader(model, inputs)(model, inputs, options)
    return to_trace(found, model, options)


@contextmanager
def _changed(model: Any, inputs: object, options: Options) -> Iterator[None]:
    """Run the model under the changes that are asked for, if any."""
    if not options.changes:
        yield
        return
    seen: list[Watched] = []
    # Which layers there are shows in the first tokens.
    plain = replace(
        options, steps=2, changes=(), on_step=None, on_seen=seen.append, attribution=False
    )
    before = _reader(model, inputs)(model, inputs, plain)
    with changing(model, options.changes, before, seen[-1], options.target is not None):
        yield


def _reader(model: Any, inputs: object) -> Callable[[Any, Any, Options], ModelRun]:
    """How a model is run on these inputs.

    Raises:
        InputError: a model that reads texts alone is given a picture.
    """
    found = _reader_of(model, inputs)
    if found in (read_text, translate) and is_picture(inputs):
        raise InputError(
            f"{type(model).__name__} reads texts alone; give it a text, or the picture to a model"
            " that sees."
        )
    return found


def _reader_of(model: Any, inputs: object) -> Callable[[Any, Any, Options], ModelRun]:
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
    given = {"input_ids": ids_1N, "attention_mask": torch.ones_like(ids_1N), **source.more}
    written = _write(model, given, options, (1, len(source.ids)))
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
    written = _write(model, heard.given, options, times_before(model, heard))
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
    cells = cells_before(model.get_encoder(), seen.values)
    written = _write(model, {"pixel_values": seen.values}, options, cells)
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
    read = Items("pixel_values", "picture", cut.shape)
    attributed = _attributed(model, written, options, read)
    return ModelRun(fields, sites, "", seen.picture, written.output, details, attributed)


def continued(model: Any, text: str, options: Options) -> str:
    """What a decoder writes behind a text, under the changes of the options."""
    texts = Texts(options.tokenizer)
    tokens = texts.read(text)
    ids_1N = row(tokens, model)
    given = {"input_ids": ids_1N, "attention_mask": torch.ones_like(ids_1N)}
    with frozen(model), _changed(model, text, options):
        ids = generated(model, given, options)
    # Of the whole, as pieces alone may lose the blank before them.
    whole, before = (
        str(options.tokenizer.decode(list(some), skip_special_tokens=True))
        for some in (ids, tokens.ids)
    )
    return whole.removeprefix(before)


@dataclass(frozen=True, slots=True, eq=False)
class Written:
    """What an encoder-decoder wrote, or was given to write, and how."""

    target: Tokens
    output: Output | None
    found: Found
    details: dict[str, str]
    # What the model was given, the start of the target included.
    given: Mapping[str, Tensor]


def _write(
    model: Any, given: Mapping[str, Tensor], options: Options, source: tuple[int, int] | None
) -> Written:
    """The target, its probabilities and every site's heads, from one pass over the whole target.

    Args:
        model: an encoder-decoder.
        given: what it reads.
        options: how it is run.
        source: rows and columns of what it reads, where they are known before.
    """
    texts, given = Texts(options.tokenizer), accepted(model, given)
    check_size(model.get_encoder(), source, options, ENCODER)
    if options.target is None:
        target = texts.read(generated(model, given, options))
    else:
        target = texts.read(texts.target_ids(options.target))
    written = len(target.ids)
    check_size(model, (1, written), options, DECODER)
    check_size(model, source, options, CROSS, written)
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


def generated(model: Any, given: Mapping[str, Tensor], options: Options) -> Sequence[int]:
    """What the model writes by itself: the most probable token each time, or the best of a beam."""
    if not model.can_generate():
        raise Advised(f"{type(model).__name__} writes no text by itself", "target")
    placed = placed_for(model, given)
    more: dict[str, Any] = {}
    steps = min(options.steps, _places_left(model, given))
    if options.on_step is not None:
        more["stopping_criteria"] = [_report(options.on_step, steps)]
    ids = model.generate(
        **placed,
        max_new_tokens=steps,
        do_sample=False,
        num_beams=options.beams,
        **more,
    )[0].tolist()
    written: list[int] = ids
    if getattr(model.config, "is_encoder_decoder", False) and ids[:1] == [_start(model)]:
        written = ids[1:]
    if not written:
        raise Advised("The model wrote nothing", "target")
    return written


def _places_left(model: Any, given: Mapping[str, Tensor]) -> int:
    """How many tokens a model has places for, behind those that it begins with."""
    longest = getattr(model.config.get_text_config(decoder=True), "max_position_embeddings", None)
    if not isinstance(longest, int) or longest < 1:
        return sys.maxsize
    is_pair = getattr(model.config, "is_encoder_decoder", False)
    taken = 1 if is_pair or "input_ids" not in given else given["input_ids"].shape[1]
    if taken >= longest:
        raise InputError(
            f"The text has {taken:,} tokens, and the model has places for {longest:,} in all;"
            " shorten it."
        )
    return longest - taken


def _report(on_step: Callable[[int, int], None], most: int) -> Callable[..., Tensor]:
    """What `generate` calls after each token; it ends nothing."""

    def report(ids_BN: Tensor, _: Any, **more: Any) -> Tensor:
        on_step(min(ids_BN.shape[1], most), most)
        return torch.zeros(len(ids_BN), dtype=torch.bool, device=ids_BN.device)

    return report


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
