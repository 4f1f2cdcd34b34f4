"""`areaviz evaluate CHECKPOINT`: measure a model on a split."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from areaviz.samples.paths import find_data_folder
from areaviz.trace.safe_files import write_whole


def evaluate(
    checkpoint: Annotated[Path, typer.Argument(help="A checkpoint folder.")],
    split: Annotated[
        str,
        typer.Option(help="val or test. Translators: val, test_2016_flickr or test_2017_flickr."),
    ] = "val",
    beam: Annotated[int, typer.Option(min=1, max=16, help="Beam width. 1 is greedy.")] = 4,
    traces: Annotated[
        int, typer.Option(min=0, help="Number of examples for the measures of attention.")
    ] = 200,
    outputs: Annotated[
        bool, typer.Option(help="Write and score outputs. Otherwise only attention is measured.")
    ] = True,
    output: Annotated[
        Path | None, typer.Option(help="File for the model's outputs, one per line.")
    ] = None,
    data: Annotated[Path | None, typer.Option(help="Data folder. Default: AREAVIZ_DATA.")] = None,
    device: Annotated[str, typer.Option(help="auto, cuda, mps or cpu.")] = "auto",
) -> None:
    """Measure a model and its attention on a split, and write the results on its card."""
    from areaviz.evaluation.measure import Options, evaluate_checkpoint

    folder = data or find_data_folder()
    options = Options(beam, traces, outputs)
    card, written = evaluate_checkpoint(checkpoint, folder, split, options, device)
    for name, values in ((split, card.figures.get(split, {})), *card.attention.items()):
        typer.echo(name)
        for key, value in values.items():
            shown = f"{value:.3f}" if isinstance(value, float) else value
            typer.echo(f"  {key}: {shown}")
    if output:
        write_whole(output, "".join(f"{line}\n" for line in written).encode())
