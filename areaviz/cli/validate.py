"""`areaviz validate FILE ...`: check that files are valid traces, as docs/trace.md defines them."""

from __future__ import annotations

from importlib.resources import files as parts_of
from pathlib import Path
from typing import Annotated

import typer

from areaviz.draw.labels import pluralise
from areaviz.trace.arrays import holds_trace, open_npz
from areaviz.trace.errors import InputError
from areaviz.trace.file import OPERATOR, read_version, refuse_damage
from areaviz.trace.record import Trace

SCHEMA = "trace.schema.json"


def validate(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Stored traces or arrays of weights (.npz).", metavar="FILE"),
    ] = None,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schema of the document in a trace.")
    ] = False,
) -> None:
    """Check every part of stored traces of this or any older version, and print a line per file.

    If a file cannot be read, its line says what is wrong, and the exit status is 1. The command
    also checks arrays for the page "Your own attention".
    """
    if schema:
        typer.echo(read_schema(), nl=False)
    elif not files:
        raise InputError("No file was given. Give one or more files, or --schema.")
    wrong = 0
    for path in files or []:
        try:
            typer.echo(f"{path}: {describe_file(path)}")
        except InputError as error:
            typer.echo(f"{path}: {error}", err=True)
            wrong += 1
    if wrong:
        raise typer.Exit(1)


def read_schema() -> str:
    """Return the JSON schema of the document of a trace."""
    return (parts_of("areaviz.trace") / SCHEMA).read_text("utf-8")


def describe_file(path: Path) -> str:
    """Describe the content of a valid file.

    Raises:
        InputError: the file contains neither a trace nor weights, is damaged, or comes from a
            newer version.
    """
    # Opening a pipe would block until something is written to it.
    if path.exists() and not path.is_file():
        raise InputError("This is not a file. Give a stored trace or an npz file of arrays.")
    with refuse_damage(), path.open("rb") as file:
        if holds_trace(file, OPERATOR):
            kind = f"a trace, version {read_version(file)}, of"
        else:
            kind = "arrays, which make a trace:"
        return f"{kind} {_describe_maps(open_npz(file, room=OPERATOR))}."


def _describe_maps(trace: Trace) -> str:
    parts = [trace.request.model]
    for site, one in trace.maps.items():
        layers, heads = pluralise(one.layers, "layer"), pluralise(one.heads, "head")
        parts.append(f"{site} ({layers}, {heads})")
    return ", ".join([*parts, *trace.gazes])
