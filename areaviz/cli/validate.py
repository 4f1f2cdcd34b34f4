"""`areaviz validate FILE ...`: check files against docs/trace.md and the schema of traces."""

from __future__ import annotations

from importlib.resources import files as parts_of
from pathlib import Path
from typing import Annotated

import typer

from areaviz.drawing.labels import pluralise
from areaviz.trace import codec
from areaviz.trace.arrays_file import holds_trace, open_npz
from areaviz.trace.errors import InputError
from areaviz.trace.on_disk import OPERATOR
from areaviz.trace.record import Trace

SCHEMA = "trace.schema.json"


def validate(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Stored traces (.npz), or arrays of weights (.npz).", metavar="FILE"),
    ] = None,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schema of a trace's document.")
    ] = False,
) -> None:
    """Check stored traces of this or any older version completely, and print a line for each file.

    The exit status is 1 if a file cannot be read; its line says what is wrong. Arrays for the page
    "Your own attention" are checked as well.
    """
    if schema:
        typer.echo(schema_text(), nl=False)
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


def schema_text() -> str:
    """Return the JSON schema of the document of a trace."""
    return (parts_of("areaviz.trace") / SCHEMA).read_text("utf-8")


def describe_file(path: Path) -> str:
    """Describe the content of a valid file.

    Raises:
        InputError: the file is not a trace and has no weights, is damaged, or has a newer version.
    """
    # Opening a pipe would block until something is written to it.
    if path.exists() and not path.is_file():
        raise InputError("This is not a file. Give a stored trace or an npz file of arrays.")
    with codec.refuse_damage(), path.open("rb") as file:
        if holds_trace(file, OPERATOR):
            kind = f"a trace, version {codec.version_of(file)}, of"
        else:
            kind = "arrays, which make a trace:"
        return f"{kind} {_maps(open_npz(file, room=OPERATOR))}."


def _maps(trace: Trace) -> str:
    parts = [trace.request.model]
    for site, one in trace.maps.items():
        layers, heads = pluralise(one.layers, "layer"), pluralise(one.heads, "head")
        parts.append(f"{site} ({layers}, {heads})")
    return ", ".join([*parts, *trace.gazes])
