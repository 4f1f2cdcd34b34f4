"""`status` and `jobs`: the activity of an app on this machine, for its operator."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from areaviz.draw.labels import escape_controls

Port = Annotated[int, typer.Option(min=1, max=65535, help="The port of the app.")]
AsJson = Annotated[bool, typer.Option("--json", help="Write JSON, for programs.")]
jobs = typer.Typer(no_args_is_help=False)


def status(
    port: Port = 8501,
    as_json: AsJson = False,
) -> None:
    """Show the visitors, questions, analyses and memory of an app on this machine, and its limits.

    Each reader is shown as a short digest of the id in their cookie. To change a limit, set the
    environment variable AREAVIZ_LIMIT_NAME, with the name in capitals, before you start the app.
    """
    found = _ask(port, "status")
    typer.echo(json.dumps(found, indent=2) if as_json else format_values(found))


@jobs.callback(invoke_without_command=True)
def list_jobs(
    context: typer.Context,
    port: Port = 8501,
    as_json: AsJson = False,
) -> None:
    """List the analyses of an app on this machine.

    The columns are number, progress, start, whether it is watched, and title.
    """
    if context.invoked_subcommand is not None:
        return  # typer also runs this function before `stop`.
    found = _ask(port, "jobs")
    lines = "\n".join(map(format_job, found)) or "No analysis is running."
    typer.echo(json.dumps(found, indent=2) if as_json else lines)


@jobs.command()
def stop(
    number: Annotated[int, typer.Argument(min=1, help="The number in the list.")],
    port: Port = 8501,
) -> None:
    """Stop an analysis. The app keeps its results so far and informs its reader."""
    typer.echo(f"Stopped: {format_job(_ask(port, 'jobs stop', str(number)))}")


def _ask(port: int, *words: str) -> Any:
    """Return the app's answer to a command."""
    # Imported late, because it imports the app's server.
    from areaviz.gateway.serving import send_command

    return send_command(port, *words)


def format_values(figures: Mapping[str, Any]) -> str:
    """Return one line per value, with the values aligned in one column."""
    widest = max(len(name) for name in figures)
    lines = []
    for name, value in figures.items():
        lines.append(f"{name.replace('_', ' '):{widest}}  {_format_value(value)}")
    return "\n".join(lines)


def _format_value(value: object) -> str:
    match value:
        case None:
            return "not known"
        case list():
            return "; ".join(map(_format_value, value)) or "none"
        case dict():
            parts = [
                f"{name.replace('_', ' ')} {_format_value(one)}" for name, one in value.items()
            ]
            return ", ".join(parts) or "none"
        case int() | float():
            return f"{value:,.10g}"
    return str(value)


def format_job(entry: Mapping[str, Any]) -> str:
    """Format one analysis as a line.

    Its title comes from a reader, so control characters in it are replaced with visible codes.
    """
    progress = f"{entry['done']:,} of {entry['of']:,}" if entry["of"] else "starting"
    watched = "watched" if entry["watched"] else "not watched"
    title = " ".join(escape_controls(entry["title"]).split())
    return f"{entry['number']:3}  {progress}  since {entry['begun']}  {watched}  {title}"
