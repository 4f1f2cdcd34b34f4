"""What the commands that show a trace share: where it opens, and what a page carries."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from areaviz.sharing.options import LEAST_AREAS, MOST_AREAS, PageOptions
from areaviz.trace.errors import InputError
from areaviz.trace.limits import shown
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.views.sites import sites

Site = Annotated[str | None, typer.Option(help='Which attention is looked at, such as "encoder-decoder".')]
Layer = Annotated[int | None, typer.Option(min=1, help="Which layer, counted from 1.")]
Head = Annotated[int | None, typer.Option(min=1, help="Which head, counted from 1; all heads if left out.")]
Layers = Annotated[str, typer.Option(help="The layers a page carries, such as 1-4,12; all if left out.")]
Sites = Annotated[str, typer.Option(help="The attention a page carries, with commas between; all if left out.")]
Areas = Annotated[int, typer.Option(min=LEAST_AREAS, max=MOST_AREAS, help="Most areas of a query that a page carries.")]
Title = Annotated[str, typer.Option(help="The title of a page; else the model's name.")]
Note = Annotated[str, typer.Option(help="What you have to say, below the title of a page.")]
Limit = Annotated[float, typer.Option(min=0.125, max=256, help="Most megabytes (MiB) of a page.")]

_LAYERS = re.compile(r"[0-9]{1,4}(-[0-9]{1,4})?(,[0-9]{1,4}(-[0-9]{1,4})?)*")


def focus_on(trace: Trace, site: str | None, layer: int | None, head: int | None) -> Focus | None:
    """Where to look, None where nothing of it is said; raises InputError for what the trace does not have."""
    if site is None and layer is None and head is None:
        return None
    sizes = {name: (one.layers, one.heads) for name, one in trace.maps.items()} | dict.fromkeys(trace.gazes, (1, 1))
    site = site or next(iter(sites(trace)), "")
    layers, heads = sizes.get(site, (0, 0))
    if (layer or 1) > layers or (head or 1) > heads:
        told = ", ".join(f"{name} ({layers} layers, {heads} heads)" for name, (layers, heads) in sizes.items())
        raise InputError(f"This trace has no such site, layer or head; it has: {told or 'none'}.")
    return Focus(site, (layer or 1) - 1, None if head is None else head - 1)


def page_options(title: str, note: str, layers: str, carried: str, areas: int, limit: float) -> PageOptions:
    """The options of a page as they are typed; raises InputError for layers that are no positions."""
    return PageOptions(title, note, layers_in(layers), _named(carried), areas, round(limit * 2**20))


def layers_in(typed: str) -> tuple[int, ...]:
    """The layers (0-based) of a list such as "1-4,12", which counts from 1."""
    if not typed:
        return ()
    if not _LAYERS.fullmatch(typed):
        raise InputError(f'"layers" is "{shown(typed)}" but must be positions such as 1-4,12; mend or remove it.')
    runs = [(int(first), int(last or first)) for first, _, last in (part.partition("-") for part in typed.split(","))]
    return tuple(sorted({layer - 1 for first, last in runs for layer in range(first, last + 1) if layer}))


def _named(typed: str) -> tuple[str, ...]:
    return tuple(filter(None, map(str.strip, typed.split(","))))
