"""Server of a small page behind the app's gateway, as `python -m areaviz serve` serves the app.

    python -m tests.gateway.small_server --port PORT

A run of the small page takes milliseconds, so tests of the gateway can use many visitors. The
operator has commands that replace waiting in tests:

    move SECONDS        moves the server's clock on
    set NAME VALUE      sets an environment variable, such as a limit; answers the old one
    window SECONDS      sets the time in which a part of a body has to come
    keep SECONDS        sets the time for which new departures leave their session behind
"""

from __future__ import annotations

import os
import time
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from areaviz.gateway.protocols import Connections
    from areaviz.gateway.serving import Command

PAGE = Path(__file__).with_name("small_page.py")

# Longer than any test, even on a busy machine. A test shortens a limit to see it in force.
PATIENT_SECONDS = 3600


class Clock:
    """A clock that can be moved on."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._ahead = clock, 0.0

    def __call__(self) -> float:
        return self._clock() + self._ahead

    def move(self, words: Sequence[str]) -> None:
        """Move the clock on by some seconds."""
        self._ahead += float(words[0])


def main() -> None:
    """Serve the page on this machine until the process is stopped."""
    parser = ArgumentParser(description="Serve a small page behind the gateway of the app.")
    parser.add_argument("--port", type=int, required=True)
    port = parser.parse_args().port
    time.monotonic = clock = Clock(time.monotonic)
    # Import these now, because some of them keep the clock that they find.
    from streamlit import config

    from areaviz.gateway import protocols
    from areaviz.gateway.gateway import AppPlace
    from areaviz.gateway.serving import process_stats, serve_app
    from areaviz.samples.paths import ROOT

    started = time.monotonic()
    protocols.WINDOW_SECONDS = PATIENT_SECONDS

    def set_variable(words: Sequence[str]) -> str:
        name, value = words
        before, os.environ[name] = os.environ[name], value
        return before

    def commands(connections: Connections) -> dict[str, Command]:
        return {
            "status": lambda words: process_stats(started, connections),
            "move": clock.move,
            "set": set_variable,
            "window": lambda words: setattr(protocols, "WINDOW_SECONDS", float(words[0])),
            "keep": lambda words: config.set_option(
                "server.disconnectedSessionTTL", float(words[0])
            ),
        }

    serve_app(AppPlace("127.0.0.1", port), ROOT, commands, PAGE)


if __name__ == "__main__":
    main()
