"""`transformers` models of one stack: encoders such as BERT and ViT, decoders such as GPT-2.

Shapes: N tokens, V vocabulary or classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from areaviz.adapters.call_records import DECODER, ENCODER, Found
from areaviz.adapters.gradient_attribution import Items
from areaviz.adapters.heads import Heads
from areaviz.adapters.model_run import ModelRun, Options, make_most_probable, make_output
from areaviz.adapters.pixels import Patches, Pixels, make_picture_run, patch_layout, prepare_pixels
from areaviz.adapters.run_size import check_size, predict_cells
from areaviz.adapters.sinks import Site
from areaviz.adapters.sound import keep_recording, predict_times, prepare_sound
from areaviz.adapters.texts import Texts, Tokens
from areaviz.adapters.transformers_run import (
    compute_attribution_of,
    find_logits,
    list_input_names,
    make_class_namer,
    make_site_namer_of_stacks,
    make_token_batch,
    name_main_input,
    watch,
    without_padding,
)
from areaviz.trace.errors import InputError, InputErrorWithAdvice
from areaviz.trace.record import Field


def read_text(model: Any, inputs: object, options: Options) -> ModelRun:
    """Run an encoder or a decoder over one text.

    A text that attends to itself is the field "source" of an encoder and "history" of a decoder.
    The field "target" has the chosen class or an encoder's prediction at each place. For a decoder,
    it has the item after each item, and the most probable item at the end. Padding is not shown.
    Virtual tokens of a tuned prefix are only items of the memory.

    Raises:
        InputError: The input does not fit, or a target is given to a model that is not an
            encoder-decoder.
    """
    if options.target is not None:
        raise InputError(
            "Only an encoder-decoder takes a target. For a decoder, put the text to write"
            " after its input."
        )
    texts = Texts(options.tokenizer, options.example, options.is_chosen)
    tokens = texts.read(inputs, options.labels)
    kept, shown = tokens.kept, tokens.without_padding()
    ids_1N = make_token_batch(tokens, model)
    check_size(model, (1, len(tokens.ids)), options)
    given = {"input_ids": ids_1N, "attention_mask": torch.ones_like(ids_1N), **tokens.more}
    seen = watch(model, given, options, site_of=make_site_namer_of_stacks(model, kept))
    details = options.of_batch(seen.details, tokens.batch)
    prefix, found = _count_virtual_tokens(model, seen.found), {}
    for site, layers in seen.found.items():
        found[site] = [_select_text(heads, kept, prefix) for heads in layers]
    logits = find_logits(seen.outputs)
    if logits is not None and logits.dim() == 3 and logits.shape[1] >= len(kept):
        logits = logits[:, -len(kept) :][:, kept]
    if DECODER in found:
        run = make_decoder_run(shown, found[DECODER], logits, texts, details)
        field = "history"
    else:
        run = _make_encoder_run(model, shown.named("source"), found, logits, texts, details)
        field = "source"
    if prefix:
        return _add_prefix(run, prefix)
    has_next = DECODER in found and run.output is not None
    chosen = None
    if has_next and logits is not None:
        # Places of padding are removed.
        chosen = list(tokens.ids)
        for place, token in zip(
            torch.nonzero(kept)[:, 0].tolist(), list_next_tokens(shown, logits), strict=True
        ):
            chosen[place] = token
    items = [Items("input_ids", field)]
    attributed = compute_attribution_of(model, given, options, items, chosen)
    return replace(run, attributed=attributed.over(field, kept, outputs=True))


def _count_virtual_tokens(model: Any, found: Found) -> int:
    """Return the number of tokens that a tuned prefix or prompt puts before every text."""
    tuned = getattr(model, "active_peft_config", None)
    count = int(getattr(tuned, "num_virtual_tokens", 0) or 0)
    return count if any(found.values()) else 0


def _select_text(heads: Heads, kept: Tensor, prefix: int) -> Heads:
    """Return the attention of the text's own tokens to each other and to a prefix, if any.

    Args:
        heads: Heads of one layer.
        kept: bool [N], False where a token is padding.
        prefix: Number of virtual tokens before the text.
    """
    if not prefix:
        return without_padding(heads, kept)
    places = torch.nonzero(kept)[:, 0]
    ahead = heads.shape[1] - len(kept)
    items = torch.cat([torch.arange(prefix), places + prefix])
    return heads.select_items(places + ahead, items)


def _add_prefix(run: ModelRun, prefix: int) -> ModelRun:
    """Return a run whose text also attends to virtual tokens before it."""
    sites, fields = [], list(run.fields)
    for site in run.sites:
        text = next(field for field in run.fields if field.name == site.memory)
        name = f"prefix and {text.name}"
        labels = [f"⟨prefix {number}⟩" for number in range(1, prefix + 1)]
        anchors = np.vstack([np.zeros((prefix, 2), np.int64), text.anchors])
        memory = replace(text, name=name, labels=(*labels, *text.labels), anchors=anchors)
        if all(field.name != name for field in fields):
            fields.append(memory)
        sites.append(replace(site, memory=name, shape=(1, len(memory))))
    details = {**run.details, "prefix": f"{prefix} virtual tokens that were tuned stand in front"}
    return replace(run, fields=fields, sites=sites, details=details)


def read_sound(model: Any, inputs: object, options: Options) -> ModelRun:
    """Run an encoder over a recording. Its items are points in time.

    Raises:
        InputError: The input does not fit, or the model cuts the spectrum into patches.
    """
    if hasattr(model.config, "patch_size"):
        raise InputErrorWithAdvice(
            "This model cuts a spectrum into patches of times and frequencies, which have no one"
            " place in time",
            "arrays",
        )
    heard = prepare_sound(
        name_main_input(model), inputs, options, getattr(model.config, "num_mel_bins", None)
    )
    check_size(model, predict_times(model, heard), options, ENCODER)
    seen = watch(model, heard.given, options)
    layers = seen.found.get(ENCODER, [])
    if not layers:
        return ModelRun([], [], details=seen.details)
    found, padding = keep_recording(seen.found, heard)
    source = heard.times(layers[0].shape[-1])
    logits = find_logits(seen.outputs)
    if logits is not None and logits.dim() == 3:
        logits = logits[:, : len(source)]
    details = {**seen.details, **heard.details, **padding}
    return _make_encoder_run(model, source, found, logits, Texts(options.tokenizer), details)


def read_picture(model: Any, inputs: object, options: Options) -> ModelRun:
    """Run a model over one picture. The field "target" is the most probable class."""
    shown = prepare_picture(model.config, inputs, options)
    if getattr(model.config, "mask_ratio", 0):
        raise InputError(
            "This model sees only some patches of a picture, in a random order. Set its"
            " config.mask_ratio to 0."
        )
    check_size(model, predict_cells(model, shown.values), options, ENCODER)
    given = {"pixel_values": shown.values, **_make_ordered_noise(model, shown)}
    seen = watch(model, given, options)
    layers = seen.found.get(ENCODER, [])
    details = options.of_batch(seen.details, shown.batch)
    if not layers:
        return ModelRun([], [], details=details)
    cut = lay_out_cells(model.config, shown, layers)
    run = make_picture_run(
        shown, cut, layers, find_logits(seen.outputs), make_class_namer(model), details
    )
    items = [Items("pixel_values", "picture", cut.shape)]
    return replace(run, attributed=compute_attribution_of(model, given, options, items))


def _make_ordered_noise(model: Any, seen: Pixels) -> dict[str, Tensor]:
    """Return noise that keeps the patches in order, for models that shuffle patches by noise."""
    patch = getattr(model.config, "patch_size", None)
    if "noise" not in list_input_names(model) or not isinstance(patch, int):
        return {}
    count = (seen.values.shape[-2] // patch) * (seen.values.shape[-1] // patch)
    return {"noise": torch.arange(count)[None] / count}


def prepare_picture(config: Any, inputs: object, options: Options) -> Pixels:
    """Return the picture in the form that a model with this configuration takes."""
    side = getattr(config, "image_size", None) or 224
    size = (side, side) if isinstance(side, int) else tuple(side)
    return prepare_pixels(inputs, size[-2:], options.processor, example=options.example)


def lay_out_cells(config: Any, seen: Pixels, layers: Sequence[Heads]) -> Patches:
    """Return the layout of the items of a model with this configuration in the picture.

    Raises:
        InputError: The configuration has no patch size, or its layers have different items, so they
            have no common place.
    """
    patch = getattr(config, "patch_size", None)
    sizes = {heads.shape[-1] for heads in layers}
    if patch is None or len(sizes) != 1:
        counts = ", ".join(f"{size:,}" for size in sorted(sizes))
        raise InputErrorWithAdvice(
            f"This model does not cut the picture into cells once for all layers (they have"
            f" {counts} items)",
            "arrays",
        )
    behind = int(getattr(config, "num_detection_tokens", 0) or 0)
    registers = int(getattr(config, "num_register_tokens", 0) or 0)
    return patch_layout(seen.values, patch, layers[0].shape[-1], behind, registers)


def make_decoder_run(
    tokens: Tokens,
    layers: Sequence[Heads],
    logits: Tensor | None,
    texts: Texts,
    details: dict[str, str],
) -> ModelRun:
    """Return a run of a decoder over a text. The field "target" has the item after each item."""
    history, shape = tokens.named("history"), (1, len(tokens.ids))
    sites = [Site(DECODER, "history", "history", shape, layers)]
    if logits is None or logits.dim() != 3 or logits.shape[1] != len(tokens.ids):
        return ModelRun([history], sites, history.raw, details=details)
    said = list_next_tokens(tokens, logits)
    # The target has all items but the first, followed by one more item.
    label, added = texts.label(said[-1]), texts.behind(tokens.ids, said[-1])
    raw = history.raw + added
    start = len(raw) - len(added.lstrip())
    anchors = np.vstack([history.anchors[1:], [[start, len(raw)]]])
    target = Field("target", "text", raw, (*history.labels[1:], label), anchors)
    output = make_output(logits[0], said, texts.label)
    details = {"decoding": "given text", **details}
    return ModelRun([history, target], sites, history.raw, output=output, details=details)


def list_next_tokens(tokens: Tokens, logits: Tensor) -> list[int]:
    """Return the token after each token of a text. The last one gets the most probable token."""
    return [*tokens.ids[1:], int(logits[0, -1].argmax())]


def _make_encoder_run(
    model: Any,
    source: Field,
    found: Found,
    logits: Tensor | None,
    texts: Texts,
    details: Mapping[str, str],
) -> ModelRun:
    shape = (1, len(source))
    sites = [Site(site, "source", "source", shape, layers) for site, layers in found.items()]
    if logits is None or logits.dim() not in (2, 3):
        return ModelRun([source], sites, source.raw, details=details)
    logits_TV = logits[0] if logits.dim() == 3 else logits
    writes = logits_TV.shape[-1] == getattr(model.config, "vocab_size", None)
    field, output = make_most_probable(
        logits_TV, texts.label if writes else make_class_namer(model)
    )
    return ModelRun([source, field], sites, source.raw, output=output, details=details)
