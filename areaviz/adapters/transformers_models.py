"""Runs of `transformers` models, with text that encoder-decoders generate.

The second section has the entry points for each kind of input.
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

from areaviz.adapters.heads import CROSS, DECODER, ENCODER, Found, Heads, Site, select_items
from areaviz.adapters.interventions import apply_changes
from areaviz.adapters.loading import Failed, is_prefixed, run_or_refuse
from areaviz.adapters.pictures import (
    is_picture,
    make_picture_fields,
    make_picture_sites,
    warn_about_left_out,
)
from areaviz.adapters.recording import RecordedRun
from areaviz.adapters.run import (
    Attribution,
    Items,
    ModelRun,
    Options,
    check_size,
    inference_mode,
    make_output,
    predict_cells,
    to_trace,
)
from areaviz.adapters.scenes import make_grid_sites
from areaviz.adapters.sound import keep_recording, predict_times, prepare_sound
from areaviz.adapters.texts import Texts, Tokens
from areaviz.adapters.transformers_stacks import (
    check_ids,
    choose_accepted_inputs,
    compute_attribution_of,
    detect,
    find_logits,
    lay_out_cells,
    list_input_names,
    make_token_batch,
    move_to_model,
    name_main_input,
    place_of,
    prepare_picture,
    read_picture,
    read_sound,
    read_text,
    watch_pass,
    without_padding,
)
from areaviz.adapters.vision_language import (
    PIXELS,
    find_layout,
    find_scene,
    has_both,
    prepare_inputs,
    read_both,
)
from areaviz.trace.errors import InputError, InputErrorWithAdvice
from areaviz.trace.record import Field, Output, Trace

# Generation of text by encoder-decoders, and the pass that shows the attention of the result.
#
# The target is given, or the model generates it by the method in its configuration.


START_LABEL = "⟨start⟩"
# Names of the number of a decoder's positions in configurations.
_PLACES = ("max_target_positions", "max_decoder_position_embeddings", "max_position_embeddings")


@dataclass(frozen=True, slots=True, eq=False)
class GeneratedText:
    """The text that an encoder-decoder wrote or was given, and the record of the pass over it."""

    target: Tokens
    output: Output | None
    found: Found
    details: dict[str, str]
    # Inputs of the model, including the start of the target.
    given: Mapping[str, Tensor]


def generate_text(
    model: Any, given: Mapping[str, Any], options: Options, source: tuple[int, int] | None
) -> GeneratedText:
    """Return the target, its probabilities and every site's heads, from one pass over the target.

    Args:
        model: An encoder-decoder.
        given: Its inputs. If they include `decoder_input_ids`, these are the target.
        options: Options of the run.
        source: Rows and columns of the input, if they are known before the run.
    """
    texts, given = Texts(options.tokenizer), choose_accepted_inputs(model, given)
    check_size(model.get_encoder(), source, options, ENCODER)
    fed = given.pop("decoder_input_ids", None)
    details = {"decoding": "given text"}
    if options.target is not None:
        target = texts.read(texts.target_ids(options.target), what="target")
    elif fed is not None:
        target = texts.read([*_read_fed_tokens(fed)[1:], _find_start_token(model)], what="target")
    else:
        target = texts.read(generate_tokens(model, given, options))
        details = _describe_decoding(model, options)
    written = len(target.ids)
    check_size(model, (1, written), options, DECODER)
    check_size(model, source, options, CROSS, written)
    start = (
        _find_start_token(model)
        if fed is None or options.target is not None
        else _read_fed_tokens(fed)[0]
    )
    check_ids(model, target.ids)
    row_1T = torch.tensor([[start, *target.ids[:-1]]], device=place_of(model))
    given = {**given, "decoder_input_ids": row_1T}
    seen = watch_pass(model, given, options, (CROSS, ENCODER, DECODER))
    logits = find_logits(seen.outputs)
    if fed is not None and options.target is None and logits is not None:
        # The prediction after the last given token is kept, because the model made it.
        target = texts.read([*target.ids[:-1], int(logits[0, -1].argmax())])
    output = None if logits is None else make_output(logits[0], target.ids, texts.label)
    return GeneratedText(target, output, seen.found, details | dict(seen.details), given)


def _read_fed_tokens(fed: Any) -> list[int]:
    """Return the decoder's tokens of one example."""
    tokens = torch.as_tensor(fed)
    if tokens.dim() != 2 or len(tokens) != 1 or not tokens.numel() or tokens.is_floating_point():
        raise InputError(
            f"decoder_input_ids have the shape {tuple(tokens.shape)} but must be [1, tokens]."
            " Give one example, or the text as target=."
        )
    found: list[int] = tokens[0].tolist()
    return found


def _count_beams(model: Any, options: Options) -> int:
    """Return the number of beams: from the options, otherwise from the configuration."""
    said = getattr(getattr(model, "generation_config", None), "num_beams", None)
    return options.beams or (said if isinstance(said, int) and said > 0 else 1)


def _describe_decoding(model: Any, options: Options) -> dict[str, str]:
    """Return a detail about the decoding method, if it is not plain greedy search."""
    if options.beams is not None:
        return {}
    beams = _count_beams(model, options)
    if beams > 1:
        return {"decoding": f"beam search with {beams} beams, as the model's configuration asks"}
    if getattr(getattr(model, "generation_config", None), "do_sample", False):
        return {"decoding": "greedy search, although the model's configuration asks for sampling"}
    return {}


def generate_tokens(model: Any, given: Mapping[str, Any], options: Options) -> Sequence[int]:
    """Return the tokens that a model writes without a given target and without sampling.

    Raises:
        InputError: The model writes no text, or fails on this input.
    """
    if not model.can_generate():
        raise InputErrorWithAdvice(f"{type(model).__name__} writes no text by itself", "target")
    placed = move_to_model(model, given)
    steps = min(options.steps, _count_places_left(model, given))
    more: dict[str, Any] = {}
    ended: list[Exception] = []
    if options.on_step is not None:
        more["stopping_criteria"] = [_make_reporter(options.on_step, steps, ended)]

    def run() -> Any:
        return model.generate(
            **placed,
            max_new_tokens=steps,
            do_sample=False,
            num_beams=_count_beams(model, options),
            num_return_sequences=1,
            return_dict_in_generate=False,
            **more,
        )

    try:
        ids: list[int] = run_or_refuse(model, run)[0].tolist()
    except Failed:
        if ended:
            # The callback `on_step` ended the run.
            raise ended[0] from None
        raise
    written = ids
    if getattr(model.config, "is_encoder_decoder", False) and ids[:1] == [_find_start_token(model)]:
        written = ids[1:]
    if not written:
        raise InputErrorWithAdvice("The model wrote nothing", "target")
    return written


def _count_places_left(model: Any, given: Mapping[str, Any]) -> int:
    """Return the number of positions that a model has left after its first tokens.

    InputError: No positions are left.
        InputError: There are none left.
    """
    config = model.config.get_text_config(decoder=True)
    sizes = [getattr(config, name, None) for name in _PLACES]
    longest = next((size for size in sizes if isinstance(size, int) and size > 0), None)
    if longest is None:
        return sys.maxsize
    is_pair = getattr(model.config, "is_encoder_decoder", False)
    taken = 1 if is_pair or "input_ids" not in given else given["input_ids"].shape[1]
    if taken >= longest:
        raise InputError(
            f"The text has {taken:,} tokens, and the model has places for {longest:,} in all."
            " Shorten it."
        )
    return longest - taken


def _make_reporter(
    on_step: Callable[[int, int], None], most: int, ended: list[Exception]
) -> Callable[..., Tensor]:
    """Return a callback that `generate` calls after each token.

    It never stops the run by its result.

    Args:
        on_step: Gets the number of tokens so far, and may raise to end the run.
        most: Maximum number of tokens.
        ended: Gets the exceptions of `on_step`.
    """

    def report(ids_BN: Tensor, _: Any, **more: Any) -> Tensor:
        try:
            on_step(min(ids_BN.shape[1], most), most)
        except Exception as error:
            ended.append(error)
            raise
        return torch.zeros(len(ids_BN), dtype=torch.bool, device=ids_BN.device)

    return report


def _find_start_token(model: Any) -> int:
    """Return the token with which a decoder starts.

    Raises:
        InputError: The configuration does not name this token.
    """
    config = model.config
    places = [getattr(model, "generation_config", None), config]
    places += [getattr(config, part, None) for part in ("decoder", "text_config")]
    for name in ("decoder_start_token_id", "bos_token_id"):
        for place in places:
            if (token := getattr(place, name, None)) is not None:
                return int(token)
    raise InputError(
        "The model's configuration has no decoder_start_token_id. Set it to the token with"
        " which a text begins."
    )


def make_text_sites(written: GeneratedText, source: Tokens) -> list[Site]:
    """Return the sites of a text that was read, without its padding.

    Args:
        written: The output for this source.
        source: The text.
    """
    places = torch.nonzero(source.kept)[:, 0]
    sites = []
    if CROSS in written.found:
        across = [_select_items(heads, None, places) for heads in written.found[CROSS]]
        sites.append(Site(CROSS, "target", "source", (1, len(places)), across))
    if ENCODER in written.found:
        within = [without_padding(heads, source.kept) for heads in written.found[ENCODER]]
        sites.append(Site(ENCODER, "source", "source", (1, len(places)), within))
    return sites + make_history_site(written)


def _select_items(heads: Heads, queries: Tensor | None, items: Tensor) -> Heads:
    """Return heads over some items, or unchanged if these are all items."""
    if queries is None and len(items) == heads.shape[2]:
        return heads
    return heads.select_items(slice(None) if queries is None else queries, items)


def make_time_sites(written: GeneratedText, items: int) -> list[Site]:
    """Return the sites of a source with `items` items in sequence, such as times of a recording."""
    sites = []
    if CROSS in written.found:
        sites.append(Site(CROSS, "target", "source", (1, items), written.found[CROSS]))
    if ENCODER in written.found:
        sites.append(Site(ENCODER, "source", "source", (1, items), written.found[ENCODER]))
    return sites + make_history_site(written)


def make_history_site(written: GeneratedText) -> list[Site]:
    """Return the site of the target's attention to the earlier output."""
    if DECODER not in written.found:
        return []
    shape = (1, len(written.target.ids))
    return [Site(DECODER, "target", "history", shape, written.found[DECODER])]


def make_target_fields(target: Tokens) -> tuple[Field, Field]:
    """Return the fields "target" and "history", which has the item fed before each target item."""
    field = target.named("target")
    anchors = np.vstack([[[0, 0]], field.anchors[:-1]])
    return field, Field("history", "text", field.raw, (START_LABEL, *field.labels[:-1]), anchors)


# Runs of `transformers` models, including encoder-decoders such as Marian and T5.
#
# The inputs and parts of a model determine how it is run.


_TOGETHER = "Give it a text and a picture as a tuple, or what its processor returns for both"


def fits_transformers(model: nn.Module) -> bool:
    """Return whether a model belongs to `transformers`, without importing that library."""
    kinds = type(model).__mro__
    return is_prefixed(model) or any(
        kind.__module__ == "transformers.modeling_utils" for kind in kinds
    )


def attend_transformers(model: Any, inputs: object, options: Options) -> Trace:
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
