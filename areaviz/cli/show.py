"""`areaviz show TRACE`."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from areaviz.cli._looking import Areas, Head, Layer, Layers, Limit, Note, Site, Sites, Title, focus_on, page_options
from areaviz.sharing.page import page
from areaviz.sharing.server import PageServer
from areaviz.trace import codec


def show(
    trace: Annotated[Path, typer.Argument(help="A saved trace (.npz).")],
    site: Site = None,
    layer: Layer = None,
    head: Head = None,
    layers: Layers = "",
    sites: Sites = "",
    areas: Areas = 64,
    title: Title = "",
    note: Note = "",
    limit: Limit = 16,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port of the page; 0 takes a free one.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open the browser, or only say the address.")] = True,
) -> None:
    """Look into a saved trace in the browser, on this machine only, until Ctrl-C.

    Site, layer and head say where it opens. To send it to somebody, write it as a file by `export`.
    """
    found = codec.load(trace)
    html = page(found, focus_on(found, site, layer, head), page_options(title, note, layers, sites, areas, limit))
    with PageServer(html, port) as server:
        typer.echo(f"{trace.name} is shown on {server.url} until Ctrl-C.")
        if browser:
            webbrowser.open(server.url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            typer.echo()
