"""`areaviz trace MODEL TEXT FILE`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from areaviz.backend.local import LocalBackend
from areaviz.trace import codec
from areaviz.trace.request import Request


def trace(
    model: Annotated[str, typer.Argument(help="A model of the checkpoints folder.")],
    text: Annotated[str, typer.Argument(help="The sentence.")],
    file: Annotated[Path, typer.Argument(help="Where the trace is saved, for example trace.npz.")],
    checkpoints: Annotated[Path, typer.Option(help="The folder of models.")] = Path("checkpoints"),
    beam: Annotated[int, typer.Option(min=1, max=16, help="Beam width; 1 is greedy.")] = 1,
    area_size: Annotated[int | None, typer.Option(min=1, max=16, help="Largest area; else as trained.")] = None,
    device: Annotated[str, typer.Option(help="auto, cuda, mps or cpu.")] = "auto",
) -> None:
    """Translate one sentence and save what the model attended to."""
    request = Request(model, text, "greedy" if beam == 1 else "beam", beam if beam > 1 else 4, area_size)
    found = LocalBackend(checkpoints, device).trace(request)
    codec.save(found, file)
    typer.echo(found.fields["target"].raw)
