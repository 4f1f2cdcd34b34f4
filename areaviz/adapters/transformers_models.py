"""Runs of `transformers` models, including encoder-decoders such as Marian and T5.

The inputs and parts of a model determine how it is run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from areaviz.adapters.attention_recording import RecordedRun
from areaviz.adapters.call_records import CROSS, ENCODER, select_items
from areaviz.adapters.failures import Failed
from areaviz.adapters.gradient_attribution import Attribution, Items
from areaviz.adapters.interventions import apply_changes
from areaviz.adapters.model_run import ModelRun, Options, inference_mode, to_trace
from areaviz.adapters.peft_models import is_prefixed
from areaviz.adapters.pixels import (
    is_picture,
    make_picture_fields,
    make_picture_sites,
    warn_about_left_out,
)
from areaviz.adapters.run_size import predict_cells
from areaviz.adapters.scene_sites import make_grid_sites
from areaviz.adapters.sinks import Site
from areaviz.adapters.sound import keep_recording, predict_times, prepare_sound
from areaviz.adapters.texts import Texts
from areaviz.adapters.transformers_detect import detect
from areaviz.adapters.transformers_generation import (
    GeneratedText,
    generate_text,
    generate_tokens,
    make_history_site,
    make_target_fields,
    make_text_sites,
    make_time_sites,
)
from areaviz.adapters.transformers_multimodal import (
    PIXELS,
    find_layout,
    find_scene,
    has_both,
    prepare_inputs,
    read_both,
)
from areaviz.adapters.transformers_run import (
    compute_attribution_of,
    list_input_names,
    make_token_batch,
    name_main_input,
)
from areaviz.adapters.transformers_stacks import (
    lay_out_cells,
    prepare_picture,
    read_picture,
    read_sound,
    read_text,
)
from areaviz.trace.errors import InputError, InputErrorWithAdvice
from areaviz.trace.record import Trace

_TOGETHER = "Give it a text and a picture as a tuple, or what its processor returns for both"


def fits(model: nn.Module) -> bool:
    """Return whether a model belongs to `transformers`, without importing that library."""
    kinds = type(model).__mro__
    return is_prefixed(model) or any(
        kind.__module__ == "transformers.modeling_utils" for kind in kinds
    )


def attend(model: Any, inputs: object, options: Options) -> Trace:
    """Run a model and record it, see `areaviz.attend`."""
    read = _choose_reader(model, inputs)
    with inference_mode(model), _apply_changes(model, inputs, options):
        try:
            found = read(model, inputs, options)
        except Failed as failure:
            if _takes_pixels(model) and _takes_tokens(model) and not has_both(inputs):
                raise InputError(f"{failure.what}. {_TOGETHER}.") from failure
            raise
    return to_trace(found, model, options)


@contextmanager
def _apply_changes(model: Any, inputs: object, options: Options) -> Iterator[None]:
    """Run the model under the requested changes, if there are any."""
    if not options.changes:
        yield
        return
    seen: list[RecordedRun] = []
    # One step of writing is enough to identify the layers.
    plain = replace(
        options, steps=2, changes=(), on_step=None, on_seen=seen.append, attribution=False
    )
    before = _choose_reader(model, inputs)(model, inputs, plain)
    with apply_changes(model, options.changes, before, seen[-1], options.target is not None):
        yield


def _choose_reader(model: Any, inputs: object) -> Callable[[Any, Any, Options], ModelRun]:
    """Return the function that runs a model on these inputs.

    Raises:
        InputError: The model does not read the given picture or text.
    """
    name = type(model).__name__
    if is_prefixed(model) and getattr(model.config, "is_encoder_decoder", False):
        raise InputError(
            f"{name} puts virtual tokens in front of an encoder-decoder, which cannot be"
            " shown. Pass the model without them: get_base_model()."
        )
    if has_both(inputs) and not _takes_pixels(model):
        raise InputError(f"{name} reads no pictures. Leave the picture out.")
    if has_both(inputs) and not _takes_tokens(model):
        raise InputError(
            f"{name} reads only pictures. Leave the text out, or pass the text to write as target=."
        )
    found = _choose_reader_by_inputs(model, inputs)
    if found in (read_text, translate) and is_picture(inputs):
        if _takes_pixels(model):
            raise InputError(f"{name} reads a picture together with a text. {_TOGETHER}.")
        raise InputError(
            f"{name} reads only texts. Pass a text, or use a model that reads pictures."
        )
    return found


def _takes_pixels(model: Any) -> bool:
    """Return whether a model takes pixels."""
    return any(name in list_input_names(model) for name in PIXELS)


def _takes_tokens(model: Any) -> bool:
    """Return whether a model takes token ids."""
    return "input_ids" in list_input_names(model)


def _choose_reader_by_inputs(model: Any, inputs: object) -> Callable[[Any, Any, Options], ModelRun]:
    reads, is_pair = name_main_input(model), getattr(model.config, "is_encoder_decoder", False)
    if has_both(inputs):
        return describe if is_pair else read_both
    if is_pair:
        if reads == "pixel_values" and "decoder_input_ids" not in list_input_names(model):
            return detect
        return {"pixel_values": caption, "input_ids": translate}.get(reads, transcribe)
    if reads in ("input_values", "input_features"):
        return read_sound
    # A model of text and pictures may get only a text.
    reads_too = hasattr(model.config, "text_config") and not is_picture(inputs)
    return read_picture if reads == "pixel_values" and not reads_too else read_text


def translate(model: Any, inputs: object, options: Options) -> ModelRun:
    """Run an encoder-decoder over a text, with the given target or its own."""
    source = Texts(options.tokenizer, options.example, options.is_chosen).read(
        inputs, options.labels
    )
    ids_1N = make_token_batch(source, model)
    given = {"input_ids": ids_1N, "attention_mask": torch.ones_like(ids_1N), **source.more}
    written = generate_text(model, given, options, (1, len(source.ids)))
    shown = source.without_padding()
    field = shown.named("source")
    sites = make_text_sites(written, source)
    details = options.of_batch(written.details, source.batch)
    attributed = _attribute_output(model, written, options, Items("input_ids", "source"))
    return ModelRun(
        [field, *make_target_fields(written.target)],
        sites,
        field.raw,
        output=written.output,
        details=details,
        attributed=attributed.over("source", source.kept),
    )


def describe(model: Any, inputs: object, options: Options) -> ModelRun:
    """Run an encoder-decoder over a text and pictures, such as Florence-2.

    The encoder's items are the field "source" with picture tokens and words. The target's attention
    to each grid of cells is a separate site.
    """
    tokens, given = prepare_inputs(model, inputs, options)
    ids_1N = given["input_ids"]
    written = generate_text(
        model, {"attention_mask": torch.ones_like(ids_1N), **given}, options, None
    )
    across = written.found.get(CROSS) or written.found.get(ENCODER) or []
    if not across:
        return ModelRun([], [], details=written.details)
    if across[0].shape[-1] != len(tokens.ids):
        raise InputErrorWithAdvice(
            f"The encoder has {across[0].shape[-1]:,} items for {len(tokens.ids):,} tokens,"
            " so words and cells cannot be told apart",
            "arrays",
        )
    marks = find_layout(model, tokens, given)
    scene = find_scene(model, given, len(marks.pictures), 0)
    picture, boxes = scene.picture() if scene else (None, [])
    details = options.of_batch(written.details, tokens.batch)
    sites: list[Site] = []
    if CROSS in written.found and scene is not None and len(marks.pictures):
        every = torch.arange(len(written.target.ids))
        looks = [select_items(heads, every, marks.pictures) for heads in written.found[CROSS]]
        sites = make_grid_sites(CROSS, "target", looks, scene)
    sites += make_text_sites(written, tokens)
    source = tokens.without_padding().named("source")
    fields = [source, *make_target_fields(written.target)]
    if scene is not None:
        used = {site.memory for site in sites}
        fields += [one for name, one in scene.fields(boxes).items() if name in used]
    return ModelRun(fields, sites, source.raw, picture, written.output, details)


def transcribe(model: Any, inputs: object, options: Options) -> ModelRun:
    """Run an encoder-decoder over a recording. The items of the source are points in time."""
    heard = prepare_sound(
        name_main_input(model), inputs, options, getattr(model.config, "num_mel_bins", None)
    )
    written = generate_text(model, heard.given, options, predict_times(model, heard))
    layers = written.found.get(CROSS) or written.found.get(ENCODER) or []
    if not layers:
        return ModelRun([], [], details=written.details)
    source = heard.times(layers[0].shape[-1])
    found, padding = keep_recording(written.found, heard)
    sites = make_time_sites(replace(written, found=found), len(source))
    fields = [source, *make_target_fields(written.target)]
    details = {**written.details, **heard.details, **padding}
    return ModelRun(fields, sites, output=written.output, details=details)


def caption(model: Any, inputs: object, options: Options) -> ModelRun:
    """Run an encoder-decoder over a picture. Items that are not cells are left out."""
    config = model.encoder.config if hasattr(model, "encoder") else model.config
    seen = prepare_picture(config, inputs, options)
    cells = predict_cells(model.get_encoder(), seen.values)
    more = {}
    if isinstance(inputs, Mapping) and inputs.get("decoder_input_ids") is not None:
        more["decoder_input_ids"] = inputs["decoder_input_ids"]
    written = generate_text(model, {"pixel_values": seen.values, **more}, options, cells)
    across, within = (written.found.get(site, []) for site in (CROSS, ENCODER))
    if not across and not within:
        return ModelRun([], [], details=written.details)
    cut = lay_out_cells(config, seen, across or within)
    sites, details = [], options.of_batch(written.details, seen.batch)
    if across:
        every = [torch.arange(heads.shape[1]) for heads in across]
        looks = [select_items(heads, q, cut.cells) for heads, q in zip(across, every, strict=True)]
        sites.append(Site(CROSS, "target", "picture", cut.shape, looks))
    if {heads.shape[-1] for heads in within} == {len(cut.cells) + cut.extra}:
        sites += make_picture_sites(within, cut)
    elif within:
        details["encoder self"] = "not shown, as its layers have other items than its result"
        within = []
    fields = [*make_picture_fields(seen.picture, cut), *make_target_fields(written.target)]
    sites += make_history_site(written)
    details |= warn_about_left_out([*across, *within], cut)
    read = Items("pixel_values", "picture", cut.shape)
    attributed = _attribute_output(model, written, options, read)
    return ModelRun(fields, sites, "", seen.picture, written.output, details, attributed)


def continue_text(model: Any, text: str, options: Options) -> str:
    """Return a decoder's continuation of a text, under the changes of the options."""
    texts = Texts(options.tokenizer)
    tokens = texts.read(text)
    ids_1N = make_token_batch(tokens, model)
    given = {"input_ids": ids_1N, "attention_mask": torch.ones_like(ids_1N)}
    with inference_mode(model), _apply_changes(model, text, options):
        ids = generate_tokens(model, given, options)
    # All tokens are decoded together, because a single token may lose the space before it.
    whole, before = (
        str(options.tokenizer.decode(list(some), skip_special_tokens=True))
        for some in (ids, tokens.ids)
    )
    return whole.removeprefix(before)


def _attribute_output(
    model: Any, written: GeneratedText, options: Options, read: Items
) -> Attribution:
    """Return the attribution of the outputs to the input and to the earlier outputs."""
    items = [read, Items("decoder_input_ids", "history")]
    return compute_attribution_of(model, written.given, options, items, written.target.ids)
