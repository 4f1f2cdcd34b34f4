"""Vision-language models: every grid of cells matches its pixels, and can be shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import areaviz
from areaviz.draw.select import name_site
from areaviz.trace import file
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.views.grid import grid
from areaviz.views.views import VIEWS
from tests.adapters.architectures import Architecture
from tests.adapters.compared import changed_cell
from tests.adapters.vision_language import VISION_LANGUAGE, Painted
from tests.sampled import sampled

BY_NAME = {one.name: one for one in VISION_LANGUAGE}
# Models whose picture tokens mix all cells.
UNPLACED = {"Idefics2ForConditionalGeneration"}
PLACED = [name for name in BY_NAME if name not in UNPLACED]


def where(architecture: Architecture, trace: Trace, name: str) -> tuple[Painted, int]:
    """Return a patch to paint in the image of a grid, and the cell that shows it."""
    grids = [field for field in trace.fields if field.startswith("picture") and field != "pictures"]
    number = sorted(grids).index(name)
    attention = next(
        one
        for site, one in trace.maps.items()
        if one.memory == name and site.startswith("encoder-decoder") and not one.derived
    )
    rows, columns = attention.grid.height, attention.grid.width
    if "tiles" in architecture.variant and number == 1 and "Llava" in architecture.family:
        # Choose the last tile and the patch in row 1, column 2. Row 1 is the first row that cut
        # tiles keep.
        tiles, cut = (4, 0) if rows == 8 else (2, 1)
        row = 1 + (4 if tiles == 4 else 0) - cut
        return (tiles, 1, 2), row * columns + 4 + 2
    patch_rows, patch_columns = patches(architecture, number)
    row, column = patch_rows - 1, 1
    cell = (row * rows // patch_rows) * columns + column * columns // patch_columns
    return (number, row, column), cell


def patches(architecture: Architecture, number: int) -> tuple[int, int]:
    """Return how many rows and columns of patches an image of the input has."""
    given = architecture.make() if architecture.make else {}
    for name in ("image_grid_thw", "video_grid_thw"):
        if name in given:
            grids = given[name].tolist()
            return tuple(grids[min(number, len(grids) - 1)][1:])
    if "Llava" in architecture.family or "Mistral" in architecture.family:
        sizes = given.get("image_sizes")
        if sizes is not None and "tiles" not in architecture.variant:
            high, wide = sizes[number].tolist()
            return high // 8, wide // 8
    return 4, 4


def without_values(model: Any) -> Any:
    """Return the model with a vision tower whose patches do not attend to each other."""
    for name, part in model.named_modules():
        if "vision" not in name and "visual" not in name or not isinstance(part, nn.Linear):
            continue
        last = name.rpartition(".")[2]
        with torch.no_grad():
            if last in ("v_proj", "value"):
                part.weight.zero_()
                if part.bias is not None:
                    part.bias.zero_()
            if last == "qkv":
                third = part.weight.shape[0] // 3
                part.weight[-third:].zero_()
                if part.bias is not None:
                    part.bias[-third:].zero_()
    return model


@pytest.mark.parametrize("name", sampled(PLACED, *PLACED[::5]))
def test_every_grid_covers_its_pixels(name: str) -> None:
    """If a patch of an image is painted over, only the weights of its cell change."""
    architecture = BY_NAME[name]
    assert architecture.make is not None
    model = without_values(architecture.model())
    before = areaviz.attend(model, architecture.make(), area_size=1)
    looked = 0
    for site, attention in before.maps.items():
        is_look = site.startswith("encoder-decoder") and not attention.derived
        if not is_look or before.fields[attention.memory].kind != "picture":
            continue
        painted, cell = where(architecture, before, attention.memory)
        after = areaviz.attend(model, architecture.make(painted), area_size=1)
        weights = [np.asarray(one.maps[site].weights)[0][:, -1:] for one in (before, after)]
        assert changed_cell(*weights) == cell, site
        looked += 1
    assert looked >= 1


@pytest.mark.parametrize("variant", ["two pictures", "two frames"])
def test_traces_of_several_grids_are_stored_shown_and_exported(
    variant: str, tmp_path: Path
) -> None:
    """Files, links, views and pages have one field per picture."""
    architecture = BY_NAME[f"Qwen3VLForConditionalGeneration, {variant}"]
    assert architecture.make is not None
    trace = areaviz.attend(architecture.model(), architecture.make(), area_size=2)
    again = file.trace_from_bytes(file.trace_to_bytes(trace))
    for site in ("encoder-decoder picture 1", "encoder-decoder picture 2", "encoder-decoder"):
        focus = Focus(site, items=(0,))
        assert grid.fits_grid(again, focus) is (site != "encoder-decoder")
        fitting = [view for view in VIEWS.values() if view.fits(again, focus)]
        assert len(fitting) >= 3, site
        for view in fitting:
            view.table(again, focus)
        areaviz.export(again, tmp_path / "page.html", focus=focus)
    assert name_site(again, "encoder-decoder picture 2") == "Words to picture 2"
    boxes = [again.fields[name].anchors for name in ("picture 1", "picture 2")]
    apart = boxes[0][:, 2].max() <= boxes[1][:, 0].min()
    assert apart, "each picture has its own part of what is shown"
