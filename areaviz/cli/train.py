"""`areaviz train CONFIG`: train a model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from areaviz.samples.paths import find_data_folder


def train(
    config: Annotated[
        Path, typer.Argument(help="A recipe, for example configs/char-tiny-area.toml.")
    ],
    runs: Annotated[
        Path, typer.Option(help="The folder in which the run gets its own folder.")
    ] = Path("runs"),
    data: Annotated[Path | None, typer.Option(help="Data folder. Default: AREAVIZ_DATA.")] = None,
    device: Annotated[str, typer.Option(help="auto, cuda, mps or cpu.")] = "auto",
    seed: Annotated[
        int | None, typer.Option(min=0, help="Another seed. The run is then called NAME-seedN.")
    ] = None,
) -> None:
    """Train a model from a recipe. An interrupted run continues from its last validation."""
    from areaviz.training.run import load_recipe
    from areaviz.training.run import train as run

    recipe = load_recipe(config)
    if seed is not None:
        recipe = replace(recipe, seed=seed, name=f"{recipe.name}-seed{seed}")
    folder = run(recipe, data or find_data_folder(), runs, device)
    typer.echo(
        f"The checkpoint is in {folder}. Measure it with: python -m areaviz evaluate {folder}"
    )
