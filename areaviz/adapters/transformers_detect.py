"""`transformers` models that detect objects in a picture: DETR and related models.

A network turns the picture into a grid of cells, and an encoder attends within this grid. A fixed
number of object queries attend to the grid and to each other.
"""

from __future__ import annotations

from math import ceil
from typing import Any

from torch import Tensor

from areaviz.adapters.call_records import CROSS, DECODER, ENCODER
from areaviz.adapters.model_run import ModelRun, Options, make_output
from areaviz.adapters.pixels import Patches, make_picture_sites
from areaviz.adapters.sinks import Site
from areaviz.adapters.transformers_run import find_logits, make_class_namer, watch
from areaviz.adapters.transformers_stacks import prepare_picture
from areaviz.trace.arrays import make_cell_field, make_text_field
from areaviz.trace.errors import InputErrorWithAdvice

# Possible heights and widths of a cell in pixels.
_STRIDES = (4, 8, 16, 32, 64)


def detect(model: Any, inputs: object, options: Options) -> ModelRun:
    """Run a model over a picture.

    The field "target" has the most probable class of each object query.

    Raises:
        InputError: The items do not form one grid over the picture.
    """
    shown = prepare_picture(model.config, inputs, options)
    seen = watch(model, {"pixel_values": shown.values}, options, (CROSS, ENCODER))
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
