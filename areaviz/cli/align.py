"""`areaviz align MODEL SET`: choose the heads that together align best with known links."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from areaviz.backend.backend import DEFAULT_CHECKPOINTS, MODEL, Checkpoints, Device, find_model
from areaviz.measures.alignment import SITE, Linked, best_alignment
from areaviz.trace.request import Request


def align(
    model: Annotated[str, typer.Argument(help=MODEL)],
    source: Annotated[
        Path,
        typer.Argument(
            help=("Texts, or a table with source, reference and links, one example per line.")
        ),
    ],
    reference: Annotated[
        Path | None, typer.Option(help="The translations, one per line, if the table has none.")
    ] = None,
    links: Annotated[
        Path | None,
        typer.Option(help="The links of each line, such as 0-0 2-1, if the table has none."),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=ROLE",
            help="The role of a column or file, such as links.txt=links-from-0. See `analyse`.",
        ),
    ] = None,
    site: Annotated[str, typer.Option(help="The attention type of the heads.")] = SITE,
    checkpoints: Checkpoints = DEFAULT_CHECKPOINTS,
    device: Device = "auto",
) -> None:
    """Choose the heads on every second example, and report their alignment on the other ones.

    The report also has the results of baselines.
    """
    from areaviz.sets.analyse import Given, read_given

    references = () if reference is None else (reference,)
    examples = read_given(
        Given(str(source), references, links, columns=column or ())
    ).dataset.examples
    found = find_model(model, checkpoints, device)
    run = found.open()
    linked: list[Linked] = []
    for one in examples:
        known = one.sure | one.possible
        if known and one.references:
            request = Request(found.name, one.text, target=one.references[0])
            linked.append((run.trace(request), known))
    typer.echo(best_alignment(linked, site).sentence)
