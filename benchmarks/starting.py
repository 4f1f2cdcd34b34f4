"""Measure the app's start, the first view of each page, idle memory, and a beam search.

    python -m benchmarks.starting [--before FOLDER] [--rounds N] [--write]

Start: from the command `serve` to the first answer on the page Translate in a browser. Then each
page is opened for the first time, until its script has run. Idle: resident memory of the server
some seconds after Translate, and after all pages. Beam: a model of characters, one request at a
time, the mean of ten sentences. `--before` names a clone of the repository at an older commit. It
and the present commit are measured alternately. Pages that it does not have show a dash.
"""

from __future__ import annotations

import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser

from areaviz.samples.paths import ROOT
from benchmarks.browser import chromium, first_view, opened
from benchmarks.report import command, markdown, processor, publish

IDLE_SECONDS = 8
RUN = '.stApp[data-test-script-state="notRunning"]'
ROWS = {
    "server": "server answers, s",
    "answer": "first answer on Translate, s",
    "idle": "memory after Translate, MB",
    "visited": "memory after all pages, MB",
}
# The request for both commits.
ASKED = "model=char-tiny-area&text=A+dog+runs+in+the+snow."
BEAM = """
import time
from pathlib import Path
from areaviz.backend.local import LocalBackend
from areaviz.trace.request import Request
nouns, places = ("dog", "man", "woman", "child", "boy"), ("in the snow", "on a street")
texts = [f"A {noun} runs {place} near a big house." for noun in nouns for place in places]
backend = LocalBackend(Path("checkpoints"), "cpu")
backend.trace(Request("char-tiny-area", texts[0], method="beam"))
began = time.perf_counter()
for text in texts:
    backend.trace(Request("char-tiny-area", text, method="beam"))
print((time.perf_counter() - began) / len(texts) * 1e3)
"""


@dataclass(frozen=True, slots=True)
class Start:
    """Figures of one start of the app."""

    # Seconds from the command to an answer of the server, and to the first answer on the page.
    server: float
    answer: float
    # MB after a while without requests: after Translate, and after all pages.
    idle: float
    visited: float
    # Seconds to the first view of each page.
    pages: Mapping[str, float]


def started(root: Path, browser: Browser) -> Start:
    """Start the app of the repository at `root`, open its pages, and leave it idle."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        settings = {**os.environ, "PYTHONPATH": str(root), "AREAVIZ_ANALYSES": folder}
        arguments = [sys.executable, "-m", "areaviz", "serve", "--port", str(port)]
        began = time.perf_counter()
        with subprocess.Popen(
            arguments, cwd=root, env=settings, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as server:
            try:
                return _looked_at(root, f"http://127.0.0.1:{port}", server.pid, began, browser)
            finally:
                server.terminate()


def _looked_at(root: Path, address: str, pid: int, began: float, browser: Browser) -> Start:
    _wait(address)
    listening = time.perf_counter() - began
    tab = opened(browser, "areaviz:ribbon")
    first_view(tab, f"{address}/translate?{ASKED}")
    answer = time.perf_counter() - began
    tab.close()
    time.sleep(IDLE_SECONDS)
    idle = _memory(pid)
    pages = {}
    for file in sorted((root / "pages").glob("[a-z]*.py")):
        tab = opened(browser, "areaviz:ribbon")
        start = time.perf_counter()
        tab.goto(f"{address}/{file.stem}")
        tab.wait_for_selector(RUN, state="attached")
        tab.wait_for_selector("h1")
        pages[file.stem] = time.perf_counter() - start
        tab.close()
    time.sleep(IDLE_SECONDS)
    return Start(listening, answer, idle, _memory(pid), pages)


def _wait(address: str) -> None:
    """Wait until a server answers."""
    while True:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.05)


def _memory(pid: int) -> float:
    """Return the resident memory of a process in megabytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def beam(root: Path) -> float:
    """Return the milliseconds of one beam search of a character model."""
    settings = {**os.environ, "PYTHONPATH": str(root)}
    arguments = [sys.executable, "-c", BEAM]
    done = subprocess.run(
        arguments, cwd=root, env=settings, check=True, capture_output=True, text=True
    )
    return float(done.stdout.split()[-1])


def table(before: Path | None, rounds: int) -> str:
    """Return the figures as Markdown, with the name of the machine."""
    roots = {"now": ROOT} | ({"before": before} if before else {})
    starts: dict[str, list[Start]] = {name: [] for name in roots}
    beams: dict[str, list[float]] = {name: [] for name in roots}
    with chromium() as browser:
        for _ in range(rounds):
            for name, root in roots.items():
                starts[name].append(started(root, browser))
                beams[name].append(beam(root))
    rows = []
    for name in ("server", "answer", "idle", "visited"):
        digits = 1 if name in ("server", "answer") else 0
        found = [statistics.median(getattr(one, name) for one in starts[key]) for key in roots]
        rows.append([ROWS[name], *(f"{value:.{digits}f}" for value in found)])
    rows.append(
        ["beam search of letters, ms", *(f"{statistics.median(beams[x]):.0f}" for x in roots)]
    )
    for page in starts["now"][0].pages:
        cells = []
        for commit in roots:
            found = [one.pages[page] for one in starts[commit] if page in one.pages]
            cells.append(f"{statistics.median(found):.1f}" if found else "–")
        rows.append([f"first view of {page.replace('_', ' ').capitalize()}, s", *cells])
    about = f"Measured on {processor()}, headless Chromium beside the server; medians of {rounds}."
    return markdown(about, ["", *roots], rows)


def main() -> None:
    """Measure and print, and write if requested."""
    parser = command("Measure the app's start, memory and a beam search.")
    parser.add_argument("--before", type=Path, help="a clone at an older commit")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    publish("starting", table(options.before, options.rounds), options.write)


if __name__ == "__main__":
    main()
