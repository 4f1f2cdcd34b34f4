"""Pictures for external models, and the vision transformers of the `timm` library."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn

from areaviz.adapters.heads import ENCODER, Heads, Probe, Site, select_items
from areaviz.adapters.loading import describe_reason
from areaviz.adapters.recording import record_attention
from areaviz.adapters.run import (
    CLASS_TOKEN,
    Items,
    ModelRun,
    Options,
    check_size,
    compute_attribution,
    inference_mode,
    make_most_probable,
    predict_cells,
    to_trace,
)
from areaviz.trace.arrays import make_cell_field, make_text_field
from areaviz.trace.errors import InputError, InputErrorWithAdvice
from areaviz.trace.record import Field, Trace
from areaviz.trace.request import MAX_PICTURE_SIDE, Picture

# Pictures for external models: the pixel values, the displayed picture, and its cells.
#
# Shapes: C colours, H, W pixels, T queries, V classes.


MEAN = STD = (0.5, 0.5, 0.5)
# Sides of the squares of patches that multi-stage models merge into one item, in patches.
_MERGED = (2, 4, 8, 16, 32)
# Processor options that cut or pad a picture. The model then sees more or less than the picture.
_CUTS = ("do_center_crop", "do_pad", "do_thumbnail", "do_align_long_axis", "do_image_splitting")
# Maximum deviation of sums of weights from 1 that counts as rounding.
_ROUNDING = 0.02


@dataclass(frozen=True, slots=True, eq=False)
class Pixels:
    """A picture as the input of a model."""

    # Pixel values for the model, float [1, C, H, W].
    values: Tensor
    # The picture to show.
    picture: Picture
    # Number of examples in the batch that it comes from.
    batch: int = 1


@dataclass(frozen=True, slots=True)
class Patches:
    """The layout of a picture's items: `rows` x `columns` cells, and items that are not cells.

    `before` of the other items come before the cells, such as the class token and registers.
    `behind` of them come after the cells, such as the detections of YOLOS.
    """

    rows: int
    columns: int
    before: int = 0
    behind: int = 0

    @property
    def extra(self) -> int:
        """Number of items that are not cells."""
        return self.before + self.behind

    @property
    def cells(self) -> Tensor:
        """Indices of the cells among the items."""
        return torch.arange(self.rows * self.columns) + self.before

    @property
    def others(self) -> Tensor:
        """Indices of the items that are not cells."""
        count = self.before + self.rows * self.columns
        return torch.cat([torch.arange(self.before), torch.arange(self.behind) + count])

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the cells."""
        return self.rows, self.columns


def prepare_pixels(
    given: object,
    size: tuple[int, int],
    processor: Any = None,
    mean: Sequence[float] = MEAN,
    std: Sequence[float] = STD,
    example: int = 0,
) -> Pixels:
    """Return a picture, or pixel values, in the form that a model takes.

    The displayed picture is the given picture or, if a processor may have cut it, the processor's
    result.

    Args:
        given: `Picture`, PIL, uint8 [H, W, 3], or float [C, H, W], which is used unchanged.
        size: Height and width to which a picture is resized without a processor.
        processor: Processor of `transformers`, or None.
        mean: Mean of every colour, which is subtracted without a processor.
        std: Standard deviation of every colour, by which the difference is divided.
        example: Index of the example in a batch of pixel values.

    Raises:
        InputError: The input is neither a picture nor pixel values.
    """
    if isinstance(given, Mapping) and "pixel_values" in given:
        given = given["pixel_values"]
    if isinstance(given, Tensor) or (isinstance(given, np.ndarray) and given.dtype.kind == "f"):
        values = torch.as_tensor(given).float()
        values = values[None] if values.dim() == 3 else values
        count = len(values) if values.dim() == 4 else 0
        if not 0 <= example < max(count, 1) or not count or values.shape[1] not in (1, 3):
            raise InputError(
                f"The pixel values have the shape {tuple(values.shape)} but must be those of"
                " one picture, [colour, height, width], or of a batch with an example"
                f" {example}. Give one picture."
            )
        values = values[example : example + 1]
        return Pixels(values, make_picture_from_values(values[0]), count)
    image = _load_image(given)
    if processor is not None:
        made = run_processor(lambda: processor(images=image, return_tensors="pt"))
        read = run_processor(lambda: made["pixel_values"])
        values = torch.as_tensor(read).float()
        is_cut = any(getattr(processor, name, False) for name in _CUTS)
        is_whole = getattr(processor, "do_resize", False) and not is_cut
        return Pixels(values, _shrink(image) if is_whole else make_picture_from_values(values[0]))
    resized = image.resize(size[::-1], Image.Resampling.BILINEAR)
    scaled_HWC = np.asarray(resized, np.float32) / 255 - np.array(mean, np.float32)
    scaled_HWC /= np.array(std, np.float32)
    return Pixels(torch.from_numpy(scaled_HWC).permute(2, 0, 1)[None], _shrink(image))


def patch_layout(
    values: Tensor, patch: Any, items: int, behind: int = 0, registers: int = 0
) -> Patches:
    """Return the layout of a picture's items in a model.

    Args:
        values: Pixel values.
        patch: Side of a cell in pixels, or its height and width.
        items: Number of items that the model attends to.
        behind: Number of items that come after the cells.
        registers: Maximum number of items before the cells, not counting a class token and one
            more.

    Raises:
        InputError: There are fewer items than patches and no square of patches forms one item, or
            there are too many items before the cells.
    """
    high, wide = (patch, patch) if isinstance(patch, int) else tuple(patch)
    rows, columns = values.shape[-2] // high, values.shape[-1] // wide
    before = items - behind - rows * columns
    if rows * columns >= 1 and 0 <= before <= registers + 2:
        return Patches(rows, columns, before, behind)
    if before > 0:
        raise InputErrorWithAdvice(
            f"The model has {items:,} items for {rows} x {columns} patches, and its cells"
            " cannot be identified, for example in padded windows",
            "arrays",
        )
    for side in _MERGED:
        if (rows // side) * (columns // side) == items - behind:
            return Patches(rows // side, columns // side, 0, behind)
    raise InputErrorWithAdvice(
        f"The model has {items:,} items for {rows} x {columns} patches, so it merges cells and its"
        " items have no place in the picture",
        "arrays",
    )


def make_picture_fields(picture: Picture, cut: Patches) -> list[Field]:
    """Return the field of the cells and, if there are other items, the field of the other items."""
    if not cut.extra:
        return [make_cell_field(picture, cut.shape)]
    extras = [f"⟨extra {number}⟩" for number in range(1, cut.before)]
    found = [f"⟨detection {number}⟩" for number in range(1, cut.behind + 1)]
    labels = ["⟨class⟩", *extras][: cut.before] + found
    symbols = make_text_field(CLASS_TOKEN, labels)
    # These items have no text.
    unplaced = replace(symbols, raw="", anchors=np.zeros_like(symbols.anchors))
    return [make_cell_field(picture, cut.shape), unplaced]


def make_extra_items(name: str, count: int) -> Field:
    """Return the field of items that are not cells and have no text. A class token comes first."""
    labels = ["⟨class⟩", *(f"⟨extra {number}⟩" for number in range(1, count))]
    return replace(make_text_field(name, labels), raw="", anchors=np.zeros((count, 2), np.int64))


def make_picture_sites(layers: Sequence[Heads], cut: Patches) -> list[Site]:
    """Return the sites within a picture: from cells to cells, and from other items to cells."""
    inner = [select_items(heads, cut.cells, cut.cells) for heads in layers]
    sites = [Site("encoder self", "picture", "picture", cut.shape, inner)]
    if cut.extra:
        outer = [select_items(heads, cut.others, cut.cells) for heads in layers]
        sites.insert(0, Site(CLASS_TOKEN, CLASS_TOKEN, "picture", cut.shape, outer))
    return sites


def warn_about_left_out(layers: Sequence[Heads], cut: Patches) -> dict[str, str]:
    """Return a warning with the share of attention to items without a place in the picture."""
    return warn_about_left_out_items(layers, cut.cells, cut.extra)


def warn_about_left_out_items(layers: Sequence[Heads], cells: Tensor, extra: int) -> dict[str, str]:
    """Return a warning with the share of attention to items without a place in the picture.

    Args:
        layers: Heads of each layer over all items.
        cells: Indices of the items that have a place.
        extra: Number of items that are known to have none.
    """
    shares = []
    for heads in layers:
        weights = heads.weights
        # Items before the picture in a causal model cannot attend to it, so they are not counted.
        seen = weights.sum(-1) > 0
        if bool(seen.any()):
            shares.append(1 - float(weights[..., cells].sum(-1)[seen].mean()))
    share = float(np.mean(shares)) if shares else 0.0
    if not extra and share < _ROUNDING:
        return {}
    to = "the class token, which has" if extra == 1 else "items or to nothing, which have"
    return {
        "warning": (
            f"{share:.0%} of the attention goes to {to} no place in the picture. The weights"
            " shown are shares of the rest."
        )
    }


def make_picture_run(
    seen: Pixels,
    cut: Patches,
    layers: Sequence[Heads],
    logits: Tensor | None,
    label: Callable[[int], str],
    details: Mapping[str, str],
) -> ModelRun:
    """Return a run over one picture.

    The field "target" is the most probable class, if there are classes.

    Args:
        seen: The picture.
        cut: Layout of the items.
        layers: Heads of each layer.
        logits: Scores [T, V] if there are classes.
        label: Returns the name of a class.
        details: Details of the run.
    """
    fields, output = make_picture_fields(seen.picture, cut), None
    if logits is not None and logits.dim() == 2 and logits.shape[-1]:
        field, output = make_most_probable(logits, label)
        fields.append(field)
    sites = make_picture_sites(layers, cut)
    said = {**warn_about_left_out(layers, cut), **details}
    return ModelRun(fields, sites, "", seen.picture, output, said)


def is_picture(given: object) -> bool:
    """Return whether something is a picture or pixel values."""
    if isinstance(given, Tensor):
        return given.is_floating_point() and given.dim() >= 3
    if isinstance(given, np.ndarray):
        return given.ndim >= 3
    return isinstance(given, Picture | Image.Image)


def run_processor(run: Callable[[], Any]) -> Any:
    """Run a processor, and raise its exceptions as an InputError with one sentence.

    Raises:
        InputError: The processor fails.
    """
    try:
        return run()
    except Exception as error:
        # Processors fail in different ways.
        raise InputError(
            f"The processor cannot read this input ({describe_reason(error)}). Give the model's own"
            " processor, or what it returns."
        ) from error


def _load_image(given: object) -> Image.Image:
    if isinstance(given, np.ndarray | Image.Image) and 0 in (
        given.shape if isinstance(given, np.ndarray) else given.size
    ):
        raise InputError("The picture has no pixels. Give one of at least 1 x 1.")
    if isinstance(given, Picture):
        return Image.fromarray(given.pixels)
    if isinstance(given, Image.Image):
        return given.convert("RGB")
    if isinstance(given, np.ndarray) and given.dtype == np.uint8 and given.shape[2:] == (3,):
        return Image.fromarray(given)
    if isinstance(given, str | Path):
        raise InputError(
            "This model reads a picture but was given a text. Open the picture first, for"
            ' example with PIL.Image.open("dog.png").'
        )
    raise InputError(
        "The input must be a picture (height x width x 3 bytes) or pixel values. Give one of them."
    )


def make_picture_from_values(values_CHW: Tensor) -> Picture:
    """Return pixel values as a picture, with the smallest value black and the largest white."""
    low, high = values_CHW.min(), values_CHW.max()
    grey_CHW = (values_CHW - low) / (high - low).clamp_min(1e-6) * 255
    pixels_HWC = grey_CHW.expand(3, -1, -1).permute(1, 2, 0).byte().cpu().contiguous().numpy()
    return _shrink(Image.fromarray(pixels_HWC))


def _shrink(image: Image.Image) -> Picture:
    """Return a picture of at most 640 pixels per side."""
    image.thumbnail((MAX_PICTURE_SIDE, MAX_PICTURE_SIDE))
    return Picture.of("yours", np.asarray(image))


# Vision transformers of the `timm` library.
#
# The attention layers of `timm` have a fused implementation, which is recorded as a call of torch's
# function, and a plain one. For layers with only the plain one, the input of their dropout is
# recorded.


# Site of a last layer whose queries are learned latents instead of a class token.
POOLING = "pooling"


def fits_timm(model: nn.Module) -> bool:
    """Return whether a model belongs to `timm`, without importing that library."""
    return any(kind.__module__.startswith("timm.") for kind in type(model).__mro__)


def attend_timm(model: Any, inputs: object, options: Options) -> Trace:
    """Run a model and record it, see `areaviz.attend`.

    There is no processor: the model gives the size, mean and standard deviation.
    """
    grid = getattr(getattr(model, "patch_embed", None), "grid_size", None)
    if grid is None:
        raise InputErrorWithAdvice("This model does not cut the picture into cells", "probe")
    config = getattr(model, "pretrained_cfg", None) or {}
    mean, std = config.get("mean") or MEAN, config.get("std") or STD
    size = tuple(model.patch_embed.img_size)
    shown = prepare_pixels(inputs, size, mean=mean, std=std, example=options.example)
    check_size(model, predict_cells(model, shown.values), options, ENCODER)
    values = shown.values.to(next(model.parameters()))
    with inference_mode(model):
        seen = record_attention(
            model, lambda: model(values), _name_site, options.wanted(), probes=_make_probes(model)
        )
    details = options.of_batch(seen.details, shown.batch)
    layers, asks, pools = (seen.found.get(site, []) for site in (ENCODER, CLASS_TOKEN, POOLING))
    if not layers and not asks and not pools:
        return to_trace(ModelRun([], [], details=details), model, options)
    cut = _lay_out_patches(grid, asks or layers or pools)
    classes = seen.outputs if getattr(model, "num_classes", 0) else None
    classes = classes if isinstance(classes, torch.Tensor) else None
    within = [] if asks else layers
    run = make_picture_run(shown, cut, within, classes, "class {}".format, details)
    if asks:
        run = _with_class_layers(run, cut, layers, asks)
    if pools:
        run = _with_pooling(run, cut, pools)
    if options.attribution and classes is not None:
        items = [Items("x", "picture", cut.shape)]
        with inference_mode(model):
            found = compute_attribution(model, lambda given: model(**given), {"x": values}, items)
        run = replace(run, attributed=found)
    return to_trace(run, model, options)


def _with_class_layers(
    run: ModelRun, cut: Patches, layers: list[Heads], asks: list[Heads]
) -> ModelRun:
    """Return a run of a model whose last layers have only the class token as query, as in CaiT."""
    one = torch.arange(1)
    looks = [select_items(heads, one, cut.cells) for heads in asks]
    sites = [Site(CLASS_TOKEN, CLASS_TOKEN, "picture", cut.shape, looks)]
    if layers:
        # The cells attend to each other before the class token is added.
        sites.append(Site(ENCODER, "picture", "picture", cut.shape, layers))
    return replace(run, sites=sites, details={**warn_about_left_out(asks, cut), **run.details})


def _with_pooling(run: ModelRun, cut: Patches, pools: list[Heads]) -> ModelRun:
    """Return a run of a model whose last layer has learned latents as queries, as in SigLIP."""
    if {heads.shape[1:] for heads in pools} != {(pools[0].shape[1], len(cut.cells) + cut.extra)}:
        return replace(run, details={**run.details, POOLING: "not shown, as its items differ"})
    every = torch.arange(pools[0].shape[1])
    looks = [select_items(heads, every, cut.cells) for heads in pools]
    latents = make_text_field(
        POOLING, [f"⟨latent {number}⟩" for number in range(1, len(every) + 1)]
    )
    unplaced = replace(latents, raw="", anchors=latents.anchors * 0)
    site = Site(POOLING, POOLING, "picture", cut.shape, looks)
    return replace(run, sites=[*run.sites, site], fields=[*run.fields, unplaced])


def _name_site(name: str, module: nn.Module, heads: Heads, said: str) -> str:
    """Return the site of a layer, by whether its queries are cells, latents or a class token."""
    if "pool" in name:
        return POOLING
    return ENCODER if heads.shape[1] == heads.shape[2] else CLASS_TOKEN


def _make_probes(model: nn.Module) -> Mapping[nn.Module, Probe]:
    """Return probes for the layers that have only the plain implementation."""
    found: dict[nn.Module, Probe] = {}
    for module in model.modules():
        dropout = getattr(module, "attn_drop", None)
        if isinstance(dropout, nn.Module) and not hasattr(module, "fused_attn"):
            found[dropout] = _read_dropout_input
    return found


def _read_dropout_input(
    dropout: nn.Module, given: tuple[Any, ...], named: Mapping[str, Any], output: Any
) -> Heads:
    """Return the weights that enter a dropout layer."""
    [weights_BHQN] = given
    if len(weights_BHQN) != 1:
        raise InputErrorWithAdvice(
            "This model attends within windows, so its items have no one memory", "arrays"
        )
    return Heads(weights_BHQN[0])


def _lay_out_patches(grid: tuple[int, int], layers: list[Heads]) -> Patches:
    """Return the layout of the items in the picture.

    Raises:
        InputError: Layers have different items, so they cannot be shown together.
    """
    rows, columns = grid
    sizes = sorted({heads.shape[-1] for heads in layers})
    if len(sizes) > 1 or sizes[0] < rows * columns:
        counts = " and ".join(f"{size:,}" for size in sizes)
        raise InputErrorWithAdvice(
            f"Layers of this model have {counts} items for {rows} x {columns} patches, so their"
            " items are not the same cells",
            "layers",
            "arrays",
        )
    return Patches(rows, columns, sizes[0] - rows * columns)
