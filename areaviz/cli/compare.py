"""`areaviz compare CHECKPOINT BASELINE`: state how two models differ."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from areaviz.samples.paths import find_data_folder


def compare(
    checkpoint: Annotated[Path, typer.Argument(help="A checkpoint folder.")],
    baseline: Annotated[Path, typer.Argument(help="The checkpoint folder to compare it with.")],
    translations: Annotated[
        Path, typer.Argument(help="The file of `evaluate --output` for the checkpoint.")
    ],
    baseline_translations: Annotated[
        Path, typer.Argument(help="The file of `evaluate --output` for the baseline.")
    ],
    split: Annotated[
        str, typer.Option(help="The split on which both were evaluated.")
    ] = "test_2016_flickr",
    data: Annotated[Path | None, typer.Option(help="Data folder. Default: AREAVIZ_DATA.")] = None,
) -> None:
    """State the difference of two models on both cards, with its significance."""
    from areaviz.evaluation.translation import state_difference

    folder = data or find_data_folder()
    typer.echo(
        state_difference(checkpoint, baseline, split, translations, baseline_translations, folder)
    )
