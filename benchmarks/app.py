"""How fast the token ribbon is in a real browser, on random weights with 12 layers and 12 heads.

    python -m benchmarks.app [--items 32 128 ...] [--write]

First view: from navigation in a new session, on a server that has shown the page before, to the
painted ribbon.
Building: the ribbon's data from the weights, once for a trace and layer and shared by all sessions,
measured alone.
Hover and head switch: from the event's time stamp to the end of the frame that shows the answer.
Bytes: everything the server sends over the WebSocket for the first view. Area weights of all layers
of a long text do not fit into memory (4,096 items: 48 GB), so the rows of all heads and layers are
shifted windows of one random table; every row is a distribution of its own.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, Page

from areaviz.interactive.ribbon import ribbon_payload
from areaviz.trace.areas import AreaGrid
from areaviz.trace.record import AttentionMap, Field, Output, Trace
from areaviz.trace.request import Focus, Request
from benchmarks.browser import chromium, clicks, hovers, opened
from benchmarks.report import README, markdown, percentile, processor, write_section
from tests.browser.server import Server

ITEMS = (32, 128, 512, 1024, 4096)
LAYERS = HEADS = 12
AREA_SIZE = 5
HOVERS, SWITCHES, VIEWS = 60, 24, 3
SETTING = "AREAVIZ_BENCH_ITEMS"
COLUMNS = (
    "tokens", "first view s", "building s", "KB sent", "hover p50 ms", "hover p95 ms", "head switch p95 ms",
    "DOM nodes", "JS heap MB",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured for one length; times in seconds (first view) and milliseconds (the
    others).
    """

    items: int
    first_view: float
    building: float
    sent: int
    hover: list[float]
    switch: list[float]
    nodes: int
    heap: int

    def row(self) -> list[str]:
        """The figures as a row of the table."""
        return [
            f"{self.items:,}", f"{self.first_view:.2f}", f"{self.building:.2f}", f"{self.sent / 1000:,.0f}",
            percentile(self.hover, 50), percentile(self.hover, 95), percentile(self.switch, 95), f"{self.nodes:,}",
            f"{self.heap / 1e6:.1f}",
        ]  # fmt: skip


def random_trace(items: int) -> Trace:
    """A self-attention trace of `items` tokens whose heads and layers are windows of one random
    table.
    """
    rng = np.random.default_rng(items)
    grid = AreaGrid.clamped((1, items), (1, AREA_SIZE))
    table = rng.standard_exponential((items + LAYERS * HEADS, grid.count), np.float32) ** 3
    table /= table.sum(1, keepdims=True)
    row, column = table.strides
    shape, strides = (LAYERS, HEADS, items, grid.count), (HEADS * row, row, row, column)
    weights = np.lib.stride_tricks.as_strided(table, shape, strides, writeable=False)
    words = ["".join(rng.choice(list("aeilnorst"), rng.integers(2, 8))) for _ in range(items)]
    ends = np.cumsum([len(word) + 1 for word in words]) - 1
    anchors = np.stack([ends - [len(word) for word in words], ends], 1)
    field = Field("source", "text", " ".join(words), tuple(words), anchors)
    attention = AttentionMap("encoder self", "source", "source", grid, weights)
    output = Output("source", np.ones(items, np.float32), ((),) * items)
    return Trace(
        Request("random", field.raw), {"source": field}, output, {"encoder self": attention}
    )


def page() -> None:
    """The page that is measured."""
    import streamlit as st

    from areaviz.ui.components.ribbon import ribbon

    st.set_page_config(layout="wide")
    trace = st.cache_resource(random_trace)(int(os.environ[SETTING]))
    ribbon(trace, Focus("encoder self"), key="ribbon")


def measure(items: int, browser: Browser, log: Path) -> Figures:
    """Serve, warm up, and measure one length."""
    server = Server("benchmarks/app.py", log, {SETTING: str(items)})
    try:
        url = server.wait()
        _first_view(browser, url)[0].close()
        views = []
        for _ in range(VIEWS):
            tab, seconds, sent = _first_view(browser, url)
            views.append(seconds)
            if len(views) < VIEWS:
                tab.close()
        nodes = tab.locator(".ribbon").evaluate("root => root.querySelectorAll('*').length")
        texts = tab.locator("[data-side=query] .scroller")
        hover = hovers(tab, texts, HOVERS)
        texts.click(position={"x": 20, "y": 12})
        switch = clicks(tab, tab.locator(".heads button"), SWITCHES)
        heap = tab.context.new_cdp_session(tab).send("Runtime.getHeapUsage")["usedSize"]
        tab.close()
    finally:
        server.stop()
    return Figures(
        items, float(np.median(views)), _building(items), sent, hover, switch, nodes, heap
    )


def _first_view(browser: Browser, url: str) -> tuple[Page, float, int]:
    """A new session up to the painted ribbon: the page, seconds, bytes received over
    the WebSocket.
    """
    tab = opened(browser, "areaviz:ribbon")
    frames: list[str | bytes] = []
    tab.on(
        "websocket", lambda socket: socket.on("framereceived", lambda frame: frames.append(frame))
    )
    tab.goto(url)
    tab.wait_for_function("window.bench.painted > 0")
    return tab, float(tab.evaluate("window.bench.painted")) / 1000, sum(map(len, frames))


def _building(items: int) -> float:
    """Seconds to build the ribbon's data alone, in a process that does nothing else."""
    trace = random_trace(items)
    start = time.perf_counter()
    ribbon_payload(trace, Focus("encoder self"))
    return time.perf_counter() - start


def table(figures: list[Figures]) -> str:
    """The figures as Markdown, with the machine and what was measured."""
    about = (
        f"Measured on {processor()}, server and headless Chromium together; random weights,"
        f" {LAYERS} layers, {HEADS} heads, areas up to {AREA_SIZE} tokens; the heads' rows are"
        f" windows of one random table. First view: median of {VIEWS} new sessions on a warm"
        f" server; hover: {HOVERS} events; head switch: {SWITCHES} clicks."
    )
    return markdown(about, COLUMNS, [each.row() for each in figures])


def main() -> None:
    """Measure, print, and write when asked to."""
    parser = argparse.ArgumentParser(
        description="Measure the token ribbon in the system's Chromium."
    )
    parser.add_argument(
        "--items", type=int, nargs="+", default=list(ITEMS), help="how many tokens to measure"
    )
    parser.add_argument("--write", action="store_true", help=f"write the table to {README.name}")
    options = parser.parse_args()
    with chromium() as browser, tempfile.TemporaryDirectory() as folder:
        figures = [measure(items, browser, Path(folder) / "server.log") for items in options.items]
    print(text := table(figures))
    if options.write:
        write_section("app", text)


if __name__ == "__main__":
    if SETTING in os.environ:
        page()
    else:
        main()
