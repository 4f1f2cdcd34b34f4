"""The commands `show`, `export` and `validate`, for stored traces."""

from __future__ import annotations

import webbrowser
from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from areaviz.backend.backend import DEFAULT_CHECKPOINTS
from areaviz.draw.labels import pluralise
from areaviz.draw.select import list_sites
from areaviz.media.formats import PICTURE
from areaviz.page.content import LEAST_AREAS, MOST_AREAS, THEMES, PageOptions
from areaviz.page.page import ENDINGS, PageServer, make_page
from areaviz.page.page import export as export_trace
from areaviz.texts.catalogue import ENGLISH, LANGUAGES
from areaviz.trace.arrays import holds_trace, open_npz
from areaviz.trace.changes import parse_ranges
from areaviz.trace.errors import READINGS, InputError, check_choice
from areaviz.trace.file import OPERATOR, load, read_version, refuse_damage
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus, Request
from areaviz.views.views import VIEWS

# `show TRACE` opens a saved trace in the browser, and `export TRACE FILE` writes it to a file.


# Options for the initial selection.
SavedTrace = Annotated[
    Path, typer.Argument(help="A saved trace (.npz), or the folder of a transformers model.")
]
Text = Annotated[str, typer.Option(help="The text to run, if you give the folder of a model.")]
PictureName = Annotated[
    str,
    typer.Option(
        help="The picture to run, if you give the folder of a model: a file, or a sample such as"
        " scene-34."
    ),
]
Site = Annotated[
    str | None, typer.Option(help='Attention type to show first, such as "encoder-decoder".')
]
Layer = Annotated[int | None, typer.Option(min=1, help="Layer to show first, from 1.")]
Head = Annotated[
    int | None, typer.Option(min=1, help="Head to show first, from 1. Default: all heads.")
]

Reading = Annotated[str, typer.Option(help=f"Initial display: {', '.join(READINGS)}.")]

# Options for the content of a page.
Layers = Annotated[str, typer.Option(help="Layers of the page, such as 1-4,12. Default: all.")]
Sites = Annotated[
    str, typer.Option(help="Attention types of the page, separated by commas. Default: all.")
]
Areas = Annotated[
    int,
    typer.Option(
        min=LEAST_AREAS, max=MOST_AREAS, help="Maximum number of areas per query in the page."
    ),
]
Title = Annotated[str, typer.Option(help="The title of a page. Default: the model's name.")]
ThemeName = Annotated[str, typer.Option("--theme", help=f"Theme of a page: {', '.join(THEMES)}.")]
LanguageName = Annotated[
    str, typer.Option("--language", help=f"Language of a page: {', '.join(LANGUAGES)}.")
]
Note = Annotated[str, typer.Option(help="Your own text below the title of a page.")]
Limit = Annotated[float, typer.Option(min=0.125, max=256, help="Maximum size of a page in MiB.")]


def show(
    trace: SavedTrace,
    text: Text = "",
    picture: PictureName = "",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port of the page. 0 chooses a free port.")
    ] = 0,
    browser: Annotated[
        bool, typer.Option(help="Whether to open the browser or only print the address.")
    ] = True,
    site: Site = None,
    layer: Layer = None,
    head: Head = None,
    reading: Reading = READINGS[0],
    layers: Layers = "",
    sites: Sites = "",
    areas: Areas = MOST_AREAS,
    title: Title = "",
    note: Note = "",
    limit: Limit = 16,
    theme: ThemeName = "auto",
    language: LanguageName = ENGLISH,
) -> None:
    """Show a saved trace in the browser until Ctrl-C, or run the model of a folder and show it.

    Only this machine can open the page. Site, layer, head and reading set the initial selection. To
    send the page to another person, write it to a file with `export`.
    """
    found = _load_trace(trace, text, picture)
    options = make_page_options(layers, sites, areas, title, note, limit, theme, language)
    html = make_page(found, choose_focus(found, site, layer, head, reading), options)

    with PageServer(html, port) as server:
        typer.echo(f"{trace.name} is shown on {server.url} until Ctrl-C.")
        if browser:
            webbrowser.open(server.url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            typer.echo()


def export(
    trace: SavedTrace,
    file: Annotated[
        Path, typer.Argument(help=f"File to write. Its extension is one of: {', '.join(ENDINGS)}.")
    ],
    text: Text = "",
    picture: PictureName = "",
    view: Annotated[
        str | None, typer.Option(help=f"View of a figure or table: {', '.join(VIEWS)}.")
    ] = None,
    site: Site = None,
    layer: Layer = None,
    head: Head = None,
    reading: Reading = READINGS[0],
    layers: Layers = "",
    sites: Sites = "",
    areas: Areas = MOST_AREAS,
    title: Title = "",
    note: Note = "",
    limit: Limit = 16,
    theme: ThemeName = "auto",
    language: LanguageName = ENGLISH,
) -> None:
    """Write a saved trace as a page, a figure, a table of numbers or a film.

    The extension of the file chooses the format. A page is one file that opens in any browser,
    without this program, and shows every layer and head. Site, layer, head and reading set the
    initial selection of a page, or the content of a figure.
    """
    found = _load_trace(trace, text, picture)
    options = make_page_options(layers, sites, areas, title, note, limit, theme, language)
    export_trace(found, file, choose_focus(found, site, layer, head, reading), options, view)
    typer.echo(f"{file}: {file.stat().st_size / 1000:,.0f} KB.")


def _load_trace(place: Path, text: str, picture: str) -> Trace:
    """Return a saved trace, or run the model of a folder."""
    if not place.exists():
        raise InputError(f"{place} is neither a folder nor a saved trace. Check the path.")
    if not place.is_dir():
        if text or picture:
            raise InputError(
                "A saved trace has its own input. Use --text and --picture only with a folder."
            )
        return load(place)
    # Imported here, because a saved trace can be shown without torch.
    from areaviz.backend.backend import find_model
    from areaviz.cli.models import medium_of

    model = find_model(str(place), DEFAULT_CHECKPOINTS, "auto")
    seen = medium_of(PICTURE, picture) if picture else None
    return model.open().trace(Request(model.name, text, picture=seen))


def choose_focus(
    trace: Trace, site: str | None, layer: int | None, head: int | None, reading: str = READINGS[0]
) -> Focus | None:
    """Return the selected focus, or None if no option is set.

    Args:
        trace: the trace.
        site: name of a site; None selects the first one.
        layer: counted from 1; None selects the first one.
        head: counted from 1; None selects all heads.
        reading: one of `READINGS`. The first of them is the default and does not count as set.

    Raises:
        InputError: the trace does not have this site, layer or head, or the reading is unknown.
    """
    check_choice("reading", reading, READINGS)
    if site is None and layer is None and head is None and reading == READINGS[0]:
        return None
    sizes = {name: (one.layers, one.heads) for name, one in trace.maps.items()}
    sizes |= dict.fromkeys(trace.gazes, (1, 1))
    site, layer = site or next(iter(list_sites(trace)), ""), layer or 1
    most_layers, most_heads = sizes.get(site, (0, 0))
    if layer > most_layers or (head or 1) > most_heads:
        known = [f"{name} ({one[0]} layers, {one[1]} heads)" for name, one in sizes.items()]
        raise InputError(
            f"This trace has no such site, layer or head. It has: {', '.join(known) or 'none'}."
        )
    return Focus(site, layer - 1, None if head is None else head - 1, reading=reading)


def make_page_options(
    layers: str,
    sites: str,
    areas: int,
    title: str,
    note: str,
    limit: float,
    theme: str = "auto",
    language: str = ENGLISH,
) -> PageOptions:
    """Return the options of a page.

    Raises:
        InputError: `layers` is not a list such as "1-4,12", or the theme or language is unknown.
    """
    if theme not in THEMES:
        raise InputError(f'Theme "{theme}" does not exist. Choose one of {", ".join(THEMES)}.')
    if language not in LANGUAGES:
        known = ", ".join(LANGUAGES)
        raise InputError(f'Language "{language}" does not exist. Choose one of {known}.')
    return PageOptions(
        title=title,
        note=note,
        layers=tuple(sorted(set(parse_ranges(layers, "layers")))),
        sites=tuple(filter(None, map(str.strip, sites.split(",")))),
        areas=areas,
        limit=round(limit * 2**20),
        theme=theme,
        language=language,
    )


# `areaviz validate FILE ...`: check that files are valid traces, as docs/trace.md defines them.


SCHEMA = "trace.schema.json"


def validate(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Stored traces or arrays of weights (.npz).", metavar="FILE"),
    ] = None,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schema of the document in a trace.")
    ] = False,
) -> None:
    """Check every part of stored traces of this or any older version, and print a line per file.

    If a file cannot be read, its line says what is wrong, and the exit status is 1. The command
    also checks arrays for the page "Your own attention".
    """
    if schema:
        typer.echo(read_schema(), nl=False)
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


def read_schema() -> str:
    """Return the JSON schema of the document of a trace."""
    return (resources.files("areaviz.trace") / SCHEMA).read_text("utf-8")


def describe_file(path: Path) -> str:
    """Describe the content of a valid file.

    Raises:
        InputError: the file contains neither a trace nor weights, is damaged, or comes from a
            newer version.
    """
    # Opening a pipe would block until something is written to it.
    if path.exists() and not path.is_file():
        raise InputError("This is not a file. Give a stored trace or an npz file of arrays.")
    with refuse_damage(), path.open("rb") as file:
        if holds_trace(file, OPERATOR):
            kind = f"a trace, version {read_version(file)}, of"
        else:
            kind = "arrays, which make a trace:"
        return f"{kind} {_describe_maps(open_npz(file, room=OPERATOR))}."


def _describe_maps(trace: Trace) -> str:
    parts = [trace.request.model]
    for site, one in trace.maps.items():
        layers, heads = pluralise(one.layers, "layer"), pluralise(one.heads, "head")
        parts.append(f"{site} ({layers}, {heads})")
    return ", ".join([*parts, *trace.gazes])
