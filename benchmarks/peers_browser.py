"""Measurements of a page in a browser, for all tools of `benchmarks/peers.py`."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, Error, Page, Route
from playwright.sync_api import TimeoutError as Late

from benchmarks.browser import NODES, timed, watch
from benchmarks.report import percentile

HOVERS, SWITCHES, PATIENCE = 20, 3, 30.0  # Seconds for all hovers, and for all switches.
MARK = "areaviz:ribbon"
COLUMNS = (
    "tool",
    "tokens",
    "result",
    "making s",
    "MB",
    "first mark s",
    "hover p50 ms",
    "hover p95 ms",
    "layer switch s",
    "DOM nodes",
    "browser MB",
)
FIRST = """
window.peer = {first: 0};
const seek = () => {
  if (!(() => { TEST })()) return requestAnimationFrame(seek);
  const channel = new MessageChannel();
  channel.port1.onmessage = () => { window.peer.first = performance.now(); };
  channel.port2.postMessage(0);
};
requestAnimationFrame(seek);
"""
SWITCH = """(layer) => new Promise((done) => {
  const choice = document.querySelector('select.layer, select#layer'), start = performance.now();
  choice.value = layer;
  choice.dispatchEvent(new Event('change', {bubbles: true}));
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
})"""
DRAWN = """const all = [...document.querySelectorAll('canvas')], last = all[all.length - 1];
  if (!last || !last.width || last.width < 300) return false;
  const {data} = last.getContext('2d').getImageData(last.width / 2, last.height / 2, 64, 64);
  return data.some((value, at) => at % 4 === 3 && value > 0);"""


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of one tool and length. A value is None if there is nothing to measure.

    Times are in seconds, and hover times in milliseconds.
    """

    tool: str
    items: int
    # "pass", or how the measurement ended.
    result: str
    making: float | None = None
    size: int | None = None
    first: float | None = None
    hover: tuple[float, ...] = ()
    switch: float | None = None
    nodes: int | None = None
    memory: float | None = None

    def row(self) -> list[str]:
        """Return the figures as a row of the table."""
        megabytes = None if self.size is None else self.size / 1e6
        return [
            self.tool,
            f"{self.items:,}",
            self.result,
            _shown(self.making, 1),
            _shown(megabytes, 1),
            _shown(self.first, 1),
            percentile(self.hover, 50),
            percentile(self.hover, 95),
            _shown(self.switch, 2),
            _shown(self.nodes, 0),
            _shown(self.memory, 0),
        ]


@dataclass(frozen=True, slots=True)
class Tool:
    """Instructions for measuring the page of a tool."""

    # Body of a JavaScript function that returns whether attention is drawn.
    drawn: str
    # Selector of the element to point at.
    pointed: str
    # Switches to a layer and returns the seconds that this takes.
    switch: Callable[[Page, int], float] | None


def _clicked(buttons: str, tab: Page, layer: int) -> float:
    """Choose a layer and wait until the ribbon is painted again."""
    before = float(tab.evaluate("window.bench.painted"))
    start = float(tab.evaluate("performance.now()"))
    # Do not use `click`: radio buttons are hidden behind their labels.
    tab.locator(buttons).nth(layer).evaluate("button => button.click()")
    # Do not use `wait_for_function`: a page's own security policy may forbid it.
    while float(tab.evaluate("window.bench.painted")) <= before:
        if float(tab.evaluate("performance.now()")) - start > PATIENCE * 1000:
            raise Late("The ribbon was not painted anew.")
        tab.wait_for_timeout(5)
    return (float(tab.evaluate("window.bench.painted")) - start) / 1000


def _changed(tab: Page, layer: int) -> float:
    return float(tab.evaluate(SWITCH, str(layer))) / 1000


RIBBON = f"return performance.getEntriesByName('{MARK}').length > 0"
LINES = "return document.querySelector('svg line') !== null"
TEXTS = "[data-side=query] .scroller"
TOOLS: Mapping[str, Tool] = {
    "areaviz, shown": Tool(RIBBON, TEXTS, partial(_clicked, "[name$='-layer']")),
    "areaviz, exported page": Tool(RIBBON, TEXTS, partial(_clicked, "[name$='-layer']")),
    "BertViz head_view": Tool(LINES, "svg", _changed),
    "BertViz, one layer": Tool(LINES, "svg", None),
    "CircuitsVis, one layer": Tool(DRAWN, "canvas >> nth=-1", None),
}


def measured(
    found: Figures, browser: Browser, url: str, scripts: Path | None, limit: float
) -> Figures:
    """Return the figures, completed with the measurements of the page at `url`."""
    tool = TOOLS[found.tool]
    tab = _opened(browser, url, tool, scripts, limit)
    first = tab.evaluate("window.peer ? window.peer.first : 0") if _first(tab, limit) else 0
    if not first:
        return replace(found, result=_failure(tab))
    found = replace(found, first=first / 1000)
    found = replace(found, nodes=tab.evaluate(NODES), memory=_renderers(browser))
    try:
        found = replace(found, hover=tuple(_hovers(tab, tool)))
        return replace(found, switch=_switches(tab, tool))
    except Error as error:
        ended = "timeout" if isinstance(error, Late) else "crash"
        return replace(found, result=f"pass, then {ended}")


def _opened(browser: Browser, url: str, tool: Tool, scripts: Path | None, limit: float) -> Page:
    """Open a page without waiting until it has loaded."""
    # Playwright waits by evaluating scripts, which a page's own policy may forbid.
    tab = browser.new_page(viewport={"width": 1280, "height": 900}, bypass_csp=True)
    tab.set_default_timeout(limit * 1000)
    tab.add_init_script(watch(MARK) + FIRST.replace("TEST", tool.drawn))
    tab.route(re.compile("^https:"), partial(_from_folder, scripts))
    try:
        tab.goto(url, wait_until="commit")
        _first(tab, limit)
    except Error:
        pass  # `_failure` names a page that crashes or does not answer.
    return tab


def _from_folder(scripts: Path | None, route: Route) -> None:
    """Answer a network request from a folder: "d3.min.js" for ".../d3/5.7.0/d3.min.js"."""
    name = route.request.url.rsplit("/", 1)[-1].removesuffix(".js") + ".js"
    if scripts and (scripts / name).is_file():
        route.fulfill(path=scripts / name, content_type="text/javascript")
    else:
        route.abort()


def _first(tab: Page, limit: float) -> bool:
    try:
        tab.wait_for_function("window.peer && window.peer.first > 0", timeout=limit * 1000)
        return True
    except Error:
        return False


def _failure(tab: Page) -> str:
    """Return "blank" if the page is idle and has drawn nothing, otherwise "timeout" or "crash"."""
    try:
        tab.wait_for_function("document.readyState === 'complete'", timeout=5000)
        return "blank"
    except Late:
        return "timeout"
    except Error:
        return "crash"


def _hovers(tab: Page, tool: Tool) -> Iterator[float]:
    """Yield milliseconds of answers to pointing at random spots of the visible part."""
    box = tab.locator(tool.pointed).first.bounding_box()
    assert box is not None
    most = min(box["width"], 1200 - box["x"]) * 0.8, min(box["height"], 850 - box["y"])
    began = time.monotonic()
    for x, y in np.random.default_rng(0).uniform((6, 6), most, (HOVERS, 2)):
        yield timed(tab, partial(tab.mouse.move, float(x + box["x"]), float(y + box["y"])))
        if time.monotonic() - began > PATIENCE:
            return


def _switches(tab: Page, tool: Tool) -> float | None:
    if tool.switch is None:
        return None
    began, seconds = time.monotonic(), []
    for layer in range(1, SWITCHES + 1):
        seconds.append(tool.switch(tab, layer))
        if time.monotonic() - began > PATIENCE:
            break
    return float(np.median(seconds))


def _renderers(browser: Browser) -> float:
    """Return the megabytes of the processes that render pages."""
    processes = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    statuses = [Path(f"/proc/{one['id']}/status") for one in processes if one["type"] == "renderer"]
    found = [
        re.search(r"VmRSS:\s+(\d+) kB", status.read_text())
        for status in statuses
        if status.exists()
    ]
    return sum(int(one[1]) for one in found if one) / 1024


def _shown(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"
