"""Sites of a vision-language model: attention to pictures, and the layers of its tower."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from areaviz.adapters.call_records import ENCODER, Found, name_picture_site, select_items
from areaviz.adapters.heads import Heads
from areaviz.adapters.model_run import CLASS_TOKEN
from areaviz.adapters.pixels import make_extra_items, warn_about_left_out_items
from areaviz.adapters.scenes import Grid, Scene
from areaviz.adapters.sinks import Site
from areaviz.adapters.vision_input import find_tower_cells
from areaviz.trace.record import Field


def look_sites(
    site: str, query: str, looks: Sequence[Heads], scene: Scene | None, details: dict[str, str]
) -> list[Site]:
    """Return the sites of attention to picture tokens: to all tokens, and to each of several grids.

    Args:
        site: Name of the first site.
        query: Field that attends.
        looks: Heads of each layer over all picture tokens.
        scene: What the model sees, if known.
        details: Gets a sentence if the tokens have no known place.
    """
    if not looks:
        return []
    items = looks[0].shape[2]
    if scene is None or not scene.words:
        details[f"{site} places"] = _UNPLACED
        return [Site(site, query, "pictures", (1, items), looks)]
    cut = make_grid_sites(site, query, looks, scene)
    if len(cut) == 1:
        details |= warn_about_left_out_items(looks, scene.words[0].order, 0)
        return [replace(cut[0], name=site)]
    details["pictures"] = f"{len(cut)} pictures, tiles or frames, each with a site of its own"
    return [*cut, Site(site, query, "pictures", (1, items), looks)]


def make_grid_sites(site: str, query: str, looks: Sequence[Heads], scene: Scene) -> list[Site]:
    """Return a site for each grid of cells, such as "encoder-decoder picture 2".

    Args:
        site: Start of the sites' names.
        query: Field that attends.
        looks: Heads of each layer over all picture tokens.
        scene: What the model sees.
    """
    every, sites = torch.arange(looks[0].shape[1]), []
    for grid, name in zip(scene.words, scene.list_word_names(), strict=True):
        over = [select_items(heads, every, grid.order) for heads in looks]
        sites.append(Site(f"{site} {name}", query, name, grid.shape, over))
    return sites


_UNPLACED = "its picture tokens are shown in a row, as they have no known place in the picture"


def make_tower_sites(
    found: Found,
    scene: Scene | None,
    model: Any,
    fields: dict[str, Field],
    details: dict[str, str],
) -> list[Site]:
    """Return the sites of the pictures' self-attention, if the items are cells with known places.

    Args:
        found: Recorded heads by site.
        scene: What the model sees.
        model: Model with the tower.
        fields: Gets the fields of items that are not cells.
        details: Gets a sentence if some layers or items are not shown.
    """
    if not any(name == ENCODER or name.startswith(f"{ENCODER} ") for name in found):
        return []
    sites: list[Site] = []
    config = getattr(model.config, "vision_config", model.config)
    names = scene.list_tower_names() if scene else []
    for grid, name in zip(scene.tower, names, strict=True) if scene else ():
        layers = found.get(name_picture_site(ENCODER, grid.unit), [])
        together = [one for one in scene.tower if one.unit == grid.unit] if scene else []
        placed = [(one, find_tower_cells(grid, together, one.shape[-1], config)) for one in layers]
        kept = [(one, cells) for one, cells in placed if cells is not None]
        if not kept or len({one.shape for one, _ in kept}) > 1:
            continue
        number = f" {name}" if len(scene.tower if scene else ()) > 1 else ""
        sites += _make_tower_site(grid, name, number, kept, fields, len(together) == 1)
        if len(kept) < len(layers):
            details["encoder self"] = f"{len(kept)} of {len(layers)} layers attend to all cells"
        if len(together) == 1:
            extra = kept[0][0].shape[-1] - len(kept[0][1])
            details |= warn_about_left_out_items([one for one, _ in kept], kept[0][1], extra)
    if not sites:
        details["encoder self"] = "not shown, as its items have no known place in the picture"
    return sites


def _make_tower_site(
    grid: Grid,
    name: str,
    number: str,
    kept: Sequence[tuple[Heads, Tensor]],
    fields: dict[str, Field],
    is_alone: bool,
) -> list[Site]:
    """Return the sites from a picture's cells and from its other items to the cells."""
    sites = []
    cells, items = kept[0][1], kept[0][0].shape[-1]
    others = torch.tensor(sorted(set(range(items)) - set(cells.tolist())), dtype=torch.int64)
    if is_alone and len(others):
        extra = f"{CLASS_TOKEN}{number}"
        fields[extra] = make_extra_items(extra, len(others))
        looks = [select_items(heads, others, cells) for heads, _ in kept]
        sites.append(Site(extra, extra, name, grid.shape, looks))
    inner = [select_items(heads, cells, cells) for heads, _ in kept]
    return [*sites, Site(f"{ENCODER}{number}", name, name, grid.shape, inner)]
