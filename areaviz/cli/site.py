"""`areaviz site FOLDER`: a static site with live models, stored runs and cards."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from areaviz.backend.backend import DEFAULT_CHECKPOINTS, Checkpoints
from areaviz.cli.live import make_live_html


def site(
    folder: Annotated[
        Path, typer.Argument(help="The folder to write: a new one, or one with an older site.")
    ],
    model: Annotated[
        list[str] | None,
        typer.Option(
            help=("A model with a live page. Repeatable. Default: one model of each family.")
        ),
    ] = None,
    address: Annotated[
        str, typer.Option(help="The web address of the site. Shared links need it for a picture.")
    ] = "",
    checkpoints: Checkpoints = DEFAULT_CHECKPOINTS,
) -> None:
    """Write a static website with live models, stored runs and cards.

    The site opens from a disk, on any static host, and as a static Space of Hugging Face.
    """
    # Imported late, because it imports the app, which the other commands do not need.
    from areaviz.site.pages import make_site

    page_of = partial(make_live_html, checkpoints=checkpoints)
    size = make_site(folder, checkpoints, page_of, tuple(model or ()), address)
    typer.echo(f"{folder / 'index.html'}: {size / 1e6:.1f} MB in all.")
