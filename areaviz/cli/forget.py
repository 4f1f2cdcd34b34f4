"""`forget --days 30`: deletes what an operator promised to delete."""

from __future__ import annotations

from typing import Annotated

import typer

from areaviz.analysis.retention import DAYS, MAX_DAYS, keep_days, notes_address, remove_old
from areaviz.analysis.rows import analyses_folder
from areaviz.notes.store import Store
from areaviz.trace.errors import InputError


def forget(
    days: Annotated[
        float | None,
        typer.Option(min=0, max=MAX_DAYS, help=f"Days; else those of the setting {DAYS}."),
    ] = None,
) -> None:
    """Delete notes, slices, judgements and analyses that nobody changed for some days, and copies.

    The app does the same once an hour while it is visited, where AREAVIZ_KEEP_DAYS says the days.
    """
    chosen = keep_days() if days is None else days
    if chosen is None:
        raise InputError(f"After how many days they go is not said; give --days or set {DAYS}.")
    gone = remove_old(Store.open(notes_address()), analyses_folder(), chosen)
    typer.echo(
        f"Deleted what nobody changed for {chosen:g} days: {gone.notes:,} notes, {gone.slices:,}"
        f" slices, {gone.judgements:,} judged outputs, {gone.analyses:,} analyses, {gone.copies:,}"
        f" copies, {gone.kept:,} kept sets and entries of lists."
    )
