"""The themes of failure that `analyse --themes` prints."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from areaviz.analysis.themes.listed import METHOD, NOTHING, list_title, rare_note, split_parts
from areaviz.analysis.themes.theme import Themes


def print_themes(lists: Sequence[Themes], systems: int) -> None:
    """Print the themes of each list, how they were found, and what was too rare."""
    typer.echo(METHOD)
    for themes in lists:
        typer.echo(f"{list_title(themes, systems)}:")
        if not themes.found:
            typer.echo(f"  {NOTHING}")
        for part in split_parts(themes):
            typer.echo(f"  {part.title}:")
            for number, theme in enumerate(part.themes, 1):
                typer.echo(f"  {number:>3}. {theme.sentence}")
    rare = rare_note(lists)
    if rare:
        typer.echo(rare)
