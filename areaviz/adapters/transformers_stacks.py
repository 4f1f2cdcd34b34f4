"""A pass of a `transformers` model, and models of one stack or with object queries.

The pass comes first, and all models use it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from areaviz.adapters.heads import (
    CROSS,
    DECODER,
    ENCODER,
    Found,
    Heads,
    Site,
    SiteOf,
    is_causal,
    names_cross_attention,
)
from areaviz.adapters.loading import describe_reason
from areaviz.adapters.pictures import (
    Patches,
    Pixels,
    make_picture_run,
    make_picture_sites,
    patch_layout,
    prepare_pixels,
)
from areaviz.adapters.recording import RecordedRun, record_attention
from areaviz.adapters.run import (
    NOT_ALL_LAYERS,
    Attribution,
    Items,
    ModelRun,
    Options,
    check_size,
    compute_attribution,
    make_most_probable,
    make_output,
    predict_cells,
    predict_stack,
)
from areaviz.adapters.sound import keep_recording, predict_times, prepare_sound
from areaviz.adapters.texts import Texts, Tokens
from areaviz.trace.arrays import make_cell_field, make_text_field
from areaviz.trace.errors import InputError, InputErrorWithAdvice
from areaviz.trace.record import Field

# A pass of a `transformers` model, with checks of its inputs and with its layers filed by site.


_VISION = re.compile(r"(^|\.)(vision|visual|image_encoder|img_encoder)")
_TEXT_TOWER = re.compile(r"(^|\.)text_model\.")
# Modules between the vision tower and the language model, whose items are neither cells nor words.
_BETWEEN = re.compile(r"(^|\.)(qformer|perceiver|resampler|abstractor|image_to_text_projection)")
TEXT_TOWER = "text self"
_DECIDED_HERE = {"labels", "use_cache", "return_dict", "output_attentions", "output_hidden_states"}
_OTHER_INPUTS = ("input_features", "input_values", "pixel_values")


def watch_pass(
    model: Any,
    given: Mapping[str, Any],
    options: Options,
    needed: Sequence[str] = (),
    site_of: SiteOf | None = None,
    is_apart: Callable[[str], bool] | None = None,
) -> RecordedRun:
    """Run a model on named inputs, with and without recording.

    Args:
        model: Model to run.
        given: Its inputs. Inputs that it does not take are left out.
        options: Options with the parts to keep.
        needed: Sites that have to be seen.
        site_of: Returns the site of a layer. By default that of a model of stacks.
        is_apart: Returns whether a layer reads each of several pictures separately. None if no
            layer does.
    """
    placed = move_to_device(model, given)
    if "use_cache" in list_input_names(model) and not getattr(
        model.config, "is_encoder_decoder", False
    ):
        # This is the last pass, so a cache of keys and values would only take memory. Some
        # encoder-decoders, such as FSMT, run differently without a cache.
        placed["use_cache"] = False
    site_of = site_of or make_site_namer_of_stacks(model)
    wanted = replace(options.wanted(), is_apart=is_apart)
    seen = record_attention(model, lambda: model(**placed), site_of, wanted, needed)
    if options.on_seen is not None:
        options.on_seen(seen)
    return replace(seen, details={**seen.details, **_describe_other_layers(model, seen)})


def move_to_device(model: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs that a model takes, on its device and in its precision."""
    return move_to_model(model, choose_accepted_inputs(model, given))


def compute_attribution_of(
    model: Any,
    given: Mapping[str, Any],
    options: Options,
    items: Sequence[Items],
    chosen: Sequence[int] | None = None,
) -> Attribution:
    """Return the attribution of the outputs if it was requested, see `compute_attribution`."""
    if not options.attribution:
        return Attribution()

    def run(placed: Mapping[str, Any]) -> Tensor | None:
        logits = find_logits(model(**placed))
        if logits is None or logits.dim() not in (2, 3):
            return None
        return logits[0] if logits.dim() == 3 else logits

    try:
        return compute_attribution(model, run, move_to_device(model, given), items, chosen)
    except RuntimeError as error:
        # Some layers, such as quantised ones, do not support a backward pass.
        return Attribution(why=f"left out: the model gives no gradients ({describe_reason(error)})")


def move_to_model(model: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return inputs on the device of a model and in its floating-point type."""
    placed = dict(given)
    for name, value in given.items():
        if isinstance(value, Tensor):
            kind = model.dtype if value.is_floating_point() else value.dtype
            placed[name] = value.to(place_of(model), kind)
    return placed


def place_of(model: nn.Module) -> torch.device:
    """Return the device on which a model takes its inputs.

    The weights of an offloaded model are on another device until a layer runs. `accelerate` records
    the device on which the model runs.
    """
    for part in model.modules():
        device = getattr(getattr(part, "_hf_hook", None), "execution_device", None)
        if device is not None:
            return torch.device(device)
    found: torch.device = next((one.device for one in model.parameters()), torch.device("cpu"))
    return found


def _describe_other_layers(model: Any, seen: RecordedRun) -> dict[str, str]:
    """Return a detail with the number of shown layers, if some layers mix items without weights."""
    whole = predict_stack(model).layers
    if len(seen.names) != 1 or getattr(model.config, "is_encoder_decoder", False):
        return {}
    [(site, names)] = seen.names.items()
    if whole is None or len(names) >= whole:
        return {}
    numbers = [found[0] for name in names if (found := re.findall(r"\d+", name))]
    which = f" (layers {', '.join(str(int(one) + 1) for one in numbers)})" if numbers else ""
    return {NOT_ALL_LAYERS: f"{len(names)} of {whole} layers have weights of {site}{which}"}


def list_input_names(model: Any) -> Mapping[str, inspect.Parameter]:
    """Return the named inputs of a model."""
    return inspect.signature(model.forward).parameters


def choose_accepted_inputs(model: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs that a model takes, from inputs that a tokenizer returned.

    Options of the call are set elsewhere, and labels for a loss are left out.
    """
    taken = list_input_names(model)
    any_name = any(one.kind is one.VAR_KEYWORD for one in taken.values())
    kept = {}
    for name, value in given.items():
        if name in _DECIDED_HERE:
            continue
        if name in taken or (any_name and name not in ("token_type_ids",)):
            kept[name] = value
    return kept


def name_main_input(model: Any) -> str:
    """Return the name of a model's main input.

    Many models declare "input_ids" without taking it.
    """
    taken = list_input_names(model)
    for name in (model.main_input_name, "input_ids", *_OTHER_INPUTS):
        if name in taken:
            return str(name)
    return str(model.main_input_name)


def make_site_namer_of_stacks(model: Any, kept: Tensor | None = None) -> SiteOf:
    """Return a function that names sites, by the layer's name and by its place in the model.

    A layer of a model with one stack belongs to a decoder if no query attends to later items.

    Args:
        model: Model that is recorded.
        kept: bool [N], False where a token is padding, whose attention has no meaning.
    """
    pair = getattr(model.config, "is_encoder_decoder", False)
    encoder = model.get_encoder() if pair else None
    names = {module: name for name, module in model.named_modules()}
    prefix = names.get(encoder, "") if encoder is not None else ""

    def site(name: str, module: nn.Module, heads: Heads, said: str) -> str:
        if said:
            return said
        if prefix and (name == prefix or name.startswith(f"{prefix}.")):
            return ENCODER
        if prefix and is_in_tower(name):
            # The vision tower of an encoder of words and cells has items of its own.
            return ""
        if names_cross_attention(name.removeprefix(prefix)):
            return CROSS
        plain = without_padding(heads, kept)
        causal = is_causal(plain, bool(getattr(module, "is_causal", False)))
        return DECODER if prefix or causal else ENCODER

    return site


def make_site_namer_of_both(model: Any, kept: Tensor | None = None) -> SiteOf:
    """Return a function that names the sites of a model that reads words and pictures.

    The layers of the vision tower are "encoder self".

    Args:
        model: Model that is recorded.
        kept: bool [N], False where a token is padding.
    """
    towers = hasattr(model, "text_model") and hasattr(model, "vision_model")

    def site(name: str, module: nn.Module, heads: Heads, said: str) -> str:
        if _BETWEEN.search(name):
            return ""
        if _VISION.search(name):
            # The query of a pooling layer is a separate learned item.
            return ENCODER if heads.shape[1] == heads.shape[2] else ""
        if said:
            return said
        if towers and _TEXT_TOWER.search(f"{name}."):
            return TEXT_TOWER
        if names_cross_attention(name):
            return CROSS
        is_decoder = model.can_generate() or is_causal(without_padding(heads, kept))
        return DECODER if is_decoder else TEXT_TOWER

    return site


def without_padding(heads: Heads, kept: Tensor | None) -> Heads:
    """Return the heads without padding, for queries and items of one text.

    Args:
        heads: Heads of one layer.
        kept: bool [N], False where a token is padding. None without padding.
    """
    if kept is None or bool(kept.all()):
        return heads
    places = torch.nonzero(kept)[:, 0]
    _, queries, items = heads.shape
    whole = slice(None)
    return heads.select_items(
        places if queries == len(kept) else whole, places if items == len(kept) else whole
    )


def is_in_tower(name: str) -> bool:
    """Return whether a layer with this name reads pictures."""
    return bool(_VISION.search(name))


def has_resampler(model: nn.Module) -> bool:
    """Return whether a model has a module that mixes the cells of a picture into new items."""
    return any(_BETWEEN.search(name) for name, _ in model.named_modules())


def find_vision_part(model: Any) -> nn.Module | None:
    """Return the vision part of a model of words and pictures, or None."""
    parts = (part for name, part in model.named_modules() if _VISION.search(name))
    return next(parts, None)


def make_token_batch(tokens: Tokens | Sequence[int], model: Any) -> Tensor:
    """Return token ids as a batch of one on the model's device.

    Raises:
        InputError: The model has no position, or no embedding, for one of them.
    """
    ids = tokens.ids if isinstance(tokens, Tokens) else tokens
    longest = getattr(model.config, "max_position_embeddings", None)
    if isinstance(longest, int) and 0 < longest < len(ids):
        raise InputError(
            f"The input has {len(ids):,} tokens but the model takes at most {longest:,}."
            " Shorten it."
        )
    check_ids(model, ids)
    return torch.tensor([list(ids)], device=place_of(model))


def check_ids(model: Any, ids: Sequence[int]) -> None:
    """Check that a model has an embedding for every token id.

    Raises:
        InputError: An id is below 0 or above the last one.
    """
    try:
        size = getattr(model.get_input_embeddings(), "num_embeddings", None)
    except (NotImplementedError, AttributeError):
        size = None
    if size is not None and not 0 <= min(ids) <= max(ids) < size:
        raise InputError(
            f"Token ids must be between 0 and {size - 1}, but the input has {min(ids)} to"
            f" {max(ids)}. Give ids of this model, or its own tokenizer."
        )


def make_class_namer(model: Any) -> Callable[[int], str]:
    """Return a function that returns the name of a class."""
    names = getattr(model.config, "id2label", None) or {}
    return lambda index: str(names.get(index, index))


def find_logits(outputs: Any) -> Tensor | None:
    """Return the scores of classes or tokens, whatever their name in the model, or None."""
    for name in ("logits", "prediction_logits"):
        scores = outputs.get(name) if isinstance(outputs, Mapping) else None
        if isinstance(scores, Tensor):
            return scores
    return None


# `transformers` models of one stack: encoders such as BERT and ViT, decoders such as GPT-2.
#
# Shapes: N tokens, V vocabulary or classes.


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
    seen = watch_pass(model, given, options, site_of=make_site_namer_of_stacks(model, kept))
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
    seen = watch_pass(model, heard.given, options)
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
    seen = watch_pass(model, given, options)
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


# `transformers` models that detect objects in a picture: DETR and related models.
#
# A network turns the picture into a grid of cells, and an encoder attends within this grid. A fixed
# number of object queries attend to the grid and to each other.


# Possible heights and widths of a cell in pixels.
_STRIDES = (4, 8, 16, 32, 64)


def detect(model: Any, inputs: object, options: Options) -> ModelRun:
    """Run a model over a picture.

    The field "target" has the most probable class of each object query.

    Raises:
        InputError: The items do not form one grid over the picture.
    """
    shown = prepare_picture(model.config, inputs, options)
    seen = watch_pass(model, {"pixel_values": shown.values}, options, (CROSS, ENCODER))
    details, found = options.of_batch(seen.details, shown.batch), seen.found
    sizes = {heads.shape[-1] for site in (CROSS, ENCODER) for heads in found.get(site, ())}
    if len(sizes) != 1:
        return ModelRun([], [], details=details)
    cut = _lay_out_grid(shown.values, sizes.pop())
    sites, fields = [], [make_cell_field(shown.picture, cut.shape)]
    queries = 0
    for site, memory, shape in ((CROSS, "picture", cut.shape), (DECODER, "target", None)):
        if site in found:
            queries = found[site][0].shape[1]
            sites.append(Site(site, "target", memory, shape or (1, queries), found[site]))
    sites += make_picture_sites(found[ENCODER], cut) if ENCODER in found else []
    logits = find_logits(seen.outputs)
    if queries:
        fields.append(make_text_field("target", [f"query {one}" for one in range(1, queries + 1)]))
    output = None
    if logits is not None and logits.dim() == 3 and logits.shape[1] == queries:
        output = make_output(logits[0], logits[0].argmax(-1).tolist(), make_class_namer(model))
    return ModelRun(fields, sites, "", shown.picture, output, details)


def _lay_out_grid(values: Tensor, items: int) -> Patches:
    for stride in _STRIDES:
        rows, columns = (ceil(side / stride) for side in values.shape[-2:])
        if rows * columns == items:
            return Patches(rows, columns)
    raise InputErrorWithAdvice(
        f"The model has {items:,} items that do not form one grid over the picture, such as"
        " items of several scales",
        "arrays",
    )
