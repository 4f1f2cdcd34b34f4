"""`data get CORPUS`: fetches the corpora that models are trained on."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from areaviz.data.multi30k import get_multi30k
from areaviz.data.places import data_folder

data = typer.Typer(no_args_is_help=True)


class Corpus(StrEnum):
    """The corpora that can be fetched."""

    MULTI30K = "multi30k"


@data.callback()
def _group() -> None:
    """Without this, typer would fold a single command into its group."""


@data.command()
def get(
    corpus: Annotated[Corpus, typer.Argument(help="Which corpus.")],
    folder: Annotated[
        Path | None,
        typer.Option(
            help="Where to put it instead of AREAVIZ_DATA, or data/ where that is not set."
        ),
    ] = None,
) -> None:
    """Download a corpus from its official place and check it.

    Files that are already there and whole are kept. Multi30k (2 MB: English, German and French) is
    for non-commercial research and education only.
    """
    folder = folder or data_folder()
    files = get_multi30k(folder, progress=lambda done, name: typer.echo(f"{done:4.0%}  {name}"))
    typer.echo(
        f"{corpus}: {len(files)} files in {files[0].parent}, all correct; for research and"
        " education only."
    )
