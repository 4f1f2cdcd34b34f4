"""Server of a small page behind the app's gateway, as `python -m areaviz serve` serves the app.

    python -m tests.gateway.small_server --port PORT

A run of the small page takes milliseconds, so tests of the gateway can use many visitors.
"""

from __future__ import annotations

import time
from argparse import ArgumentParser
from pathlib import Path

from areaviz.data.paths import ROOT
from areaviz.gateway.gateway import AppPlace
from areaviz.gateway.limits import Connections
from areaviz.gateway.operator import Command
from areaviz.gateway.serving import process_stats, serve_app

PAGE = Path(__file__).with_name("small_page.py")


def main() -> None:
    """Serve the page on this machine until the process is stopped."""
    parser = ArgumentParser(description="Serve a small page behind the gateway of the app.")
    parser.add_argument("--port", type=int, required=True)
    place = AppPlace("127.0.0.1", parser.parse_args().port)
    started = time.monotonic()

    def commands(connections: Connections) -> dict[str, Command]:
        return {"status": lambda words: process_stats(started, connections)}

    serve_app(place, ROOT, commands, PAGE)


if __name__ == "__main__":
    main()
