"""`areaviz site FOLDER`: a static site with live models, stored runs and cards."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from areaviz.cli.live import live_html
from areaviz.cli.options import CHECKPOINTS, Checkpoints
from areaviz.site.pages import make_site


def site(
    folder: Annotated[Path, typer.Argument(help="The folder to write, new or of an older site.")],
    model: Annotated[
        list[str] | None,
        typer.Option(
            help=("A model with a live page. Repeatable. Default: one model of each family.")
        ),
    ] = None,
    address: Annotated[
        str, typer.Option(help="The address of the site, so that shared links show a picture.")
    ] = "",
    checkpoints: Checkpoints = CHECKPOINTS,
) -> None:
    """Write a site of files that needs no server: live models, stored runs and cards.

    It opens from a disk, on any static host, and as a static Space of Hugging Face.
    """
    page_of = partial(live_html, checkpoints=checkpoints)
    size = make_site(folder, checkpoints, page_of, tuple(model or ()), address)
    typer.echo(f"{folder / 'index.html'}: {size / 1e6:.1f} MB in all.")
