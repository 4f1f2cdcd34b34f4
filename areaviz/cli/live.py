"""The commands `live` and `site`, which write pages that run models in the browser."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from areaviz.backend.backend import DEFAULT_CHECKPOINTS, Checkpoints, find_model
from areaviz.cards.card import Card
from areaviz.cli.show import Note, ThemeName, Title, make_page_options
from areaviz.live.build import LiveModel, LivePage, check_live, make_live_pair
from areaviz.page.content import PageOptions
from areaviz.samples.own_media import get_picture_sample, list_picture_names
from areaviz.samples.reasoning import POINTS, STORIES
from areaviz.trace.errors import InputError
from areaviz.trace.record import expand_path
from areaviz.trace.request import Picture, Request
from areaviz.trace.safe_files import write_whole

# `areaviz live MODEL [MODEL] FILE.html`: one HTML file that runs one or two models.


SENTENCES = {
    "translation": "Two young men are playing football in a park.",
    "reading": "A man in a blue shirt",
    "points": POINTS,
    "questions": STORIES[0].text,
}
"""Text that a page first shows, by the task of its model."""
SCENES = ("scene-34", "scene-9")
"""Sample pictures on a captioner's page. The page first shows the first of them."""
DIGITS = {
    "centred": "single digit",
    "translated": "moved digit",
    "cluttered": "digit",
    "pairs": "pair",
}
"""Kind of sample pictures on a digit reader's page, by the kind of pictures in its training."""


def live(
    given: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL [MODEL] FILE.html",
            help="One model of the checkpoints folder, or two to compare, and the file to write.",
        ),
    ],
    text: Annotated[str | None, typer.Option(help="The text that the page first shows.")] = None,
    checkpoints: Checkpoints = DEFAULT_CHECKPOINTS,
    title: Title = "",
    note: Note = "",
    theme: ThemeName = "auto",
) -> None:
    """Write one HTML file that runs a model in the reader's browser, without a server.

    The file contains the weights. It opens from a disk, and the text that readers type stays on
    their device. A page with two models runs both of them on the typed text.
    """
    *models, file = given
    path = expand_path(Path(file))
    if path.suffix.lower() != ".html":
        raise InputError(f"A live page is an HTML file. Name it {path.stem}.html.")
    if len(models) not in (1, 2):
        raise InputError("Give one model, or two to compare, and then the file to write.")
    options = make_page_options("", "", 64, title, note, 16, theme)
    if len(models) == 1:
        html = make_live_html(models[0], checkpoints, options, text)
    else:
        own = replace(options, title="", note="")
        first, second = (open_live_page(model, checkpoints, own, text) for model in models)
        html = make_live_pair(first, second, options)
    write_whole(path, html.encode("utf-8", "replace"))
    typer.echo(f"{path}: {path.stat().st_size / 1e6:.1f} MB.")


def make_live_html(
    model: str, checkpoints: Path, options: PageOptions | None = None, text: str | None = None
) -> str:
    """Return the HTML of a model's live page. The arguments are those of `open_live_page`."""
    return open_live_page(model, checkpoints, options, text).html


def open_live_page(
    model: str, checkpoints: Path, options: PageOptions | None = None, text: str | None = None
) -> LivePage:
    """Run a model once and return its live page, which opens with this run.

    Args:
        model: the name of the model.
        checkpoints: the folder of the models.
        options: title, note and theme of the page.
        text: the text that the page first shows. None chooses a text that fits the task.

    Raises:
        InputError: the engine cannot run this model, or the text is not valid.
    """
    chosen = find_model(model, checkpoints, "cpu")
    check_live(chosen.card)
    opening = SENTENCES.get(chosen.card.task, "") if text is None else text
    pictures = _list_pictures(chosen.card)
    picture = pictures[0] if pictures else None
    request = Request(chosen.name, opening, "beam", picture=picture).checked()
    trace = chosen.open().trace(request)
    made = LiveModel.load(checkpoints / chosen.name, chosen.card)
    return LivePage.of(made, trace, None, options, pictures)


def _list_pictures(card: Card) -> list[Picture]:
    """Return the sample pictures that a page offers, or [] if the model reads no pictures."""
    offered: tuple[str, ...] = ()
    if card.task == "caption":
        offered = SCENES
    elif card.task == "digits":
        offered = list_picture_names(DIGITS[card.config["kind"]])
    return [get_picture_sample(name) for name in offered]


# `areaviz site FOLDER`: a static site with live models, stored runs and cards.


def site(
    folder: Annotated[
        Path, typer.Argument(help="The folder to write: a new one, or one with an older site.")
    ],
    model: Annotated[
        list[str] | None,
        typer.Option(
            help=("A model with a live page. Repeatable. Default: one model of each family.")
        ),
    ] = None,
    address: Annotated[
        str, typer.Option(help="The web address of the site. Shared links need it for a picture.")
    ] = "",
    checkpoints: Checkpoints = DEFAULT_CHECKPOINTS,
) -> None:
    """Write a static website with live models, stored runs and cards.

    The site opens from a disk, on any static host, and as a static Space of Hugging Face.
    """
    # Imported late, because it imports the app, which the other commands do not need.
    from areaviz.site.pages import make_site

    page_of = partial(make_live_html, checkpoints=checkpoints)
    size = make_site(folder, checkpoints, page_of, tuple(model or ()), address)
    typer.echo(f"{folder / 'index.html'}: {size / 1e6:.1f} MB in all.")
