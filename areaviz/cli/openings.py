"""`areaviz openings`: store the traces that pages open with, and the pictures of Home."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from areaviz.backend.backend import RecordingBackend, open_backend
from areaviz.samples.paths import ASSETS, CHECKPOINTS
from areaviz.trace import file


def openings(
    checkpoints: Annotated[Path, typer.Option(help="The folder of the models.")] = CHECKPOINTS,
    assets: Annotated[Path, typer.Option(help="The folder to write to.")] = ASSETS,
    only_analysis: Annotated[
        bool, typer.Option("--only-analysis", help="Store only the rows for the page Analyse.")
    ] = False,
) -> None:
    """Run the models for every page's first view and ready examples, and store the results.

    The pages then open at once, because they show these stored results.
    """
    from areaviz.app.home import build_hero_trace, draw_pictures, store_openings
    from areaviz.learn.model_questions import store_runs
    from areaviz.sets.run import store_analysis

    backend = open_backend(checkpoints, "auto", ())
    rows = store_analysis(assets / "analysis", backend.models(), backend.trace)
    typer.echo(f"{assets / 'analysis'}: the rows of {len(rows)} models.")
    if only_analysis:
        return
    folder = assets / "openings"
    opened = store_openings(folder, folder / "looks.json", checkpoints)
    store_runs(RecordingBackend(backend, folder))
    file.save(opened[0].traces[0], assets / "home.npz", half=True)
    file.save(build_hero_trace(opened), assets / "hero.npz", half=True)
    pictures = draw_pictures(opened, assets / "cards")
    paths = [*folder.glob("*.npz"), *pictures]
    size = sum(path.stat().st_size for path in paths) / 2**20
    typer.echo(
        f"{assets}: {len(paths) - len(pictures)} traces, {len(pictures)} pictures, {size:.1f} MiB."
    )
