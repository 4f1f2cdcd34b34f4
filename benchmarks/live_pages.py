"""Compare live pages, opened from a disk in Chromium, with Python, and measure them.

    python -m benchmarks.live_pages [--models NAME ...] [--method beam] [--double] [--write]

Every input runs in the page and in Python: 200 sentences of validation for translators and the
language model, half of them with a beam of 4, and 100 inputs for other models. Pictures are files,
so the browser's decoding and the engine's resizing count. A trace is equal if the output, fields,
alternatives and warnings are. Times include the pass that records all weights. "CPU" is the time
that the page's process computed, all threads together, so it hardly depends on what else runs.
The corpora are those of `areaviz data get multi30k babi`.
"""

from __future__ import annotations

import base64
import os
import tempfile
import time
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from playwright.sync_api import Browser, Page, sync_playwright

from areaviz.cards.card import read_card
from areaviz.live.build import LiveModel, make_live_page
from areaviz.models import MODELS
from areaviz.samples.paths import CHECKPOINTS
from benchmarks.live import Compared
from benchmarks.live_inputs import INPUTS, Given
from benchmarks.renderer import largest_renderer
from benchmarks.report import command, markdown, processor, publish
from tests.browser.server import ARGUMENTS, browser_path
from tests.components.live.node import plain_request, trace_of

# Arrays leave the page as texts, because playwright would copy each number separately.
RUN = """async ({ request, file }) => {
  if (file) {
    const bytes = Uint8Array.from(atob(file.data), (one) => one.charCodeAt(0));
    request.picture = new Blob([bytes], { type: file.type });
  }
  const since = performance.now();
  window.found = await window.areaviz.run(request);
  window.found.milliseconds = performance.now() - since;
}"""
TAKE = """() => {
  const { found } = window;
  for (const array of Object.values(found.arrays)) {
    const bytes = new Uint8Array(array.data.buffer, array.data.byteOffset, array.data.byteLength);
    array.kind = array.data.constructor.name;
    array.data = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
  }
  return found;
}"""


@dataclass(slots=True, kw_only=True)
class Measured(Compared):
    """Figures of one model."""

    megabytes: float
    opening: float = 0.0
    ready: float = 0.0
    memory: float = 0.0
    computed: list[float] = field(default_factory=list)
    asked: int = 0

    @property
    def row(self) -> tuple[str, ...]:
        """The cells of the model's row."""
        return (
            *self.agreement,
            f"{self.asked}",
            f"{np.median(self.milliseconds):.0f} ms",
            f"{np.mean(self.computed):.0f} ms",
            f"{sum(self.computed) / self.items:.1f} ms",
            f"{self.opening:.2f} s",
            f"{self.ready:.2f} s",
            f"{self.memory:.0f} MB",
            f"{self.megabytes:.1f} MB",
        )


@dataclass(frozen=True, slots=True)
class Options:
    """Options of the comparison.

    Args:
        limit: Number of inputs per model, or None for all.
        method: Decoding method of all outputs, or None for the method of each input.
        is_double: Whether Python computes in double precision. It shows how much of a difference
            comes from Python's rounding.
    """

    limit: int | None = None
    method: str | None = None
    is_double: bool = False


def measured(name: str, browser: Browser, folder: Path, options: Options) -> Measured:
    """Compare a model's page with Python."""
    card = read_card(CHECKPOINTS / name / "card.json")
    python = MODELS[card.family].load(CHECKPOINTS / name, card, torch.device("cpu"))
    inputs = list(islice(INPUTS[name](name), options.limit))
    if options.method is not None:
        inputs = [one.written(options.method) for one in inputs]
    path = folder / f"{name}.html"
    (opening,) = python.trace([inputs[0].request])
    path.write_text(make_live_page(LiveModel.load(CHECKPOINTS / name, card), opening), "utf-8")
    page = browser.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    if options.is_double:
        _make_double(python)
    found = Measured(name=name, megabytes=path.stat().st_size / 1e6)
    since = time.perf_counter()
    page.goto(path.as_uri(), wait_until="commit")
    page.locator("main > .panel [data-ready]").first.wait_for()
    found.opening = time.perf_counter() - since
    page.locator("html[data-live=ready]").wait_for(state="attached")
    _run(page, inputs[0])
    found.ready = time.perf_counter() - since
    renderer = largest_renderer()
    for one in inputs:
        before = renderer.milliseconds
        _run(page, one)
        found.computed.append(renderer.milliseconds - before)
        document = page.evaluate(TAKE)
        (expected,) = python.trace([one.request])
        found.add(trace_of(document), expected, document["milliseconds"])
    outside = [url for url in asked if not url.startswith(("blob:", "data:", path.as_uri()))]
    found.asked, found.memory = len(outside), renderer.megabytes
    page.close()
    return found


def _make_double(python: Any) -> None:
    """Make a model compute in double precision, also with tensors that it creates itself."""
    python.network.double()
    torch.set_default_dtype(torch.float64)


def _run(page: Page, one: Given) -> None:
    """Run one input in the page, which keeps the trace in `window.found`."""
    request = plain_request(one.request)
    file = None
    if one.file:
        data = base64.b64encode(one.file).decode()
        file = {"data": data, "type": f"image/{one.kind.lower()}"}
        del request["picture"]
    page.evaluate(RUN, {"request": request, "file": file})


def main() -> None:
    """Compare the pages and print a table."""
    parser = command("Compare live pages in Chromium with Python.")
    parser.add_argument("--models", nargs="+", default=list(INPUTS))
    parser.add_argument("--limit", type=int, default=None, help="number of inputs per model")
    parser.add_argument("--method", choices=("greedy", "beam"), help="decoding method")
    parser.add_argument("--double", action="store_true", help="use double precision in Python")
    options = parser.parse_args()
    compared = Options(options.limit, options.method, options.double)
    torch.set_num_threads(1)
    rows = []
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        executable = browser_path()
        browser = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        for name in options.models:
            result = measured(name, browser, Path(folder), compared)
            rows.append(result.row)
            print(*result.row, sep=" | ", flush=True)
    load = os.getloadavg()[0]
    about = f"Measured on {processor()} with a load of {load:.1f}, in Chromium from file://."
    columns = ["model", "outputs", "traces", "largest difference", "requests", "an input"]
    columns += ["CPU", "CPU of an item", "opening drawn", "first answer", "memory", "file"]
    publish("live pages", markdown(about, columns, rows), options.write)


if __name__ == "__main__":
    main()
