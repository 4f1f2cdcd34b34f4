"""`python -m areaviz status`: what an app that runs on this machine is doing."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from areaviz.door.operator import ask


def status(
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port of the app.")] = 8501,
    as_json: Annotated[
        bool, typer.Option("--json", help="Write it as JSON, for programs.")
    ] = False,
) -> None:
    """Say how many visitors, requests and analyses an app of yours has, and how much memory it
    takes.
    """
    found = ask(port, "status")
    typer.echo(json.dumps(found, indent=2) if as_json else as_text(found))


def as_text(found: dict[str, Any]) -> str:
    """A line for each figure, with the names aligned."""
    widest = max(len(name) for name in found)
    return "\n".join(
        f"{name.replace('_', ' '):{widest}}  {_shown(value)}" for name, value in found.items()
    )


def _shown(value: object) -> str:
    if isinstance(value, list):
        return "; ".join(_shown(one) for one in value) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{name.replace('_', ' ')} {_shown(one)}" for name, one in value.items())
    if value is None:
        return "not known"
    return f"{value:,}" if isinstance(value, int) else str(value)
