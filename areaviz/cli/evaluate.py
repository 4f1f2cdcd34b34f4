"""`areaviz evaluate CHECKPOINT`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from areaviz.cards.card import Card, read_card
from areaviz.cards.tasks import TASKS
from areaviz.data.places import data_folder
from areaviz.evaluation.captions import evaluate_captions
from areaviz.evaluation.digits import evaluate_digits
from areaviz.evaluation.picture_translation import evaluate_picture_translation
from areaviz.evaluation.translation import evaluate as evaluate_translation
from areaviz.trace.limits import choice


def evaluate(
    checkpoint: Annotated[Path, typer.Argument(help="A checkpoint folder.")],
    split: Annotated[
        str,
        typer.Option(
            help="val or test; for translators val, test_2016_flickr or test_2017_flickr."
        ),
    ] = "val",
    beam: Annotated[int, typer.Option(min=1, max=16, help="Beam width; 1 is greedy.")] = 4,
    traces: Annotated[
        int, typer.Option(min=0, help="Sentences a translator's attention is measured over.")
    ] = 200,
    output: Annotated[
        Path | None, typer.Option(help="Write what the model wrote here, one a line.")
    ] = None,
    data: Annotated[Path | None, typer.Option(help="The data folder; else AREAVIZ_DATA.")] = None,
    device: Annotated[str, typer.Option(help="auto, cuda, mps or cpu.")] = "auto",
) -> None:
    """Measure a model and its attention on a split, and write the figures on its card."""
    card, written = _measured(checkpoint, data or data_folder(), split, beam, traces, device)
    for name, values in ((split, card.figures[split]), *card.attention.items()):
        typer.echo(name)
        for key, value in values.items():
            typer.echo(f"  {key}: {value:.3f}" if isinstance(value, float) else f"  {key}: {value}")
    if output:
        output.write_text("".join(f"{line}\n" for line in written), encoding="utf-8")


def _measured(
    checkpoint: Path, data: Path, split: str, beam: int, traces: int, device: str
) -> tuple[Card, list[str]]:
    """The card with its figures, and what the model wrote, by the model's task."""
    task = read_card(checkpoint / "card.json").task
    choice("split", split, TASKS[task].splits)
    match task:
        case "caption":
            return evaluate_captions(checkpoint, data, split, beam, device)
        case "digits":
            return evaluate_digits(checkpoint, data, split, device), []
        case "picture translation":
            return evaluate_picture_translation(checkpoint, data, split, beam, device)
        case _:
            return evaluate_translation(checkpoint, data, split, beam, traces, device)
