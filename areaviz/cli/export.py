"""`areaviz export TRACE FILE`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from areaviz.cli.view_options import Looking, looking
from areaviz.publish.export import ENDINGS
from areaviz.publish.export import export as write
from areaviz.trace import codec
from areaviz.views import VIEWS


@looking
def export(
    trace: Annotated[Path, typer.Argument(help="A saved trace (.npz).")],
    file: Annotated[
        Path, typer.Argument(help=f"What to write; its ending says what: {', '.join(ENDINGS)}.")
    ],
    looking: Looking,
    view: Annotated[
        str | None, typer.Option(help=f"Of a figure or numbers: one of {', '.join(VIEWS)}.")
    ] = None,
) -> None:
    """Write a saved trace as a page (.html), a figure (.svg, .pdf, .png), its numbers (.csv, .json)
    or a film (.gif).

    The page is one file that opens in any browser, without this program: every layer and head can
    be pointed at. Site, layer and head say where it opens, or what a figure shows.
    """
    found = codec.load(trace)
    write(found, file, looking.focus(found), looking.page(), view)
    typer.echo(f"{file}: {file.stat().st_size / 1000:,.0f} KB.")
