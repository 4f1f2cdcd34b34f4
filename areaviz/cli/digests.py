"""`python -m areaviz digests`: the SHA-256 of the models' files, compared with their cards or
written into them.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from areaviz.cards.card import read_card, write_card
from areaviz.data.places import CHECKPOINTS
from areaviz.models.checkpoint import digests_of
from areaviz.trace.errors import BackendError


def digests(
    checkpoints: Annotated[Path, typer.Option(help="The folder of the models.")] = CHECKPOINTS,
    renew: Annotated[
        list[str] | None, typer.Option(help="A model whose files were exchanged on purpose.")
    ] = None,
) -> None:
    """Compare the models' files with the digests in their cards; a card without digests gets them.

    A digest that is there is never changed, unless the model is named by --renew.
    """
    paths = sorted(checkpoints.glob("*/card.json"))
    found = {
        path.parent.name: _brought_up_to_date(path, path.parent.name in (renew or []))
        for path in paths
    }
    typer.echo(f"As their cards say: {list(found.values()).count('right')} of {len(found)} models.")
    if written := [name for name, done in found.items() if done == "written"]:
        typer.echo(f"The digests of {', '.join(written)} were written into their cards.")
    if wrong := [name for name, done in found.items() if done == "wrong"]:
        raise BackendError(
            f"Files of {', '.join(wrong)} are not those that the card names; restore them from the"
            " repository, or, where you exchanged them, name the model by --renew."
        )


def _brought_up_to_date(path: Path, renew: bool) -> str:
    """ "right", "written" or "wrong"."""
    card, found = read_card(path), digests_of(path.parent)
    if card.files == found:
        return "right"
    if card.files and not renew:
        return "wrong"
    write_card(replace(card, files=found), path)
    return "written"
