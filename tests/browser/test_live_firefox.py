"""Live pages in Firefox, which WebDriver BiDi drives over a socket.

The test needs the system's Firefox, such as Debian's firefox-esr, and is skipped without it.
"""

from __future__ import annotations

import itertools
import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from websockets.sync.client import ClientConnection, connect

from areaviz.cards.card import read_card
from areaviz.cli.live import open_live_page
from areaviz.live.build import LiveModel, make_live_page, make_live_pair
from areaviz.models import MODELS
from areaviz.samples.paths import CHECKPOINTS
from areaviz.trace.request import Request

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
SECONDS = 60
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(FIREFOX is None, reason="no Firefox found: install firefox-esr"),
]
TEXTS = {
    "token-boundary": "A small dog runs through the snow.",
    "pointer-hull": "120,240 300,820 480,130 520,560 700,900",
    "memory-stories": "Mary went to the kitchen. John moved to the garden. Where is Mary?",
}


class Firefox:
    """A session of WebDriver BiDi with one tab."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.numbers = itertools.count(1)
        self.events: list[dict[str, Any]] = []
        self.call("session.new", capabilities={})
        events = ["network.beforeRequestSent", "log.entryAdded"]
        self.call("session.subscribe", events=events)
        self.tab = self.call("browsingContext.create", type="tab")["context"]

    def call(self, method: str, **params: Any) -> Any:
        """Send a command and return its result; events that arrive before it are kept."""
        number = next(self.numbers)
        self.connection.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            message = json.loads(self.connection.recv(timeout=SECONDS))
            if message.get("id") == number:
                assert message["type"] == "success", message
                return message["result"]
            self.events.append(message)

    def evaluate(self, code: str) -> Any:
        """Return the value of an expression in the page."""
        target = {"context": self.tab}
        found = self.call("script.evaluate", expression=code, target=target, awaitPromise=True)
        assert found["type"] == "success", found
        return found["result"].get("value")

    def wait(self, code: str) -> None:
        """Wait until an expression is true in the page."""
        until = time.monotonic() + SECONDS
        while not self.evaluate(code):
            assert time.monotonic() < until, code
            time.sleep(0.1)


@pytest.fixture(scope="module")
def firefox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    assert FIREFOX is not None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    profile = str(tmp_path_factory.mktemp("firefox"))
    command = [FIREFOX, "--headless", "--no-remote", "--profile", profile]
    command.append(f"--remote-debugging-port={port}")
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            _wait_for(port)
            with connect(f"ws://127.0.0.1:{port}/session", max_size=None) as connection:
                yield Firefox(connection)
        finally:
            process.terminate()


def _wait_for(port: int) -> None:
    until = time.monotonic() + SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            assert time.monotonic() < until, "Firefox does not answer"
            time.sleep(0.2)


@pytest.mark.long
@pytest.mark.parametrize("name", TEXTS)
def test_live_page_answers_in_firefox(firefox: Firefox, tmp_path: Path, name: str) -> None:
    card = read_card(CHECKPOINTS / name / "card.json")
    model = MODELS[card.family].load(CHECKPOINTS / name, card, torch.device("cpu"))
    request = Request(name, TEXTS[name], "beam")
    (trace,) = model.trace([request])
    file = tmp_path / "page.html"
    file.write_text(make_live_page(LiveModel.load(CHECKPOINTS / name, card), trace), "utf-8")
    firefox.events.clear()
    firefox.call("browsingContext.navigate", context=firefox.tab, url=file.as_uri())
    firefox.wait("document.documentElement.dataset.live === 'ready'")
    stage = "document.querySelector('main > .panel .stage').shadowRoot"
    firefox.wait(f"Boolean({stage}.querySelector('[data-ready]'))")
    firefox.evaluate("document.getElementById('live-run').click()")
    firefox.wait("document.getElementById('live-status').textContent.startsWith('Done in')")
    shown = firefox.evaluate("[...document.querySelectorAll('.texts .reading')].at(-1).textContent")
    assert shown == trace.fields["target"].raw
    for event in firefox.events:
        assert event["method"] != "log.entryAdded", event
        if event["method"] == "network.beforeRequestSent":
            url = event["params"]["request"]["url"]
            assert url.startswith(("data:", "blob:", file.as_uri())), url


def test_pair_of_models_answers_in_firefox(firefox: Firefox, tmp_path: Path) -> None:
    first, second = (open_live_page(name, CHECKPOINTS) for name in ("pointer-hull", "pointer-tour"))
    file = tmp_path / "pair.html"
    file.write_text(make_live_pair(first, second), "utf-8")
    firefox.call("browsingContext.navigate", context=firefox.tab, url=file.as_uri())
    firefox.wait("document.documentElement.dataset.live === 'ready'")
    firefox.evaluate("document.getElementById('live-run').click()")
    for number in range(2):
        status = f"frames[{number}].document.getElementById('live-status').textContent"
        firefox.wait(f"{status}.startsWith('Done in')")
