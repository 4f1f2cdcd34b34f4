"""Shared parts of the page benchmarks: a browser, a clock in the page, pointing and clicking."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import numpy as np
from playwright.sync_api import Browser, Locator, Page, sync_playwright

from tests.browser.server import ARGUMENTS, browser_path

_WATCH = """
window.bench = {painted: 0, asked: 0, times: []};
const framed = (report) => requestAnimationFrame(() => {
  const channel = new MessageChannel();
  channel.port1.onmessage = () => report(performance.now());
  channel.port2.postMessage(0);
});
let marks = 0;
const look = () => {
  const count = performance.getEntriesByName('MARK').length;
  if (count > marks) framed((now) => { window.bench.painted = now; });
  marks = count;
  requestAnimationFrame(look);
};
look();
for (const name of ['pointermove', 'click']) addEventListener(name, (event) => {
  framed((now) => window.bench.times.push(now - event.timeStamp));
}, {capture: true});
addEventListener('change', () => { window.bench.asked = performance.now(); }, {capture: true});
"""

NODES = """() => {
  const count = (root) => [...root.querySelectorAll('*')].reduce(
    (sum, one) => sum + 1 + (one.shadowRoot ? count(one.shadowRoot) : 0), 0);
  return count(document);
}"""
"""A script that counts the nodes of a page, including shadow trees."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start the system's browser without a window, or exit if there is none."""
    path = browser_path()
    if path is None:
        sys.exit("No Chromium found: install one with `apt-get install chromium`.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


def opened(browser: Browser, mark: str) -> Page:
    """Open a fresh page with the clock of `watch`."""
    # Playwright waits by evaluating scripts, which a page's own policy may forbid.
    tab = browser.new_page(viewport={"width": 1280, "height": 900}, bypass_csp=True)
    tab.set_default_timeout(180_000)
    tab.add_init_script(watch(mark))
    return tab


def first_view(tab: Page, url: str) -> tuple[float, int]:
    """Open `url`; return the seconds to the painted component, and the bytes from WebSockets."""
    received = websocket_frames(tab)
    tab.goto(url)
    tab.wait_for_function("window.bench.painted > 0")
    return float(tab.evaluate("window.bench.painted")) / 1000, sum(map(len, received))


def websocket_frames(tab: Page) -> list[str | bytes]:
    """Return a list that collects everything that arrives over the page's WebSockets."""
    received: list[str | bytes] = []

    def add(frame: str | bytes) -> None:
        # Playwright sets attributes on its callbacks, which a list's own method does not allow.
        received.append(frame)

    tab.on("websocket", lambda socket: socket.on("framereceived", add))
    return received


def watch(mark: str) -> str:
    """Return a script that measures in a page.

    It records when the component with this performance mark was last painted, how long the page
    took to answer each pointer event, and when a file was last chosen.
    """
    return _WATCH.replace("MARK", mark)


def heap(tab: Page) -> int:
    """Return the bytes of the page's JavaScript heap."""
    return int(tab.context.new_cdp_session(tab).send("Runtime.getHeapUsage")["usedSize"])


def timed(tab: Page, act: Callable[[], None], last: bool = False) -> float:
    """Return milliseconds from the slowest or last event of `act` to the end of its frame."""
    tab.evaluate("window.bench.times = []")
    act()
    tab.wait_for_function("window.bench.times.length > 0")
    tab.wait_for_timeout(60)
    times = tab.evaluate("window.bench.times")
    return float(times[-1] if last else max(times))


def hovers(tab: Page, place: Locator, count: int) -> list[float]:
    """Return milliseconds of answers to pointing at random spots in the upper left of `place`."""
    place.scroll_into_view_if_needed()
    box = place.bounding_box()
    assert box is not None
    most = min(box["width"] / 2, 900), min(box["height"], 200)
    spots = np.random.default_rng(0).uniform((8, 4), most, (count, 2)) + (box["x"], box["y"])
    return [timed(tab, partial(tab.mouse.move, float(x), float(y))) for x, y in spots]


def clicks(tab: Page, buttons: Locator, count: int) -> list[float]:
    """Return milliseconds of answers to clicks on each of `buttons` in turn, [] without buttons."""
    several = buttons.count()
    times = []
    for number in range(count if several else 0):
        times.append(timed(tab, buttons.nth(number % several).click, last=True))
    return times


def hovers_and_switches(
    tab: Page, texts: Locator, heads: Locator, corner: tuple[int, int], counts: tuple[int, int]
) -> tuple[list[float], list[float]]:
    """Return milliseconds of pointing at `texts` and of head switches.

    The item at `corner` is locked during the switches.
    """
    hover = hovers(tab, texts, counts[0])
    texts.click(position={"x": corner[0], "y": corner[1]})
    return hover, clicks(tab, heads, counts[1])
