"""The commands `trace` and `digests`, which run a model and check model files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from areaviz.backend.backend import (
    DEFAULT_CHECKPOINTS,
    MODEL,
    AreaSize,
    Beam,
    Checkpoints,
    Device,
    find_model,
    make_decoding_options,
)
from areaviz.cards.card import Card, read_card, write_card
from areaviz.cards.tasks import TASKS
from areaviz.media.formats import CLIP, PICTURE, SOUND, read_medium
from areaviz.page.page import export
from areaviz.samples.own_media import (
    CLIP_SAMPLES,
    PICTURE_SAMPLES,
    SOUND_SAMPLES,
    get_clip_sample,
    get_picture_sample,
    get_sound_sample,
)
from areaviz.samples.paths import CHECKPOINTS
from areaviz.trace.errors import BackendError, InputError, shorten
from areaviz.trace.file import save
from areaviz.trace.request import Request

# `areaviz trace MODEL TEXT FILE`: run a model and save its attention.


_SAMPLES: Mapping[str, tuple[Mapping[str, Any], Callable[[str], Any]]] = {
    PICTURE: (PICTURE_SAMPLES, get_picture_sample),
    SOUND: (SOUND_SAMPLES, get_sound_sample),
    CLIP: (CLIP_SAMPLES, get_clip_sample),
}
"""Sample pictures, recordings and clips by kind, each with the function that reads one by name."""


def trace(
    model: Annotated[str, typer.Argument(help=MODEL)],
    text: Annotated[
        str,
        typer.Argument(
            help='A sentence, a story with its question, or points. Use "" for a model that reads'
            " no text."
        ),
    ],
    file: Annotated[
        Path, typer.Argument(help="File to write: trace.npz, or a page or figure as in `export`.")
    ],
    checkpoints: Checkpoints = DEFAULT_CHECKPOINTS,
    picture: Annotated[
        str, typer.Option(help="A picture: a file, or a sample such as scene-34.")
    ] = "",
    sound: Annotated[
        str, typer.Option(help="A recording: a file, or a sample such as digits-plain.")
    ] = "",
    clip: Annotated[
        str, typer.Option(help="A clip: a file, or a sample such as three-left-grows.")
    ] = "",
    beam: Beam = 1,
    area_size: AreaSize = None,
    device: Device = "auto",
) -> None:
    """Run a model on a text, picture, recording or clip, and save what it attended to.

    A file that ends in .npz contains the whole trace, for `show`, `export` and the app. A file that
    ends in .html is a page to explore in a browser.
    """
    given = {PICTURE: picture, SOUND: sound, CLIP: clip}
    media = {kind: medium_of(kind, name) for kind, name in given.items() if name}
    named_model = find_model(model, checkpoints, device)
    if not (text.strip() or media):
        _check_nothing(named_model.card)
    request = Request(named_model.name, text, *make_decoding_options(beam), area_size, **media)
    found = named_model.open().trace(request)
    if file.suffix == ".npz":
        save(found, file)
    else:
        export(found, file)
    typer.echo(found.fields[found.output.field].raw)


def _check_nothing(card: Card) -> None:
    """Check that a model can run without any input, and name the missing option otherwise.

    Raises:
        InputError: the model needs a picture, recording or clip.
    """
    task = TASKS.get(card.task)
    for kind, (samples, _) in _SAMPLES.items():
        if task is not None and kind in task.inputs:
            raise InputError(
                f"{card.name} needs a {kind}. Give a file or a sample with --{kind}, for"
                f" example {next(iter(samples))}."
            )


def medium_of(kind: str, name: str) -> Any:
    """Return the picture, sound or clip in a file, or the sample of this name.

    Args:
        kind: a key of `MEDIA`, which is also the name of the request's field.
        name: name of the file or sample.

    Raises:
        InputError: there is no such file or sample, or the file cannot be used.
    """
    if Path(name).is_file():
        return read_medium(kind, Path(name), "upload")
    samples, read = _SAMPLES[kind]
    if name not in samples:
        known = ", ".join(samples)
        raise InputError(
            f'The {kind} "{shorten(name)}" does not exist. Give a file, or a sample: {known}.'
        )
    return read(name)


# `digests`: compare the SHA-256 of model files with their cards, or write it into the cards.


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
