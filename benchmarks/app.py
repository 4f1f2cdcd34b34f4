"""Measure the token ribbon in a real browser, on random weights with 12 layers and 12 heads.

    python -m benchmarks.app [--items 32 128 ...] [--write]

First view: from navigation in a new session, on a server that has shown the page before, to the
painted ribbon.
Building: time to compute the ribbon's data from the weights. It is done once per trace and layer,
shared by all sessions, and measured alone.
Hover and head switch: from the event's time stamp to the end of the frame that shows the answer.
Bytes: everything the server sends over the WebSocket for the first view. Area weights of all layers
of a long text do not fit into memory (4,096 items: 48 GB), so the rows of all heads and layers are
shifted windows of one random table. Every row is a distribution of its own.
"""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser

from areaviz.trace.areas import AreaGrid
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.views.ribbon.ribbon import make_ribbon_payload
from benchmarks.browser import chromium, first_view, heap, hovers_and_switches, opened
from benchmarks.random_attention import (
    HEADS,
    LAYERS,
    SITE,
    random_rows,
    random_words,
    windows_trace,
)
from benchmarks.report import command, markdown, percentile, processor, publish
from tests.browser.server import Server

ITEMS = (32, 128, 512, 1024, 4096)
MARK = "areaviz:ribbon"
AREA_SIZE = 5
HOVERS, SWITCHES, VIEWS = 60, 24, 3
SETTING = "AREAVIZ_BENCH_ITEMS"
COLUMNS = (
    "tokens",
    "first view s",
    "building s",
    "KB sent",
    "hover p50 ms",
    "hover p95 ms",
    "head switch p95 ms",
    "DOM nodes",
    "JS heap MB",
)


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures for one length. Times are in seconds, those of hover and switch in milliseconds."""

    items: int
    first_view: float
    building: float
    sent: int
    hover: list[float]
    switch: list[float]
    nodes: int
    heap: int

    def row(self) -> list[str]:
        """Return the figures as a row of the table."""
        return [
            f"{self.items:,}",
            f"{self.first_view:.2f}",
            f"{self.building:.2f}",
            f"{self.sent / 1000:,.0f}",
            percentile(self.hover, 50),
            percentile(self.hover, 95),
            percentile(self.switch, 95),
            f"{self.nodes:,}",
            f"{self.heap / 1e6:.1f}",
        ]


def random_trace(items: int) -> Trace:
    """Return a self-attention trace of `items` tokens from one random table."""
    rng = np.random.default_rng(items)
    grid = AreaGrid.clamped((1, items), (1, AREA_SIZE))
    rows = random_rows(rng, items + LAYERS * HEADS, grid.count)
    return windows_trace(rows, random_words(rng, items), grid)


def page() -> None:
    """Draw the page that is measured."""
    import streamlit as st

    from areaviz.app.components import draw_ribbon

    st.set_page_config(layout="wide")
    trace = st.cache_resource(random_trace)(int(os.environ[SETTING]))
    draw_ribbon(trace, Focus(SITE), key="ribbon")


def measure(items: int, browser: Browser, log: Path) -> Figures:
    """Serve, warm up and measure one length."""
    server = Server("benchmarks/app.py", log, {SETTING: str(items)})
    try:
        url = server.wait()
        warm_up = opened(browser, MARK)
        first_view(warm_up, url)
        warm_up.close()
        views = []
        for view in range(VIEWS):
            tab = opened(browser, MARK)
            seconds, sent = first_view(tab, url)
            views.append(seconds)
            if view < VIEWS - 1:
                tab.close()
        nodes = tab.locator(".ribbon").evaluate("root => root.querySelectorAll('*').length")
        texts, heads = tab.locator("[data-side=query] .scroller"), tab.locator(".heads button")
        hover, switch = hovers_and_switches(tab, texts, heads, (20, 12), (HOVERS, SWITCHES))
        used = heap(tab)
        tab.close()
    finally:
        server.stop()
    view_seconds = float(np.median(views))
    return Figures(items, view_seconds, _building(items), sent, hover, switch, nodes, used)


def _building(items: int) -> float:
    """Return the seconds to build only the ribbon's data, in a process that does nothing else."""
    trace = random_trace(items)
    start = time.perf_counter()
    make_ribbon_payload(trace, Focus(SITE))
    return time.perf_counter() - start


def table(figures: list[Figures]) -> str:
    """Return the figures as Markdown, with the machine and a description."""
    about = (
        f"Measured on {processor()}, server and headless Chromium together; random weights,"
        f" {LAYERS} layers, {HEADS} heads, areas up to {AREA_SIZE} tokens; the heads' rows are"
        f" windows of one random table. First view: median of {VIEWS} new sessions on a warm"
        f" server; hover: {HOVERS} events; head switch: {SWITCHES} clicks."
    )
    return markdown(about, COLUMNS, [each.row() for each in figures])


def main() -> None:
    """Measure and print, and write if requested."""
    parser = command("Measure the token ribbon in the system's Chromium.")
    parser.add_argument(
        "--items", type=int, nargs="+", default=list(ITEMS), help="how many tokens to measure"
    )
    options = parser.parse_args()
    with chromium() as browser, tempfile.TemporaryDirectory() as folder:
        figures = [measure(items, browser, Path(folder) / "server.log") for items in options.items]
    publish("app", table(figures), options.write)


if __name__ == "__main__":
    if SETTING in os.environ:
        page()
    else:
        main()
