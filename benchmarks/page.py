"""Measure exported pages in a real browser: their size and speed, on random weights.

There are 12 layers and 12 heads.

    python -m benchmarks.page [--items 64 128 ...] [--area 5] [--write]

Every row of weights has its own random values, so pages compress less than with trained attention.
Export: from the trace to the file, once. First mark: from opening the file to the painted ribbon.
Hover and head switch: from the time stamp of the event to the end of the frame that shows the
answer. Layer switch: from the click to the painted ribbon of the other layer. DOM nodes: all nodes
of the page, including shadow trees.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser

import areaviz
from areaviz.trace.areas import AreaGrid
from areaviz.trace.record import AttentionMap, Field, Output, Trace
from areaviz.trace.request import Request
from benchmarks.browser import NODES, chromium, first_view, heap, hovers_and_switches, opened
from benchmarks.random_attention import (
    HEADS,
    LAYERS,
    SITE,
    random_rows,
    random_words,
    words_field,
)
from benchmarks.report import command, markdown, percentile, processor, publish

ITEMS = (64, 128, 256, 512)
AREA_SIZE = 5
HOVERS, SWITCHES, VIEWS = 60, 24, 3
COLUMNS = (
    "tokens",
    "page MB",
    "export s",
    "first mark s",
    "hover p50 ms",
    "hover p95 ms",
    "head switch p95 ms",
    "layer switch p50 ms",
    "layer switch p95 ms",
    "DOM nodes",
    "JS heap MB",
)
_SWITCH = """async (number) => {
  const before = window.bench.painted;
  const start = performance.now();
  document.querySelectorAll('input[name="ribbon-layer"]')[number].click();
  while (window.bench.painted === before) await new Promise(requestAnimationFrame);
  return window.bench.painted - start;
}"""


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of one page: bytes, seconds (export, first mark) and milliseconds (the rest)."""

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
        """Return the figures as a row of the table."""
        return [
            f"{self.items:,}",
            f"{self.size / 1e6:.2f}",
            f"{self.export:.1f}",
            f"{self.first_mark:.2f}",
            percentile(self.hover, 50),
            percentile(self.hover, 95),
            percentile(self.head_switch, 95),
            percentile(self.layer_switch, 50),
            percentile(self.layer_switch, 95),
            f"{self.nodes:,}",
            f"{self.heap / 1e6:.1f}",
        ]


def random_trace(items: int, area_size: int = AREA_SIZE) -> Trace:
    """Return self-attention of tokens to areas of up to `area_size`, with random weights."""
    rng = np.random.default_rng(items)
    grid = AreaGrid.clamped((1, items), (1, area_size))
    weights = random_rows(rng, LAYERS, HEADS, items, grid.count)
    field = words_field(random_words(rng, items))
    attention = AttentionMap(SITE, "source", "source", grid, weights)
    nothing = Field("output", "text", "", (), np.zeros((0, 2), np.int64))
    output = Output("output", np.zeros(0, np.float32), ())
    fields = {"source": field, "output": nothing}
    return Trace(Request("random", field.raw), fields, output, {SITE: attention})


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
        seconds, _ = first_view(tab, file.as_uri())
        marks.append(seconds)
        if view < VIEWS - 1:
            tab.close()
    nodes = int(tab.evaluate(NODES))
    texts, buttons = tab.locator("[data-side=query] .scroller"), tab.locator(".heads button")
    hover, heads = hovers_and_switches(tab, texts, buttons, (20, 12), (HOVERS, SWITCHES))
    layers = [float(tab.evaluate(_SWITCH, number % LAYERS)) for number in range(SWITCHES)]
    used = heap(tab)
    tab.close()
    first_mark = float(np.median(marks))
    size = file.stat().st_size
    return Figures(items, size, exported, first_mark, hover, heads, layers, nodes, used)


def table(figures: list[Figures], area_size: int) -> str:
    """Return the figures as Markdown, with the machine and a description."""
    about = (
        f"Measured on {processor()}, headless Chromium; random weights, {LAYERS} layers, {HEADS}"
        f" heads, areas up to {area_size} tokens. First mark: median of {VIEWS} openings; {HOVERS}"
        f" hovers, {SWITCHES} switches."
    )
    return markdown(about, COLUMNS, [each.row() for each in figures])


def main() -> None:
    """Measure and print, and write if requested."""
    parser = command("Measure exported pages in the system's Chromium.")
    parser.add_argument(
        "--items", type=int, nargs="+", default=list(ITEMS), help="how many tokens to measure"
    )
    parser.add_argument("--area", type=int, default=AREA_SIZE, help="the largest area, in tokens")
    options = parser.parse_args()
    figures = []
    with chromium() as browser, tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "page.html"
        for items in options.items:
            figures.append(measure(file, items, options.area, browser))
    publish("page", table(figures, options.area), options.write)


if __name__ == "__main__":
    main()
