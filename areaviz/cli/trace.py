"""`areaviz trace MODEL TEXT FILE`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from areaviz.cli.models import named
from areaviz.cli.options import CHECKPOINTS, MODEL, AreaSize, Beam, Checkpoints, Device, decoding
from areaviz.data.picture_samples import SAMPLES, sample
from areaviz.data.pictures import decode
from areaviz.publish.export import export
from areaviz.trace import codec
from areaviz.trace.errors import InputError
from areaviz.trace.limits import shown
from areaviz.trace.picture import Picture
from areaviz.trace.request import Request


def trace(
    model: Annotated[str, typer.Argument(help=MODEL)],
    text: Annotated[
        str, typer.Argument(help='The sentence; "" for a model that only takes a picture.')
    ],
    file: Annotated[
        Path,
        typer.Argument(help="Where it is saved: trace.npz, or a page or figure as in `export`."),
    ],
    checkpoints: Checkpoints = CHECKPOINTS,
    picture: Annotated[
        str, typer.Option(help="A picture: a file, or a sample such as scene-34.")
    ] = "",
    beam: Beam = 1,
    area_size: AreaSize = None,
    device: Device = "auto",
) -> None:
    """Run a model on a sentence, a picture or both, and save what it attended to.

    A name that ends in .npz keeps all of it, for `show`, `export` and the app; page.html is the
    page to look into.
    """
    seen = picture_of(picture) if picture else None
    named_model = named(model, checkpoints, device)
    request = Request(named_model.name, text, *decoding(beam), area_size, picture=seen)
    found = named_model.open().trace(request)
    if file.suffix == ".npz":
        codec.save(found, file)
    else:
        export(found, file)
    typer.echo(found.fields[found.output.field].raw)


def picture_of(name: str) -> Picture:
    """The picture in a file, or the sample of this name; InputError where there is neither."""
    if Path(name).is_file():
        return decode(Path(name).read_bytes()).picture
    if name not in SAMPLES:
        known = ", ".join(SAMPLES)
        raise InputError(f'There is no picture "{shown(name)}"; name a file, or a sample: {known}.')
    return sample(name)
