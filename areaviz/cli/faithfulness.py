"""`areaviz faithfulness MODEL`: measure how faithful an attention map is."""

from __future__ import annotations

from typing import Annotated

import typer

from areaviz.backend.backend import DEFAULT_CHECKPOINTS, MODEL, Checkpoints, Device, find_model
from areaviz.cards.card import Card
from areaviz.cards.tasks import TASKS
from areaviz.evaluation.contrastive_faithfulness import measure_contrast
from areaviz.measures.faithfulness import (
    Faithfulness,
    Probe,
    compute_mean_and_deviation,
    measure_inputs,
)
from areaviz.samples.sample_sets import SAMPLE_SETS
from areaviz.trace.errors import InputError
from areaviz.trace.request import Request


def faithfulness(
    model: Annotated[str, typer.Argument(help=MODEL)],
    examples: Annotated[
        int, typer.Option(min=1, help="Number of the app's own examples to measure.")
    ] = 24,
    site: Annotated[
        str,
        typer.Option(
            help=(
                "Attention type, such as encoder-decoder or encoder self. Default: the"
                " attention from the output to the input."
            )
        ),
    ] = "",
    layer: Annotated[int, typer.Option(min=1, help="Layer of the map, from 1.")] = 1,
    head: Annotated[
        int | None, typer.Option(min=1, help="Head of the map, from 1. Default: all.")
    ] = None,
    k: Annotated[
        int,
        typer.Option(
            min=1, help=("Number of attended items or areas to remove or keep per output item.")
        ),
    ] = 5,
    unit: Annotated[str, typer.Option(help="item or area.")] = "item",
    word: Annotated[
        str, typer.Option(help="With --foil: the output word to compare with the foil.")
    ] = "",
    foil: Annotated[
        str,
        typer.Option(
            help='Measure how much more probable --word is than this word. "likeliest"'
            " compares the least certain item of each output with its most probable"
            " alternative."
        ),
    ] = "",
    draws: Annotated[int, typer.Option(min=2, help="Number of random baselines to draw.")] = 5,
    checkpoints: Checkpoints = DEFAULT_CHECKPOINTS,
    device: Device = "auto",
) -> None:
    """Measure how faithful an attention map is to its model, compared with random areas."""
    chosen = find_model(model, checkpoints, device)
    card, run = chosen.card, chosen.open().trace
    samples = _name_samples(card)
    probe = Probe(site, layer - 1, None if head is None else head - 1, k, unit, draws)
    dataset = SAMPLE_SETS[samples]()
    asked = Request(card.name, "", target=card.given)
    requests = [dataset.asked(asked, one) for one in dataset.examples[:examples]]
    if not foil:
        found, taken = measure_inputs(requests, probe, run)
        if taken < len(requests):
            left = f"{len(requests) - taken:,} of {len(requests):,} examples"
            typer.echo(f"{left} have fewer than {k + 1:,} {unit}s and were left out.", err=True)
    else:
        found, taken = measure_contrast(requests, probe, run, word, foil)
        if taken < len(requests):
            left = f"{len(requests) - taken:,} of {len(requests):,} examples"
            typer.echo(
                f"{left} do not contain the word or have too few {unit}s. They were left out.",
                err=True,
            )
    for line in format_lines(found, taken, is_contrast=bool(foil)):
        typer.echo(line)


def _name_samples(card: Card) -> str:
    """Return the name of the sample set for a model.

    Raises:
        InputError: the app has no examples on which attention of this model can be removed.
    """
    takes = {}
    for task in TASKS.values():
        if task.samples and {"weigh", "target"} <= task.can:
            takes[task.key] = task.title
    if card.task not in takes:
        raise InputError(
            f"“{card.title}” cannot be measured: the app has no examples on which its attention"
            f" can be removed. Choose a model for one of these tasks: {', '.join(takes.values())}."
        )
    return TASKS[card.task].samples


def format_lines(found: Faithfulness, examples: int, is_contrast: bool = False) -> list[str]:
    """Format the results over `examples` examples, one line per measure."""
    lines = [
        f"examples: {examples}, output items: {found.items}, mean probability:"
        f" {found.probability:.3f}"
    ]
    if is_contrast:
        lines = [f"examples: {examples}, p(word) - p(foil): {found.probability:.3f}"]
    for name in ("comprehensiveness", "sufficiency"):
        mean, deviation = compute_mean_and_deviation(getattr(found, f"random_{name}"))
        lines.append(
            f"{name}: {getattr(found, name):.3f}, by chance {mean:.3f} (standard deviation"
            f" {deviation:.3f})"
        )
    return lines
