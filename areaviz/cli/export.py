"""`areaviz export TRACE FIGURE`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from areaviz.trace import codec
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.views import VIEWS
from areaviz.views.export import figure_bytes

SITES = ("encoder self", "decoder self", "encoder-decoder", "encoder-decoder picture", "glimpses", "transformer")


def export(
    trace: Annotated[Path, typer.Argument(help="A saved trace (.npz).")],
    figure: Annotated[Path, typer.Argument(help="The figure to write: .svg, .pdf or .png.")],
    view: Annotated[str, typer.Option(help=f"One of {', '.join(VIEWS)}.")] = "alignment",
    site: Annotated[str, typer.Option(help=f"{', '.join(SITES[:-1])} or {SITES[-1]}.")] = "encoder-decoder",
    layer: Annotated[int, typer.Option(min=1, help="Counted from 1.")] = 1,
    head: Annotated[int | None, typer.Option(min=1, help="Counted from 1; all heads if left out.")] = None,
) -> None:
    """Draw a view of a saved trace."""
    kind = figure.suffix.removeprefix(".")
    if view not in VIEWS:
        raise InputError(f'There is no view "{view}"; choose one of {", ".join(VIEWS)}.')
    if kind not in ("svg", "pdf", "png"):
        raise InputError(f'A figure cannot be written as "{figure.suffix}"; choose .svg, .pdf or .png.')
    found = codec.load(trace)
    focus = Focus(site, layer - 1, None if head is None else head - 1)
    _check_place(found, site, layer, head)
    if not VIEWS[view].fits(found, focus):
        fitting = ", ".join(name for name, other in VIEWS.items() if other.fits(found, focus))
        raise InputError(f'The view "{view}" does not fit the site "{site}" of this trace; choose one of {fitting}.')
    figure.write_bytes(figure_bytes(VIEWS[view].print(found, focus), kind))


def _check_place(found: Trace, site: str, layer: int, head: int | None) -> None:
    """Refuse a site, layer or head that a trace does not have; gazes have one of each."""
    sizes = {name: (one.layers, one.heads) for name, one in found.maps.items()} | dict.fromkeys(found.gazes, (1, 1))
    layers, heads = sizes.get(site, (0, 0))
    if layer > layers or (head or 1) > heads:
        told = ", ".join(f"{name} ({layers} layers, {heads} heads)" for name, (layers, heads) in sizes.items())
        raise InputError(f"This trace has no such site, layer or head; it has: {told}.")
