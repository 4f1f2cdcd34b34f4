"""`areaviz compare CHECKPOINT BASELINE`: state how two models differ."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from areaviz.data.places import find_data_folder
from areaviz.evaluation.translation import state_difference


def compare(
    checkpoint: Annotated[Path, typer.Argument(help="A checkpoint folder.")],
    baseline: Annotated[Path, typer.Argument(help="The checkpoint it is compared to.")],
    translations: Annotated[
        Path, typer.Argument(help="What `evaluate --output` wrote for the first.")
    ],
    baseline_translations: Annotated[Path, typer.Argument(help="The same for the second.")],
    split: Annotated[
        str, typer.Option(help="The split both were measured on.")
    ] = "test_2016_flickr",
    data: Annotated[Path | None, typer.Option(help="Data folder. Default: AREAVIZ_DATA.")] = None,
) -> None:
    """State the difference of two models on both cards, with its significance."""
    folder = data or find_data_folder()
    typer.echo(
        state_difference(checkpoint, baseline, split, translations, baseline_translations, folder)
    )
