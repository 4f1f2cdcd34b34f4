"""`transformers` models that read a text and a picture: two towers, one stream, or cross attention.

Words attend to words ("decoder self", or "text self" where they see what follows) and to cells of
the picture ("encoder-decoder"); the picture's own layers are "encoder self".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Any

import numpy as np
import torch
from torch import Tensor

from areaviz.adapters.calls import CROSS, DECODER, ENCODER, Found, some_items
from areaviz.adapters.heads import Heads
from areaviz.adapters.model_run import ModelRun, Options
from areaviz.adapters.pixels import (
    Patches,
    is_picture,
    left_out,
    patches,
    picture_fields,
    picture_sites,
    pixels,
    shown,
)
from areaviz.adapters.sinks import Site
from areaviz.adapters.sizes import cells_before, check_size
from areaviz.adapters.texts import Texts, Tokens
from areaviz.adapters.transformers_run import (
    TEXT_TOWER,
    logits_of,
    row,
    sees,
    sites_of_both,
    watch,
)
from areaviz.adapters.transformers_stacks import decoder_run
from areaviz.trace.errors import Advised, InputError
from areaviz.trace.picture import Picture
from areaviz.trace.record import Field

_PIXELS = "pixel_values"


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Where words and cells stand among the items that a layer attends to."""

    words: Tensor
    cells: Tensor


def has_both(inputs: object) -> bool:
    """Whether inputs are a text and a picture, in either order, or a mapping that has both."""
    if isinstance(inputs, Mapping):
        return "input_ids" in inputs and _PIXELS in inputs
    if not isinstance(inputs, tuple) or len(inputs) != 2:
        return False
    return is_picture(inputs[0]) != is_picture(inputs[1])


def read_both(model: Any, inputs: Any, options: Options) -> ModelRun:
    """A run over a text and a picture; of a decoder "target" is what follows each word.

    Raises:
        InputError: the text has no place for the picture, or the model has more items than words
            and cells explain.
    """
    tokens, given = _inputs(model, inputs, options)
    marks = _marks(model, tokens)
    words = _words(tokens, ~marks)
    check_size(model, (1, len(words.ids)), options)
    if (eye := sees(model)) is not None:
        check_size(eye, cells_before(eye, given[_PIXELS]), options, ENCODER)
    words_sites = f"{DECODER} or {TEXT_TOWER}"
    seen = watch(model, given, options, (words_sites,), sites_of_both(model))
    layers = seen.found.get(DECODER) or seen.found.get(TEXT_TOWER) or []
    layout = _layout(layers, tokens, marks, DECODER in seen.found)
    details = options.of_batch(seen.details, tokens.batch)
    parts = [_own_layers(seen.found.get(ENCODER, []), model, given, details)]
    parts.append(_looks(seen.found, layers, layout, model, given, details))
    run = _text_run(model, words, layers, layout, seen, Texts(options.tokenizer), details)
    picture = _picture(inputs, given, next((cut for _, cut in parts if cut), None))
    sites, fields = list(run.sites), {field.name: field for field in run.fields}
    for found, cut in parts:
        sites += found
        if cut is not None and found:
            fields |= {field.name: field for field in _named_cells(picture, cut, fields)}
    return ModelRun(
        list(fields.values()), sites, run.text, picture, run.output, {**run.details, **details}
    )


def _named_cells(picture: Picture, cut: Patches, fields: Mapping[str, Field]) -> list[Field]:
    return [field for field in picture_fields(picture, cut) if field.name not in fields]


def _inputs(model: Any, inputs: Any, options: Options) -> tuple[Tokens, dict[str, Any]]:
    """The words, and all that the model is given."""
    texts = Texts(options.tokenizer, options.example)
    if not isinstance(inputs, Mapping):
        text, picture = sorted(inputs, key=is_picture)
        if isinstance(text, str) and hasattr(options.processor, "tokenizer"):
            inputs = options.processor(text=text, images=picture, return_tensors="pt")
            texts = Texts(options.tokenizer or options.processor.tokenizer)
        else:
            size = _vision(model, "image_size", 224)
            sides = (size, size) if isinstance(size, int) else tuple(size)
            read = texts.read(text, options.labels)
            values = pixels(picture, sides[-2:], options.processor).values
            given = {"input_ids": row(read, model), _PIXELS: values, **read.more}
            return read, given
    words = {name: value for name, value in inputs.items() if name in _TEXT_INPUTS}
    tokens = texts.read(words, options.labels)
    rest = {name: value for name, value in inputs.items() if name not in _TEXT_INPUTS}
    if tokens.batch > 1:
        one = slice(options.example, options.example + 1)
        rest = {name: value[one] for name, value in rest.items()}
    return tokens, {"input_ids": row(tokens, model), **rest, **tokens.more}


_TEXT_INPUTS = ("input_ids", "attention_mask", "token_type_ids", "mm_token_type_ids")


def _vision(model: Any, name: str, otherwise: Any) -> Any:
    """What the configuration of the part that sees says."""
    for config in (getattr(model.config, "vision_config", None), model.config):
        said = getattr(config, name, None)
        if said is not None:
            return said
    return otherwise


def _marks(model: Any, tokens: Tokens) -> Tensor:
    """Which of the tokens stand for items of the picture: bool [N]."""
    mark = None
    for name in ("image_token_id", "image_token_index"):
        mark = getattr(model.config, name, None) if mark is None else mark
    return torch.tensor([token == mark for token in tokens.ids])


def _words(tokens: Tokens, kept: Tensor) -> Tokens:
    """The tokens that are words."""
    if bool(kept.all()):
        return tokens
    chosen = torch.nonzero(kept)[:, 0].tolist()
    field = tokens.field
    labels = tuple(field.labels[index] for index in chosen)
    words = Field("text", "text", field.raw, labels, field.anchors[np.array(chosen, np.int64)])
    return Tokens(tuple(tokens.ids[index] for index in chosen), words, batch=tokens.batch)


def _layout(layers: Sequence[Heads], tokens: Tokens, marks: Tensor, decodes: bool) -> Layout | None:
    """Where words and cells stand: by their marks, else the picture is in front or behind."""
    if not layers:
        return None
    count, items = len(tokens.ids), layers[0].shape[-1]
    if items == count:
        return Layout(torch.nonzero(~marks)[:, 0], torch.nonzero(marks)[:, 0])
    if items < count or bool(marks.any()):
        raise Advised(
            f"The model has {items:,} items for {count:,} tokens, so it is not known which are"
            " words and which are cells",
            "arrays",
        )
    # Decoders such as GIT read the picture first, encoders such as ViLT last.
    first, more = torch.arange(count), torch.arange(items - count)
    return Layout(first + len(more), more) if decodes else Layout(first, more + count)


def _text_run(
    model: Any,
    words: Tokens,
    layers: Sequence[Heads],
    layout: Layout | None,
    seen: Any,
    texts: Texts,
    details: dict[str, str],
) -> ModelRun:
    """The words' attention to words."""
    if layout is None:
        return ModelRun([words.named("source")], [], words.field.raw)
    own = [some_items(heads, layout.words, layout.words) for heads in layers]
    if DECODER not in seen.found:
        site = Site(TEXT_TOWER, "source", "source", (1, len(words.ids)), own)
        return ModelRun([words.named("source")], [site], words.field.raw)
    logits = logits_of(seen.outputs)
    if logits is not None and logits.dim() == 3 and logits.shape[1] > len(words.ids):
        whole = layers[0].shape[-1]
        places = layout.words if logits.shape[1] == whole else layout.words - whole
        logits = logits[:, places]
    return decoder_run(words, own, logits, texts, {})


def _looks(
    found: Found,
    layers: Sequence[Heads],
    layout: Layout | None,
    model: Any,
    given: Mapping[str, Any],
    details: dict[str, str],
) -> tuple[list[Site], Patches | None]:
    """The words' attention to the cells, by cross attention or among all items."""
    query = "history" if DECODER in found else "source"
    if CROSS in found:
        looks = found[CROSS]
        cut = _cut(model, given, looks[0].shape[-1])
        if cut is None:
            details["words to picture"] = _UNPLACED
            return [], None
        every = torch.arange(looks[0].shape[1])
        details |= left_out(looks, cut)
        seen = [some_items(heads, every, cut.cells) for heads in looks]
        return [Site(CROSS, query, "picture", cut.shape, seen)], cut
    if layout is None or not len(layout.cells):
        return [], None
    cut = _cut(model, given, len(layout.cells))
    if cut is None:
        details["words to picture"] = _UNPLACED
        return [], None
    cells = layout.cells[cut.cells]
    share = np.mean([float(_share(heads, layout.words, cells)) for heads in layers])
    details["picture"] = (
        f"{share:.0%} of the words' attention goes to the picture; the weights shown are shares of"
        " that, and those among words of the rest"
    )
    seen = [some_items(heads, layout.words, cells) for heads in layers]
    return [Site(CROSS, query, "picture", cut.shape, seen)], cut


_UNPLACED = "not shown, as its items have no known place in the picture"


def _share(heads: Heads, queries: Tensor, memory: Tensor) -> Tensor:
    return heads.weights[:, queries][..., memory].sum(-1).mean()


def _own_layers(
    layers: Sequence[Heads], model: Any, given: Mapping[str, Any], details: dict[str, str]
) -> tuple[list[Site], Patches | None]:
    """The picture's attention to itself, where its items are cells of one grid in every layer."""
    sizes = {heads.shape[1:] for heads in layers}
    if len(sizes) != 1:
        return [], None
    [(queries, items)] = sizes
    cut = _cut(model, given, items, merged=False) if queries == items else None
    if cut is None:
        details["encoder self"] = _UNPLACED
        return [], None
    details |= left_out(layers, cut)
    return picture_sites(layers, cut), cut


def _cut(model: Any, given: Mapping[str, Any], items: int, merged: bool = True) -> Patches | None:
    """How so many items lie in the picture, or None where that is not known."""
    grid = given.get("image_grid_thw")
    if grid is not None:
        [(times, rows, columns), *more] = torch.as_tensor(grid).tolist()
        side = int(_vision(model, "spatial_merge_size", 1)) if merged else 1
        placed = Patches(rows // side, columns // side)
        # Unmerged, the patches of Qwen's models stand in the order in which they are merged.
        known = merged or _vision(model, "spatial_merge_size", 1) == 1
        return placed if known and times == 1 and not more and len(placed.cells) == items else None
    values, patch = given[_PIXELS], _vision(model, "patch_size", None)
    while values.dim() > 4 and values.shape[1] == 1:
        values = values[:, 0]
    if patch is None or values.dim() != 4 or len(values) != 1:
        return None
    try:
        cut = patches(values, patch, items)
    except InputError:
        return None
    square = isqrt(items)
    return cut if cut.before < max(9, square) else None


def _picture(inputs: Any, given: Mapping[str, Any], cut: Patches | None) -> Picture:
    """What is shown: the pixels that the model was given, or grey where these are no picture."""
    values = given[_PIXELS]
    while values.dim() > 4 and values.shape[1] == 1:
        values = values[:, 0]
    if values.dim() == 4 and values.shape[1] in (1, 3):
        return shown(torch.as_tensor(values[0]).float())
    rows, columns = (cut.rows, cut.columns) if cut else (1, 1)
    side = max(1, 320 // max(rows, columns))
    return Picture.of("grey", np.full((rows * side, columns * side, 3), 128, np.uint8))
