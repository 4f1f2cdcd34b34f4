"""`forget`: delete old work, imported records, and records that have no owner."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from areaviz.analysis.age_of_work import AgeOfWork, measure_age_of_work
from areaviz.analysis.date_check import is_date_steady
from areaviz.analysis.retention import get_notes_address, remove_old
from areaviz.analysis.rows import find_analyses_folder
from areaviz.notes.annotations import Annotations
from areaviz.notes.judgements import Judgements
from areaviz.notes.ownership import SHORT_ID
from areaviz.notes.slices import Slices
from areaviz.notes.store import Store
from areaviz.shares.keeping import DAYS, MAX_DAYS, keep_days
from areaviz.trace.errors import InputError


def forget(
    days: Annotated[
        float | None,
        typer.Option(min=0, max=MAX_DAYS, help=f"Number of days. Default: the setting {DAYS}."),
    ] = None,
    import_id: Annotated[
        str,
        typer.Option("--import", help="Undo one import instead. The page shows its id."),
    ] = "",
    without_owner: Annotated[
        bool,
        typer.Option(
            "--without-owner",
            help="Delete the notes, slices and judgements without an owner instead.",
        ),
    ] = False,
    is_date_right: Annotated[
        bool, typer.Option("--yes", help="Trust the date of this machine without a check.")
    ] = False,
) -> None:
    """Delete notes, slices, judgements and analyses that have not changed for some days.

    The command also deletes their copies. If AREAVIZ_KEEP_DAYS gives a number of days, the app does
    this by itself, once an hour while it has visitors.

    A wrong date would make everything look old. The app and earlier runs of this command record
    dates. The command requires a day of recorded dates without a jump, or the option --yes.
    """
    if import_id or without_owner:
        _remove_records(import_id, without_owner)
        return
    chosen = keep_days() if days is None else days
    if chosen is None:
        raise InputError(f"The number of days is missing. Give --days or set {DAYS}.")
    store, folder, now = Store.open(get_notes_address()), find_analyses_folder(), datetime.now(UTC)
    typer.echo(_describe_age(measure_age_of_work(store, folder, chosen, now), chosen, now))
    if not is_date_steady(folder, now) and not is_date_right:
        raise InputError(
            f"Nothing was deleted. This machine's date is {now.date()}, but its dates have jumped"
            " or were recorded for less than a day. If the date is right, run the command again"
            " with --yes."
        )
    gone = remove_old(store, folder, chosen)
    typer.echo(
        f"Deleted everything unchanged for {chosen:g} days: {gone.notes:,} notes,"
        f" {gone.slices:,} slices, {gone.judgements:,} judged outputs, {gone.analyses:,}"
        f" analyses, {gone.copies:,} copies, {gone.kept:,} kept sets, entries of lists and"
        " shared links."
    )


def _describe_age(age: AgeOfWork, days: float, now: datetime) -> str:
    """Return sentences that say what is old, and how old the newest work is."""
    text = (
        f"Unchanged for {days:g} days: {age.notes:,} notes, {age.slices:,} slices,"
        f" {age.judgements:,} judged outputs and {age.analyses:,} analyses."
    )
    if age.newest is None:
        return text
    old = (now - age.newest).days
    return f"{text} The newest work is from {age.newest.date()}, {old:,} days ago."


def _remove_records(import_id: str, without_owner: bool) -> None:
    """Undo an import and delete records without an owner, as requested."""
    store = Store.open(get_notes_address())
    notes, judgements = Annotations(store), Judgements(store)
    if import_id:
        if len(import_id) < SHORT_ID:
            raise InputError(
                f"The id of an import has at least {SHORT_ID} characters. Copy all of them."
            )
        gone = notes.undo_import(import_id), judgements.undo_import(import_id)
        typer.echo(f"Undid the import: {gone[0]:,} notes, {gone[1]:,} judged outputs.")
    if without_owner:
        slices = Slices(store).remove_without_owner()
        gone = notes.remove_without_owner(), judgements.remove_without_owner()
        typer.echo(
            f"Deleted everything without an owner: {gone[0]:,} notes, {slices:,} slices,"
            f" {gone[1]:,} judged outputs."
        )
