"""`transformers` models of text and pictures, with two towers, one stream, or cross-attention.

Words attend to words ("decoder self", or "text self" if they see later words) and to picture tokens
("encoder-decoder"). With several pictures, tiles or frames, "encoder-decoder" covers all their
tokens, and each picture, tile or frame also has its own site. The layers of the vision tower are
"encoder self".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from areaviz.adapters.heads import CROSS, DECODER, ENCODER, Found, Heads, Site, select_items
from areaviz.adapters.pictures import is_picture, prepare_pixels, run_processor
from areaviz.adapters.run import ModelRun, Options, check_size, predict_cells
from areaviz.adapters.scenes import (
    Scene,
    VisionInput,
    look_sites,
    make_picture_tokens,
    make_scene,
    make_tower_sites,
)
from areaviz.adapters.texts import Texts, Tokens
from areaviz.adapters.transformers_stacks import (
    TEXT_TOWER,
    find_logits,
    find_vision_part,
    has_resampler,
    is_in_tower,
    make_decoder_run,
    make_site_namer_of_both,
    make_token_batch,
    watch_pass,
)
from areaviz.trace.errors import InputErrorWithAdvice
from areaviz.trace.request import Picture

PIXELS = ("pixel_values", "pixel_values_videos", "pixel_values_images")
_TEXT_INPUTS = ("input_ids", "attention_mask", "token_type_ids", "mm_token_type_ids")


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The places of words and of picture tokens among the items that a layer attends to.

    Padding belongs to neither of them.
    """

    words: Tensor
    # Tokens of pictures, followed by tokens of the frames of a clip.
    pictures: Tensor
    # Number of picture tokens that represent frames.
    frames: int = 0


def has_both(inputs: object) -> bool:
    """Return whether inputs are a text and a picture, or a mapping that has both."""
    if isinstance(inputs, Mapping):
        return "input_ids" in inputs and any(inputs.get(name) is not None for name in PIXELS)
    if not isinstance(inputs, tuple) or len(inputs) != 2:
        return False
    return is_picture(inputs[0]) != is_picture(inputs[1])


def read_both(model: Any, inputs: Any, options: Options) -> ModelRun:
    """Run a model over a text and pictures. In a decoder, the field "target" has the next words.

    Raises:
        InputError: The text has no placeholder for the picture, or the model has more items than
            words and picture tokens.
    """
    tokens, given = prepare_inputs(model, inputs, options)
    marks = find_layout(model, tokens, given)
    words = tokens.some(marks.words)
    check_size(model, (1, len(words.ids)), options)
    if (eye := find_vision_part(model)) is not None and isinstance(given.get(PIXELS[0]), Tensor):
        check_size(eye, predict_cells(eye, given[PIXELS[0]]), options, ENCODER)
    words_sites = f"{DECODER} or {TEXT_TOWER}"
    every = replace(options, sites=None)
    site_of = make_site_namer_of_both(model, tokens.kept)
    seen = watch_pass(model, given, every, (words_sites,), site_of, is_in_tower)
    layers = seen.found.get(DECODER) or seen.found.get(TEXT_TOWER) or []
    layout = _find_run_layout(layers, tokens, marks, DECODER in seen.found)
    details = options.of_batch(seen.details, tokens.batch)
    run = _make_text_run(words, layers, layout, seen, Texts(options.tokenizer), details)
    query = "history" if DECODER in seen.found else "source"
    looks, count, frames = _read_looks(seen.found, layers, layout)
    scene = find_scene(model, given, count, frames)
    picture, boxes = scene.picture() if scene else (_make_grey_picture(), [])
    fields = {field.name: field for field in run.fields}
    fields |= scene.fields(boxes) if scene else {}
    sites = [*run.sites, *look_sites(CROSS, query, looks, scene, details)]
    if looks:
        fields["pictures"] = make_picture_tokens(scene, count + frames)
    sites += make_tower_sites(seen.found, scene, model, fields, details)
    if looks and CROSS not in seen.found and layout is not None:
        details["picture"] = _describe_share(layers, layout)
    used = {name for site in sites for name in (site.query, site.memory)}
    kept = [field for name, field in fields.items() if name in used or name == "target"]
    details = {**run.details, **details}
    return ModelRun(kept or run.fields, sites, run.text, picture, run.output, details)


def prepare_inputs(model: Any, inputs: Any, options: Options) -> tuple[Tokens, dict[str, Any]]:
    """Return the tokens of the text, and all inputs of the model."""
    texts = Texts(options.tokenizer, options.example, options.is_chosen)
    if not isinstance(inputs, Mapping):
        text, picture = sorted(inputs, key=is_picture)
        if isinstance(text, str) and hasattr(options.processor, "tokenizer"):
            processor = options.processor
            inputs = run_processor(
                lambda: processor(text=text, images=picture, return_tensors="pt")
            )
            texts = Texts(options.tokenizer or options.processor.tokenizer)
        else:
            size = _get_vision_entry(model, "image_size", 224)
            sides = (size, size) if isinstance(size, int) else tuple(size)
            read = texts.read(text, options.labels)
            values = prepare_pixels(picture, sides[-2:], options.processor).values
            given = {"input_ids": make_token_batch(read, model), PIXELS[0]: values, **read.more}
            return read, given
    words = {name: value for name, value in inputs.items() if name in _TEXT_INPUTS}
    tokens = texts.read(words, options.labels)
    rest = {name: value for name, value in inputs.items() if name not in _TEXT_INPUTS}
    if tokens.batch > 1:
        rest = _select_example(model, inputs, rest, tokens.batch, options.example)
    return tokens, {"input_ids": make_token_batch(tokens, model), **rest, **tokens.more}


def _select_example(
    model: Any, inputs: Mapping[str, Any], rest: Mapping[str, Any], batch: int, example: int
) -> dict[str, Any]:
    """Return the inputs of one example, which may have several of a batch's pictures."""
    marks = torch.as_tensor(inputs["input_ids"]) == _find_mark_token(model, "image")
    counts, found = marks.sum(1).tolist(), {}
    grids = rest.get("image_grid_thw")
    values = rest.get(PIXELS[0])
    pictures = grids if grids is not None else values
    if pictures is None or len(pictures) == batch and grids is None:
        return {name: _take_part(value, example, example + 1) for name, value in rest.items()}
    if grids is not None:
        side = int(_get_vision_entry(model, "spatial_merge_size", 1))
        patches = torch.as_tensor(grids).prod(1)
        taken = (patches // side**2).tolist()
    else:
        taken = [sum(counts) // len(pictures)] * len(pictures)
    first = _index_at(taken, sum(counts[:example]))
    last = _index_at(taken, sum(counts[: example + 1]))
    for name, value in rest.items():
        if grids is not None and name == PIXELS[0]:
            before, behind = int(patches[:first].sum()), int(patches[:last].sum())
            found[name] = _take_part(value, before, behind)
        elif hasattr(value, "__len__") and len(value) == len(pictures):
            found[name] = _take_part(value, first, last)
        else:
            found[name] = _take_part(value, example, example + 1)
    return found


def _take_part(value: Any, first: int, last: int) -> Any:
    """Return a part of a batch. Values that are not a batch are returned unchanged."""
    is_batch = isinstance(value, Tensor | np.ndarray) and value.ndim > 0
    return value[first:last] if is_batch or isinstance(value, list) else value


def _index_at(taken: Sequence[int], tokens: int) -> int:
    """Return the number of pictures that have `tokens` tokens in total."""
    total = 0
    for index, count in enumerate(taken):
        if total >= tokens:
            return index
        total += count
    return len(taken)


def _get_vision_entry(model: Any, name: str, otherwise: Any) -> Any:
    """Return an entry of the vision part's configuration."""
    for config in (getattr(model.config, "vision_config", None), model.config):
        said = getattr(config, name, None)
        if said is not None:
            return said
    return otherwise


def _find_mark_token(model: Any, what: str) -> int:
    """Return the token that represents a part of an "image" or "video", or -1 if there is none."""
    for name in (f"{what}_token_id", f"{what}_token_index"):
        token = getattr(model.config, name, None)
        if isinstance(token, int):
            return token
    return -1


def find_layout(model: Any, tokens: Tokens, given: Mapping[str, Any]) -> Layout:
    """Return which tokens are words, and which represent pictures or frames.

    Raises:
        InputError: There are no words.
    """
    ids_N = torch.tensor(tokens.ids)
    is_image, is_frame = (ids_N == _find_mark_token(model, what) for what in ("image", "video"))
    said = given.get("image_embeds_position_mask")
    if said is not None:
        is_image = torch.as_tensor(said)[0].bool()
    if not any(given.get(name) is not None for name in PIXELS[1:]):
        is_frame = torch.zeros_like(is_frame)
    is_word = tokens.kept & ~is_image & ~is_frame
    if not bool(is_word.any()):
        raise InputErrorWithAdvice(
            "The text has no words besides the marks of its pictures", "input"
        )
    places = [torch.nonzero(one)[:, 0] for one in (is_word, is_image, is_frame)]
    return Layout(places[0], torch.cat(places[1:]), len(places[2]))


def _find_run_layout(
    layers: Sequence[Heads], tokens: Tokens, marks: Layout, decodes: bool
) -> Layout | None:
    """Return the places of words and picture tokens among the items of a layer.

    Raises:
        InputError: The number of items does not fit.
    """
    if not layers:
        return None
    count, items = len(tokens.ids), layers[0].shape[-1]
    if items == count:
        return marks
    if items < count or len(marks.pictures):
        raise InputErrorWithAdvice(
            f"The model has {items:,} items for {count:,} tokens, so words and cells cannot"
            " be told apart",
            "arrays",
        )
    # Decoders such as GIT read the picture first, encoders such as ViLT read it last.
    more = torch.arange(items - count)
    if decodes:
        return Layout(marks.words + len(more), more)
    return Layout(marks.words, more + count)


def _make_text_run(
    words: Tokens,
    layers: Sequence[Heads],
    layout: Layout | None,
    seen: Any,
    texts: Texts,
    details: dict[str, str],
) -> ModelRun:
    """Return a run with the words' attention to words."""
    if layout is None:
        return ModelRun([words.named("source")], [], words.field.raw)
    own = [select_items(heads, layout.words, layout.words) for heads in layers]
    if DECODER not in seen.found:
        site = Site(TEXT_TOWER, "source", "source", (1, len(words.ids)), own)
        return ModelRun([words.named("source")], [site], words.field.raw)
    logits = find_logits(seen.outputs)
    if logits is not None and logits.dim() == 3 and logits.shape[1] >= len(words.ids):
        whole = layers[0].shape[-1]
        # The item before a word predicts the word, and this item may belong to a picture.
        places = torch.cat([layout.words[1:] - 1, torch.tensor([whole - 1])]) - whole
        if int(places.min()) >= -logits.shape[1]:
            logits = logits[:, places]
    return make_decoder_run(words, own, logits, texts, {})


def _read_looks(
    found: Found, layers: Sequence[Heads], layout: Layout | None
) -> tuple[list[Heads], int, int]:
    """Return the words' attention to picture tokens, and the counts of picture and frame tokens."""
    if CROSS in found:
        words = torch.arange(found[CROSS][0].shape[1]) if layout is None else layout.words
        if int(words.max()) >= found[CROSS][0].shape[1]:
            words = torch.arange(found[CROSS][0].shape[1])
        items = torch.arange(found[CROSS][0].shape[2])
        return [select_items(heads, words, items) for heads in found[CROSS]], len(items), 0
    if layout is None or not len(layout.pictures):
        return [], 0, 0
    looks = [select_items(heads, layout.words, layout.pictures) for heads in layers]
    return looks, len(layout.pictures) - layout.frames, layout.frames


def find_scene(model: Any, given: Mapping[str, Any], count: int, frames: int) -> Scene | None:
    """Return what a model sees, or None if the places of its picture tokens are unknown."""
    known = VisionInput(model.config, given, count, frames)
    if has_resampler(model):
        # A resampler mixes all cells into new tokens, so none of these tokens has a place.
        known = replace(known, tokens=0, frames=0)
    try:
        scene = make_scene(known)
        return scene or (make_scene(replace(known, tokens=0, frames=0)) if count else None)
    except (ValueError, RuntimeError, IndexError, TypeError, ZeroDivisionError):
        # The model accepted the input, but no known layout fits it.
        return None


def _describe_share(layers: Sequence[Heads], layout: Layout) -> str:
    """Return the pictures' share of the words' attention, as a sentence."""
    shares = []
    for heads in layers:
        shares.append(float(heads.weights[:, layout.words][..., layout.pictures].sum(-1).mean()))
    return (
        f"{np.mean(shares):.0%} of the words' attention goes to the picture. Its weights are shares"
        " of this part, and the weights among words are shares of the rest"
    )


def _make_grey_picture() -> Picture:
    """Return a grey picture, for models whose pixels cannot be shown."""
    return Picture.of("grey", np.full((32, 32, 3), 128, np.uint8))
