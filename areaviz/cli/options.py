"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from areaviz.samples.paths import find_checkpoints_folder

CHECKPOINTS = find_checkpoints_folder()
"""Default folder of models."""

MODEL = "A model of the checkpoints folder, or the folder or hub name of a transformers model."
Checkpoints = Annotated[Path, typer.Option(help="The folder of models.")]
Device = Annotated[str, typer.Option(help="auto, cuda, mps or cpu.")]
Beam = Annotated[int, typer.Option(min=1, max=16, help="Beam width. 1 is greedy.")]
AreaSize = Annotated[
    int | None, typer.Option(min=1, max=16, help="Largest area size. Default: as in training.")
]


def make_decoding_options(beam: int) -> tuple[str, int]:
    """Return the decoding method and beam width of a request.

    A greedy request ignores the width and gets the default of 4. Equal requests then compare equal.
    """
    return ("greedy", 4) if beam == 1 else ("beam", beam)
