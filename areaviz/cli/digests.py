"""`digests`: compare the SHA-256 of model files with their cards, or write it into the cards."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from areaviz.backend.backend import Checkpoints
from areaviz.cards.card import read_card, write_card
from areaviz.samples.paths import CHECKPOINTS
from areaviz.trace.errors import BackendError


def digests(
    checkpoints: Checkpoints = CHECKPOINTS,
    renew: Annotated[
        list[str] | None, typer.Option(help="A model whose files you replaced on purpose.")
    ] = None,
    share: Annotated[
        bool, typer.Option("--share", help="First store equal tokenizers of models only once.")
    ] = False,
) -> None:
    """Compare the models' files with the digests in their cards.

    A card without digests gets them. Existing digests only change if --renew names the model.
    """
    # Imported late, because it imports torch.
    from areaviz.models.base import compute_digests, share_tokenizers

    if share:
        for path in share_tokenizers(checkpoints):
            typer.echo(f"{path} now holds a tokenizer of several models.")
    right, written, wrong = 0, [], []
    for path in sorted(checkpoints.glob("*/card.json")):
        name, card = path.parent.name, read_card(path)
        files = compute_digests(path.parent, card.files)
        if card.files == files:
            right += 1
        # Existing digests are kept unless the user names the model. Otherwise a damaged file
        # would get a matching digest.
        elif card.files and name not in (renew or []):
            wrong.append(name)
        else:
            write_card(replace(card, files=files), path)
            written.append(name)
    models = right + len(written) + len(wrong)
    typer.echo(f"The files of {right} of {models} models match their cards.")
    if written:
        typer.echo(f"The digests of {', '.join(written)} were written into their cards.")
    if wrong:
        raise BackendError(
            f"Files of {', '.join(wrong)} do not match their cards. Restore them from the"
            " repository, or pass --renew NAME if you replaced them on purpose."
        )
