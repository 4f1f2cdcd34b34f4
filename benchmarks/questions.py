"""Measure how soon a question of the lessons can be answered.

    python -m benchmarks.questions [--rounds N] [--write]

Open: from navigation to a picture in which the reader can answer, in a browser that has opened the
app before, on a server that has shown the page before. The app's scripts take most of this time.
Floor: from navigation to the server's first message. No page of the app can show anything earlier.
Next: from a press of "Next question" to the layout of the next picture, without the server.
"""

from __future__ import annotations

import os
import statistics
import tempfile
from pathlib import Path

from playwright.sync_api import BrowserContext

from areaviz.learn.questions import QUESTIONS
from benchmarks.browser import chromium
from benchmarks.report import command, markdown, processor, publish
from tests.browser.server import Server

MARK = "areaviz:lesson"
_FIRST_MESSAGE = """
const Plain = window.WebSocket;
window.WebSocket = class extends Plain {
  constructor(...options) {
    super(...options);
    this.addEventListener('message', () => { window.heard ??= performance.now(); });
  }
};
"""
_NEXT = """() => {
  const hosts = [...document.querySelectorAll('*')].filter((one) => one.shadowRoot);
  const root = hosts.map((one) => one.shadowRoot).find((one) => one.querySelector('.lessons'));
  const start = performance.now();
  root.querySelector('.ways .main').click();
  root.querySelector('.lesson .picture').getBoundingClientRect();
  return performance.now() - start;
}"""


def main() -> None:
    """Measure all questions, and print the table."""
    parser = command(__doc__ or "")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        server = Server("app.py", Path(folder) / "log", {})
        try:
            address = f"{server.wait()}/how_areas_work"
            context = browser.new_context(viewport={"width": 1280, "height": 860})
            opened(context, address, 1)
            times = [opened(context, address, n) for _ in range(options.rounds) for n in QUESTIONS]
            steps = nexts(context, address)
        finally:
            server.stop()
    floors, opens = zip(*times, strict=True)
    rows = [["floor, s", *figures(floors, 2)], ["open, s", *figures(opens, 2)]]
    rows.append(["next, ms", *figures(steps, 0)])
    load = os.getloadavg()[0]
    said = f"{processor()}; load {load:.1f}; {len(QUESTIONS)} questions, {options.rounds} rounds."
    table = markdown(f"Measured on {said}", ("", "median", "worst"), rows)
    publish("questions", table, options.write)


def opened(context: BrowserContext, address: str, number: int) -> tuple[float, float]:
    """Open a question in a new tab; return the seconds to the first message and to the picture."""
    page = context.new_page()
    page.add_init_script(_FIRST_MESSAGE)
    page.goto(f"{address}?q={number}", wait_until="commit")
    page.wait_for_function(f"performance.getEntriesByName('{MARK}').length > 0")
    heard = page.evaluate("window.heard")
    drawn = page.evaluate(f"performance.getEntriesByName('{MARK}')[0].startTime")
    page.close()
    return heard / 1e3, drawn / 1e3


def nexts(context: BrowserContext, address: str) -> list[float]:
    """Return milliseconds from a press of Next to the next picture, for all questions."""
    page = context.new_page()
    page.goto(f"{address}?q=1")
    page.wait_for_function(f"performance.getEntriesByName('{MARK}').length > 0")
    found = []
    for _ in range(len(QUESTIONS) - 1):
        page.get_by_role("button", name="I don’t know, show me").click()
        found.append(float(page.evaluate(_NEXT)))
    page.close()
    return found


def figures(times: list[float] | tuple[float, ...], digits: int) -> list[str]:
    """Return the median and the worst of times."""
    return [f"{one:.{digits}f}" for one in (statistics.median(times), max(times))]


if __name__ == "__main__":
    main()
