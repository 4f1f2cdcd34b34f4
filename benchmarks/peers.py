"""The same random attention (12 layers, 12 heads, N tokens) in areaviz, BertViz and CircuitsVis, in one run.

    python -m benchmarks.peers --peers PYTHON --scripts FOLDER [--items 32 64 ...] [--limit 120] [--write]

PYTHON is the interpreter of an environment with the peers, FOLDER has the scripts that BertViz asks a network for; see
benchmarks/README.md. Each cell has a browser and a limit of its own, for the making and for the first mark; where a
tool does not get there, longer texts are not tried. First mark: from navigation to the end of the frame in which the
first attention is drawn, for areaviz in a new session of a server that has shown it before. Hover and layer switch:
from the event to the end of the frame that answers it.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, Error, Page, Route
from playwright.sync_api import TimeoutError as Late

import areaviz
from areaviz.trace.request import Focus
from areaviz.views.ribbon import ribbon_payload
from benchmarks.browser import chromium, timed, watch
from benchmarks.peers_page import HEADS, LAYERS, SETTING, SITE, trace
from benchmarks.report import README, markdown, percentile, processor, write_section
from tests.browser.server import Server

ITEMS = (32, 64, 128, 256, 512, 1024, 2048, 4096)
HOVERS, SWITCHES, PATIENCE = 20, 3, 30.0  # seconds for all hovers, and for all switches
MARK = "areaviz:ribbon"
MAKE = Path(__file__).parent / "peers_make.py"
COLUMNS = (
    "tool", "tokens", "result", "making s", "MB", "first mark s", "hover p50 ms", "hover p95 ms", "layer switch s",
    "DOM nodes", "browser MB",
)  # fmt: skip
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
    """What was measured of one tool and length; None where there is nothing to measure. result: "pass", or how it
    ended. making, first, switch in seconds, hover in milliseconds."""

    tool: str
    items: int
    result: str
    making: float | None = None
    size: int | None = None
    first: float | None = None
    hover: tuple[float, ...] = ()
    switch: float | None = None
    nodes: int | None = None
    memory: float | None = None

    def row(self) -> list[str]:
        """The figures as a row of the table."""
        megabytes = None if self.size is None else self.size / 1e6
        return [
            self.tool, f"{self.items:,}", self.result, _shown(self.making, 1), _shown(megabytes, 1),
            _shown(self.first, 1), percentile(self.hover, 50), percentile(self.hover, 95), _shown(self.switch, 2),
            _shown(self.nodes, 0), _shown(self.memory, 0),
        ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tool:
    """drawn: the body of a script's function that says whether attention is drawn. pointed: selector of what is pointed
    at. switch: goes to a layer; returns seconds."""

    drawn: str
    pointed: str
    switch: Callable[[Page, int], float] | None


class NotMade(Exception):
    """A page could not be made; says why in a word or two."""


def _clicked(buttons: str, tab: Page, layer: int) -> float:
    """Choose a layer and wait for the ribbon to be painted anew."""
    before = float(tab.evaluate("window.bench.painted"))
    start = float(tab.evaluate("performance.now()"))
    tab.locator(buttons).nth(layer).evaluate("button => button.click()")  # radio buttons are hidden behind their labels
    # Not `wait_for_function`, which a page's own security policy forbids.
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
    "areaviz": Tool(RIBBON, TEXTS, partial(_clicked, "[data-testid=stButtonGroup] button")),
    "areaviz, exported page": Tool(RIBBON, TEXTS, partial(_clicked, "[name$='-layer']")),
    "BertViz head_view": Tool(LINES, "svg", _changed),
    "BertViz, one layer": Tool(LINES, "svg", None),
    "CircuitsVis, one layer": Tool(DRAWN, "canvas >> nth=-1", None),
}


@dataclass(frozen=True, slots=True)
class Setting:
    """peers: an interpreter, or "". scripts: a folder, or None. limit: seconds. folder: for pages and tables."""

    peers: str
    scripts: Path | None
    limit: float
    folder: Path


def table(items: int, folder: Path) -> Path:
    """The random attention of a length, as a file that all tools read, and its tokens beside it."""
    rng, path = np.random.default_rng(items), folder / f"{items}.npy"
    rows = rng.standard_exponential((items + LAYERS * HEADS, items), np.float32) ** 3
    np.save(path, rows / rows.sum(1, keepdims=True))
    words = ["".join(rng.choice(list("aeilnorst"), rng.integers(2, 8))) for _ in range(items)]
    path.with_suffix(".txt").write_text(" ".join(words), "utf-8")
    return path


def measure(tool: str, items: int, setting: Setting) -> Figures:
    """One cell."""
    found = Figures(tool, items, "pass")
    try:
        with _page(tool, table(items, setting.folder), setting) as (url, making, size), chromium() as browser:
            return _measured(replace(found, making=making, size=size), browser, url, setting)
    except NotMade as reason:
        return replace(found, result=str(reason))


@contextmanager
def _page(tool: str, source: Path, setting: Setting) -> Iterator[tuple[str, float, int | None]]:
    """Its address, seconds to make it, and bytes where it is a file."""
    start, target = time.perf_counter(), source.with_suffix(".html")
    if tool == "areaviz":
        ribbon_payload(trace(source), Focus(SITE))
        making = time.perf_counter() - start
        server = Server("benchmarks/peers_page.py", setting.folder / "server.log", {SETTING: str(source)})
        try:
            yield server.wait(), making, None
        finally:
            server.stop()
        return
    if tool == "areaviz, exported page":
        _export(source, target)
    else:
        _make(tool, source, target, setting)
    yield target.as_uri(), time.perf_counter() - start, target.stat().st_size


def _export(source: Path, target: Path) -> None:
    export = getattr(areaviz, "export", None)
    if export is None:
        raise NotMade("not here")
    try:
        export(trace(source), target)
    except ValueError as error:  # it says that the page would be larger than pages may be
        raise NotMade("refused") from error


def _make(tool: str, source: Path, target: Path, setting: Setting) -> None:
    if not setting.peers:
        raise NotMade("not here")
    try:
        command = [setting.peers, str(MAKE), tool, str(source), str(target)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=setting.limit)
    except subprocess.TimeoutExpired:
        raise NotMade("timeout, making") from None
    if done.returncode:
        full = "MemoryError" in done.stderr or "alloc" in done.stderr or done.returncode < 0
        raise NotMade("out of memory, making" if full else f"error: {done.stderr.strip().splitlines()[-1][:80]}")


def _measured(found: Figures, browser: Browser, url: str, setting: Setting) -> Figures:
    tool = TOOLS[found.tool]
    if found.size is None:
        _opened(browser, url, tool, setting)[0].close()  # a server that has shown it before
    tab, received = _opened(browser, url, tool, setting)
    first = tab.evaluate("window.peer ? window.peer.first : 0") if _first(tab, setting.limit) else 0
    if not first:
        return replace(found, result=_failure(tab))
    found = replace(found, first=first / 1000, size=found.size or sum(map(len, received)))
    found = replace(found, nodes=tab.evaluate(NODES), memory=_renderers(browser))
    try:
        found = replace(found, hover=tuple(_hovers(tab, tool)))
        return replace(found, switch=_switches(tab, tool))
    except Error as error:
        return replace(found, result=f"pass, then {'timeout' if isinstance(error, Late) else 'crash'}")


NODES = """() => {
  const count = (root) => [...root.querySelectorAll('*')].reduce(
    (sum, one) => sum + 1 + (one.shadowRoot ? count(one.shadowRoot) : 0), 0);
  return count(document);
}"""


def _opened(browser: Browser, url: str, tool: Tool, setting: Setting) -> tuple[Page, list[str | bytes]]:
    """A page that is on its way, and what comes over its WebSocket."""
    tab = browser.new_page(viewport={"width": 1280, "height": 900}, bypass_csp=True)  # waiting evaluates scripts
    tab.set_default_timeout(setting.limit * 1000)
    tab.add_init_script(watch(MARK) + FIRST.replace("TEST", tool.drawn))
    tab.route(re.compile("^https:"), partial(_from_folder, setting.scripts))
    received: list[str | bytes] = []
    tab.on("websocket", lambda socket: socket.on("framereceived", lambda frame: received.append(frame)))
    try:
        tab.goto(url, wait_until="commit")
        _first(tab, setting.limit)
    except Error:
        pass  # a page that crashes or does not answer is told by `_failure`
    return tab, received


def _from_folder(scripts: Path | None, route: Route) -> None:
    """What a page asks a network for, out of a folder: "d3.min.js" for ".../d3/5.7.0/d3.min.js"."""
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
    """Blank where the page is idle and has drawn nothing, else timeout or crash."""
    try:
        tab.wait_for_function("document.readyState === 'complete'", timeout=5000)
        return "blank"
    except Late:
        return "timeout"
    except Error:
        return "crash"


def _hovers(tab: Page, tool: Tool) -> Iterator[float]:
    """Milliseconds of answers to pointing at random spots of what is pointed at, as far as it is in sight."""
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
    """Megabytes of the processes that hold pages."""
    processes = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    statuses = [Path(f"/proc/{one['id']}/status") for one in processes if one["type"] == "renderer"]
    found = [re.search(r"VmRSS:\s+(\d+) kB", status.read_text()) for status in statuses if status.exists()]
    return sum(int(one[1]) for one in found if one) / 1024


def _shown(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


def report(figures: Sequence[Figures], limit: float) -> str:
    """The figures as Markdown, with the machine and what was measured."""
    about = (
        f"Measured on {processor()}, headless Chromium on the same machine; the same random attention everywhere, "
        f"{LAYERS} layers of {HEADS} heads; at most {limit:.0f} s for making a page and for its first mark, and 8 GB "
        f"for making one. Hover: {HOVERS} events; layer switch: median of {SWITCHES}."
    )
    return markdown(about, COLUMNS, [each.row() for each in figures])


def _all(options: argparse.Namespace, folder: Path) -> Iterator[Figures]:
    setting = Setting(options.peers, options.scripts, options.limit, folder)
    for tool in options.tools:
        for items in options.items:
            found = measure(tool, items, setting)
            print(" | ".join(found.row()), flush=True)
            yield found
            if not found.result.startswith("pass"):
                break


def main() -> None:
    """Measure, print, and write when asked to."""
    parser = argparse.ArgumentParser(description="Measure areaviz and its peers in the system's Chromium.")
    parser.add_argument("--items", type=int, nargs="+", default=list(ITEMS), help="how many tokens to measure")
    parser.add_argument("--tools", nargs="+", default=list(TOOLS), choices=list(TOOLS), help="what to measure")
    parser.add_argument("--peers", default=os.environ.get("AREAVIZ_PEERS", ""), help="interpreter with the peers")
    parser.add_argument("--scripts", type=Path, help="folder with require.min.js, d3.min.js and jquery.min.js")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds a step may take")
    parser.add_argument("--write", action="store_true", help=f"write the table to {README.name}")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = list(_all(options, Path(folder)))
    print(text := report(figures, options.limit))
    if options.write:
        write_section("peers", text)


if __name__ == "__main__":
    main()
