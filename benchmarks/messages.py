"""Measure the largest message that the browser sends from every page of the app.

    python -m benchmarks.messages [--write]

Every page opens with its example. Its folded parts are opened and some of its choices clicked,
because a message contains the states of all inputs of the page. The limits of messages
(`areaviz/shares.py`) must be well above these figures.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, WebSocket, expect
from streamlit.proto.BackMsg_pb2 import BackMsg

from areaviz.app.page import TITLES
from benchmarks.browser import chromium
from benchmarks.report import command, markdown, processor, publish
from tests.browser.conftest import settled
from tests.faults.served import Served, served

CLICKS = 4


@dataclass(frozen=True, slots=True)
class Largest:
    """The largest message of a page.

    Args:
        page: Name of the page.
        size: Bytes of the largest message.
        inputs: Largest number of inputs whose states one message contained.
        sent: Number of messages that were sent.
    """

    page: str
    size: int
    inputs: int
    sent: int


def largest_message(browser: Browser, app: Served, name: str) -> Largest:
    """Open a page, click its first choices, and return the largest message that it sent."""
    sent: list[bytes] = []

    def keep(content: str | bytes) -> None:
        if isinstance(content, bytes):
            sent.append(content)

    def watch(socket: WebSocket) -> None:
        socket.on("framesent", keep)

    tab = browser.new_page(viewport={"width": 1280, "height": 900}, bypass_csp=True)
    tab.set_default_timeout(60_000)
    tab.on("websocket", watch)
    tab.goto(f"{app.url}/{'' if name == 'home' else name}")
    tab.get_by_role("heading", level=1).first.wait_for()
    settled(tab)
    main_part = tab.get_by_role("main")
    for folded in main_part.locator("details:not([open]) > summary").all():
        if folded.is_visible():
            folded.click()
    settled(tab)
    for _ in range(CLICKS):
        choices = main_part.get_by_role("radio", checked=False, disabled=False)
        seen = [one for one in choices.all() if one.is_visible()]
        if not seen:
            break
        seen[len(sent) % len(seen)].click(force=True)
        settled(tab)
    tab.close()
    return Largest(name, max(map(len, sent)), max(map(_inputs, sent)), len(sent))


def _inputs(content: bytes) -> int:
    return len(BackMsg.FromString(content).rerun_script.widget_states.widgets)


def measure() -> Iterator[Largest]:
    """Yield the largest message of every page."""
    with (
        tempfile.TemporaryDirectory() as folder,
        served(Path(folder) / "log", {}) as app,
        chromium() as browser,
    ):
        for name in TITLES:
            yield largest_message(browser, app, name)


def main() -> None:
    """Measure and print, and write if requested."""
    options = command(__doc__ or "").parse_args()
    expect.set_options(timeout=120_000)
    rows = []
    for one in measure():
        print(one, flush=True)
        rows.append((TITLES[one.page], f"{one.size / 1000:.1f} kB", str(one.inputs), str(one.sent)))
    about = f"Measured on {processor()}, with the example that each page opens with."
    columns = ("page", "largest message", "inputs in a message", "messages sent")
    publish("messages", markdown(about, columns, rows), options.write)


if __name__ == "__main__":
    main()
