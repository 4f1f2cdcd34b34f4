"""Measure how long a picture takes from upload to caption, and how fast the image grid responds.

    python -m benchmarks.pictures [--model NAME] [--write]

Upload: from the moment a file is chosen in the browser to the painted grid, on the page Caption of
a server that has described a picture with this model before. Each file has a different picture.
Hover and head switch: from the event's time stamp to the end of the frame that shows the answer.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page

from areaviz.samples.scenes import make_scene
from benchmarks.browser import chromium, hovers_and_switches, opened
from benchmarks.report import command, markdown, percentile, processor, publish
from tests.browser.server import Server

MODELS = ("scene-captions-boundary", "photo-captions-area", "photo-teller-soft")
UPLOADS, HOVERS, SWITCHES = 10, 60, 20
SIZE = 480
"""Side of the uploaded pictures in pixels."""
COLUMNS = (
    "model",
    "upload p50 s",
    "upload max s",
    "hover p50 ms",
    "hover p95 ms",
    "head switch p95 ms",
    "DOM nodes",
)


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of one model. Times of uploads are in seconds, other times in milliseconds."""

    model: str
    uploads: list[float]
    hover: list[float]
    switch: list[float]
    nodes: int

    def row(self) -> list[str]:
        """Return the figures as a row of the table."""
        return [
            f"`{self.model}`",
            percentile(self.uploads, 50, 2),
            percentile(self.uploads, 100, 2),
            percentile(self.hover, 50),
            percentile(self.hover, 95),
            percentile(self.switch, 95),
            f"{self.nodes:,}",
        ]


def measure(model: str, url: str, browser: Browser, folder: Path) -> Figures:
    """Upload pictures one after the other, then point at the result of the last one."""
    tab = opened(browser, "areaviz:grid")
    tab.goto(f"{url}/caption?model={model}")
    tab.wait_for_function("window.bench.painted > 0")
    # The form is collapsed when the page opens with a stored answer, and after each run.
    tab.locator(".st-key-caption_form summary").click()
    tab.get_by_text("Upload", exact=True).first.click()
    uploads = [_upload(tab, folder / f"{number}.png", number) for number in range(UPLOADS + 1)][1:]
    nodes = tab.locator(".grid").evaluate("root => root.querySelectorAll('*').length")
    words = tab.locator(".grid [data-side=query] .scroller:visible").first
    heads = tab.locator(".grid .heads button")
    hover, switch = hovers_and_switches(tab, words, heads, (30, 14), (HOVERS, SWITCHES))
    tab.close()
    return Figures(model, uploads, hover, switch, nodes)


def _upload(tab: Page, file: Path, number: int) -> float:
    """Return the seconds from choosing a file to its grid."""
    Image.fromarray(make_scene("samples", 1000 + number).pixels(SIZE)).save(file)
    tab.locator("input[type=file]").first.wait_for(state="attached")
    tab.wait_for_timeout(1500)
    tab.evaluate("window.bench.asked = 0")
    tab.locator("input[type=file]").first.set_input_files(file)
    tab.wait_for_function("window.bench.asked > 0 && window.bench.painted > window.bench.asked")
    tab.wait_for_timeout(1500)  # If the grid is painted again, that time counts.
    return float(tab.evaluate("window.bench.painted - window.bench.asked")) / 1000


def table(figures: list[Figures]) -> str:
    """Return the figures as Markdown, with the machine and a description."""
    about = (
        f"Measured on {processor()}, server and headless Chromium together, on the page Caption."
        f" Upload: {UPLOADS} pictures of {SIZE}x{SIZE} pixels, after one to warm up; hover:"
        f" {HOVERS} events; head switch: {SWITCHES} clicks."
    )
    return markdown(about, COLUMNS, [each.row() for each in figures])


def main() -> None:
    """Measure and print, and write if requested."""
    parser = command("Measure the image grid in the system's Chromium.")
    parser.add_argument(
        "--model", nargs="+", default=list(MODELS), help="which captioners to measure"
    )
    options = parser.parse_args()
    with chromium() as browser, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        server = Server("app.py", folder / "server.log", {})
        try:
            url = server.wait()
            figures = [measure(model, url, browser, folder) for model in options.model]
        finally:
            server.stop()
    publish("pictures", table(figures), options.write)


if __name__ == "__main__":
    main()
