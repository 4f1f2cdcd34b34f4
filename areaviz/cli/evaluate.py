"""`areaviz evaluate CHECKPOINT`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from areaviz.analysis.evaluation import evaluate as measure
from areaviz.data.settings import data_folder


def evaluate(
    checkpoint: Annotated[Path, typer.Argument(help="A checkpoint folder.")],
    split: Annotated[str, typer.Option(help="val, test_2016_flickr or test_2017_flickr.")] = "val",
    beam: Annotated[int, typer.Option(min=1, max=16, help="Beam width; 1 is greedy.")] = 4,
    traces: Annotated[int, typer.Option(min=0, help="Sentences the attention measures are taken over.")] = 200,
    output: Annotated[Path | None, typer.Option(help="Write the translations here, one a line.")] = None,
    data: Annotated[Path | None, typer.Option(help="The data folder; else AREAVIZ_DATA.")] = None,
    device: Annotated[str, typer.Option(help="auto, cuda, mps or cpu.")] = "auto",
) -> None:
    """Measure BLEU, chrF and the attended areas on a split, and write the figures on the model's card."""
    card, hypotheses = measure(checkpoint, data or data_folder(), split, beam, traces, device)
    for name, values in list(card.figures.items())[-1:] + list(card.attention.items()):
        typer.echo(name)
        for key, value in values.items():
            typer.echo(f"  {key}: {value:.3f}" if isinstance(value, float) else f"  {key}: {value}")
    if output:
        output.write_text("\n".join(hypotheses) + "\n", encoding="utf-8")
