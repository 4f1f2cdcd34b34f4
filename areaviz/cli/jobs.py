"""`python -m areaviz jobs`: the analyses that an app on this machine runs; `jobs stop NUMBER` ends
one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from areaviz.door.operator import ask
from areaviz.drawing.labels import readable

jobs = typer.Typer(no_args_is_help=False)
Port = Annotated[int, typer.Option(min=1, max=65535, help="The port of the app.")]


@jobs.callback(invoke_without_command=True)
def listed(
    context: typer.Context,
    port: Port = 8501,
    as_json: Annotated[
        bool, typer.Option("--json", help="Write them as JSON, for programs.")
    ] = False,
) -> None:
    """List the analyses that an app of yours runs: number, how far, since when, whether somebody
    watches, what.
    """
    if context.invoked_subcommand is not None:
        return
    found = ask(port, "jobs")
    lines = "\n".join(map(line, found)) or "No analysis is running."
    typer.echo(json.dumps(found, indent=2) if as_json else lines)


@jobs.command()
def stop(
    number: Annotated[int, typer.Argument(min=1, help="The number in the list.")],
    port: Port = 8501,
) -> None:
    """Stop an analysis; what is done is kept, and its reader is told."""
    typer.echo(f"Stopped: {line(ask(port, 'jobs stop', str(number)))}")


def line(entry: Mapping[str, Any]) -> str:
    """One analysis. Titles have names that readers chose: a sign that would move the cursor is
    shown by its code.
    """
    far = f"{entry['done']:,} of {entry['of']:,}" if entry["of"] else "starting"
    watched = "watched" if entry["watched"] else "not watched"
    title = " ".join(readable(entry["title"]).split())
    return f"{entry['number']:3}  {far}  since {entry['begun']}  {watched}  {title}"
