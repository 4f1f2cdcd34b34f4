"""Vision transformers of the `timm` library.

The attention layers of `timm` have a fused implementation, which is recorded as a call of torch's
function, and a plain one. For layers with only the plain one, the input of their dropout is
recorded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from areaviz.adapters.attention_recording import record_attention
from areaviz.adapters.call_records import ENCODER, Probe, select_items
from areaviz.adapters.gradient_attribution import Items, compute_attribution
from areaviz.adapters.heads import Heads
from areaviz.adapters.model_run import CLASS_TOKEN, ModelRun, Options, inference_mode, to_trace
from areaviz.adapters.pixels import (
    MEAN,
    STD,
    Patches,
    make_picture_run,
    prepare_pixels,
    warn_about_left_out,
)
from areaviz.adapters.run_size import check_size, predict_cells
from areaviz.adapters.sinks import Site
from areaviz.trace.arrays import make_text_field
from areaviz.trace.errors import InputErrorWithAdvice
from areaviz.trace.record import Trace

# Site of a last layer whose queries are learned latents instead of a class token.
POOLING = "pooling"


def fits(model: nn.Module) -> bool:
    """Return whether a model belongs to `timm`, without importing that library."""
    return any(kind.__module__.startswith("timm.") for kind in type(model).__mro__)


def attend(model: Any, inputs: object, options: Options) -> Trace:
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
