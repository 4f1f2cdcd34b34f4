"""`data get`: fetch corpora that models are trained on, or models that are not in the wheel."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from areaviz.data.multi30k import get_multi30k
from areaviz.samples.paths import (
    MODELS_SETTING,
    find_data_folder,
    find_fetched_models_folder,
    get_models,
)

data = typer.Typer(no_args_is_help=True)


class Download(StrEnum):
    """Names of downloads."""

    MULTI30K = "multi30k"
    MODELS = "models"


@data.callback()
def _group() -> None:
    """Keep `get` a subcommand. Without this callback, typer would merge `get` with `data`."""


@data.command()
def get(
    what: Annotated[Download, typer.Argument(help="A corpus, or the models of this release.")],
    folder: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the files. Default: AREAVIZ_DATA or data/ for a corpus, and the app's"
            " folder of models for models."
        ),
    ] = None,
) -> None:
    """Download a corpus or the models, and check every file.

    Files that are already present and complete are kept. Multi30k (2 MB: English, German and
    French) is for non-commercial research and education only. The models come from the address in
    the setting AREAVIZ_MODELS_ADDRESS. A clone of the repository already has all models.
    """
    if what is Download.MODELS:
        folder = folder or find_fetched_models_folder()
        names = get_models(folder, os.environ.get(MODELS_SETTING, ""), _show)
        typer.echo(f"{len(names)} models in {folder}. Every file has the digest of this release.")
        return
    files = get_multi30k(folder or find_data_folder(), progress=_show)
    typer.echo(
        f"{what}: {len(files)} files in {files[0].parent}, all correct. They are for"
        " non-commercial research and education only."
    )


def _show(done: float, name: str) -> None:
    typer.echo(f"{done:4.0%}  {name}")
