"""What the benchmarks of a page share: a clock in the page, and acting with it."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page

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


def watch(mark: str) -> str:
    """A script that keeps the clock of a page: when what sets this performance mark was last painted, how long the
    page took to answer each pointer event, and when a file was last chosen.
    """
    return _WATCH.replace("MARK", mark)


def timed(tab: Page, act: Callable[[], None], last: bool = False) -> float:
    """Milliseconds from the event that `act` causes (the last one, or the slowest) to the end of its frame."""
    tab.evaluate("window.bench.times = []")
    act()
    tab.wait_for_function("window.bench.times.length > 0")
    tab.wait_for_timeout(60)
    times = tab.evaluate("window.bench.times")
    return float(times[-1] if last else max(times))
