"""`areaviz heads CHECKPOINT`: measure the heads of a translator."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from areaviz.samples.paths import find_data_folder

EXAMPLES = 100
"""Number of sentences from the start of a split over which a table of forms is measured."""
SHOWN = ("multi_share", "long_exact_lift", "dependence", "dependence_share", "sink")


def heads(
    checkpoint: Annotated[Path, typer.Argument(help="The checkpoint folder of a translator.")],
    into: Annotated[
        Path | None, typer.Option(help="Add the figures to this table of trained variants (JSON).")
    ] = None,
    examples: Annotated[
        int, typer.Option(min=1, help="Validation sentences to measure over.")
    ] = EXAMPLES,
    data: Annotated[Path | None, typer.Option(help="Data folder. Default: AREAVIZ_DATA.")] = None,
    device: Annotated[str, typer.Option(help="auto, cuda, mps or cpu.")] = "auto",
) -> None:
    """Measure every head of a translator on validation data, and of its untrained network."""
    from areaviz.evaluation.heads import add_to_table, make_table_entry

    name, entry = make_table_entry(checkpoint, data or find_data_folder(), examples, device)
    if into is not None:  # Write before printing. A closed pipe would end the process here.
        add_to_table(into, name, entry)
    typer.echo(
        f"{name}: validation loss {entry['best_loss']:.4f} over {entry['examples']} sentences"
    )
    for site, figures in entry["heads"].items():
        for layer, row in enumerate(figures["multi_share"]):
            for head in range(len(row)):
                values = [(measure, figures[measure][layer][head]) for measure in SHOWN]
                shown = ", ".join(
                    f"{measure} {'-' if value is None else f'{value:.3f}'}"
                    for measure, value in values
                )
                typer.echo(f"  {site}, layer {layer + 1}, head {head + 1}: {shown}")
