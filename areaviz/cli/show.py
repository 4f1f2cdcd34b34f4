"""`areaviz show TRACE`."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from areaviz.cli.view_options import Looking, looking
from areaviz.publish.page import page
from areaviz.publish.show import PageServer
from areaviz.trace import codec


@looking
def show(
    trace: Annotated[Path, typer.Argument(help="A saved trace (.npz).")],
    looking: Looking,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port of the page; 0 takes a free one.")
    ] = 0,
    browser: Annotated[
        bool, typer.Option(help="Open the browser, or only say the address.")
    ] = True,
) -> None:
    """Look into a saved trace in the browser, on this machine only, until Ctrl-C.

    Site, layer and head say where it opens. To send it to somebody, write it as a file by `export`.
    """
    found = codec.load(trace)
    html = page(found, looking.focus(found), looking.page())

    with PageServer(html, port) as server:
        typer.echo(f"{trace.name} is shown on {server.url} until Ctrl-C.")
        if browser:
            webbrowser.open(server.url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            typer.echo()
