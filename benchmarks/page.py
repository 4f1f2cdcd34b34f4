"""How large an exported page is, and how fast it is in a real browser, on random weights with 12
layers and 12 heads.

    python -m benchmarks.page [--items 64 128 ...] [--area 5] [--write]

Every row of weights is random and its own, so nothing of it compresses as trained attention does.
Export: from the trace to the file, once. First mark: from opening the file to the painted ribbon.
Hover and head switch: from the time stamp of the event to the end of the frame that shows the
answer. Layer switch: from the click to the painted ribbon of the other layer. DOM nodes: of the
whole page, shadow trees and all.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, Page

import areaviz
from areaviz.trace.areas import AreaGrid
from areaviz.trace.record import AttentionMap, Field, Output, Trace
from areaviz.trace.request import Request
from benchmarks.browser import chromium, clicks, hovers, opened
from benchmarks.report import README, markdown, percentile, processor, write_section

ITEMS = (64, 128, 256, 512)
LAYERS = HEADS = 12
AREA_SIZE = 5
HOVERS, SWITCHES, VIEWS = 60, 24, 3
COLUMNS = (
    "tokens", "page MB", "export s", "first mark s", "hover p50 ms", "hover p95 ms", "head switch p95 ms",
    "layer switch p50 ms", "layer switch p95 ms", "DOM nodes", "JS heap MB",
)  # fmt: skip
_SWITCH = """async (number) => {
  const before = window.bench.painted;
  const start = performance.now();
  document.querySelectorAll('input[name="ribbon-layer"]')[number].click();
  while (window.bench.painted === before) await new Promise(requestAnimationFrame);
  return window.bench.painted - start;
}"""
_NODES = """() => {
  const below = (element) => (element.shadowRoot ? count(element.shadowRoot) : 0);
  const count = (root) => [...root.querySelectorAll('*')].reduce((sum, element) => sum + 1 + below(element), 0);
  return count(document);
}"""


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured of one page: bytes, seconds (export, first mark) and milliseconds (the
    others).
    """

    items: int
    size: int
    export: float
    first_mark: float
    hover: list[float]
    head_switch: list[float]
    layer_switch: list[float]
    nodes: int
    heap: int

    def row(self) -> list[str]:
        """The figures as a row of the table."""
        return [
            f"{self.items:,}", f"{self.size / 1e6:.2f}", f"{self.export:.1f}", f"{self.first_mark:.2f}",
            percentile(self.hover, 50), percentile(self.hover, 95), percentile(self.head_switch, 95),
            percentile(self.layer_switch, 50), percentile(self.layer_switch, 95), f"{self.nodes:,}",
            f"{self.heap / 1e6:.1f}",
        ]  # fmt: skip


def random_trace(items: int, area_size: int = AREA_SIZE) -> Trace:
    """Self-attention of `items` tokens to areas of up to `area_size`, every row of weights drawn
    for itself.
    """
    rng = np.random.default_rng(items)
    grid = AreaGrid.clamped((1, items), (1, area_size))
    weights = rng.standard_exponential((LAYERS, HEADS, items, grid.count), np.float32)
    weights **= 3
    weights /= weights.sum(-1, keepdims=True)
    words = ["".join(rng.choice(list("aeilnorst"), rng.integers(2, 8))) for _ in range(items)]
    ends = np.cumsum([len(word) + 1 for word in words]) - 1
    anchors = np.stack([ends - [len(word) for word in words], ends], 1)
    field = Field("source", "text", " ".join(words), tuple(words), anchors)
    attention = AttentionMap("encoder self", "source", "source", grid, weights)
    nothing = Field("output", "text", "", (), np.zeros((0, 2), np.int64))
    output = Output("output", np.zeros(0, np.float32), ())
    fields = {"source": field, "output": nothing}
    return Trace(Request("random", field.raw), fields, output, {"encoder self": attention})


def measure(file: Path, items: int, area_size: int, browser: Browser) -> Figures:
    """Export one page to `file` and measure it."""
    trace = random_trace(items, area_size)
    start = time.perf_counter()
    areaviz.export(trace, file)
    exported = time.perf_counter() - start
    del trace
    marks = []
    for view in range(VIEWS):
        tab = opened(browser, "areaviz:ribbon")
        marks.append(first_mark(tab, file))
        if view < VIEWS - 1:
            tab.close()
    nodes = int(tab.evaluate(_NODES))
    texts = tab.locator("[data-side=query] .scroller")
    hover = hovers(tab, texts, HOVERS)
    texts.click(position={"x": 20, "y": 12})
    heads = clicks(tab, tab.locator(".heads button"), SWITCHES)
    layers = [float(tab.evaluate(_SWITCH, number % LAYERS)) for number in range(SWITCHES)]
    heap = int(tab.context.new_cdp_session(tab).send("Runtime.getHeapUsage")["usedSize"])
    tab.close()
    return Figures(
        items,
        file.stat().st_size,
        exported,
        float(np.median(marks)),
        hover,
        heads,
        layers,
        nodes,
        heap,
    )


def first_mark(tab: Page, file: Path) -> float:
    """Seconds from opening a page to its painted component."""
    tab.goto(file.as_uri())
    tab.wait_for_function("window.bench.painted > 0")
    return float(tab.evaluate("window.bench.painted")) / 1000


def table(figures: list[Figures], area_size: int) -> str:
    """The figures as Markdown, with the machine and what was measured."""
    about = (
        f"Measured on {processor()}, headless Chromium; random weights, {LAYERS} layers, {HEADS}"
        f" heads, areas up to {area_size} tokens. First mark: median of {VIEWS} openings; {HOVERS}"
        f" hovers, {SWITCHES} switches."
    )
    return markdown(about, COLUMNS, [each.row() for each in figures])


def main() -> None:
    """Measure, print, and write when asked to."""
    parser = argparse.ArgumentParser(description="Measure exported pages in the system's Chromium.")
    parser.add_argument(
        "--items", type=int, nargs="+", default=list(ITEMS), help="how many tokens to measure"
    )
    parser.add_argument("--area", type=int, default=AREA_SIZE, help="the largest area, in tokens")
    parser.add_argument("--write", action="store_true", help=f"write the table to {README.name}")
    options = parser.parse_args()
    with chromium() as browser, tempfile.TemporaryDirectory() as folder:
        figures = [
            measure(Path(folder) / "page.html", items, options.area, browser)
            for items in options.items
        ]
    print(text := table(figures, options.area))
    if options.write:
        write_section("page", text)


if __name__ == "__main__":
    main()
