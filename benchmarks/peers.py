"""Compare areaviz, BertViz and CircuitsVis on random attention (12 layers, 12 heads, N tokens).

    python -m benchmarks.peers --peers PYTHON --scripts FOLDER [--items 32 64 ...] [--limit 120]
    [--write]

PYTHON is the interpreter of an environment with the other tools. FOLDER has the scripts that
BertViz would load from a network (see benchmarks/README.md). Each combination of tool and length
has its own browser. A time limit applies to making the page and to the first mark. If a tool
exceeds the limit, it is not tried with longer texts.

areaviz is used only through its public functions `from_arrays`, `show` and `export`. The page of
`show` contains one layer and requests the other layers from this process.

The time of the first mark is measured from navigation to the end of the frame in which the first
attention is drawn. The times of a hover and of a layer switch are measured from the event to the
end of the frame that answers it.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import areaviz
from benchmarks.browser import chromium
from benchmarks.peers_browser import COLUMNS, HOVERS, SWITCHES, TOOLS, Figures, measured
from benchmarks.random_attention import HEADS, LAYERS, random_rows, random_words, windows
from benchmarks.report import command, markdown, processor, publish

ITEMS = (32, 64, 128, 256, 512, 1024, 2048, 4096)
MAKE = Path(__file__).parent / "peers_make.py"


class NotMade(Exception):
    """Raised if a page could not be made. The message has the reason, such as "out of memory"."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Settings that all measurements share."""

    # Path of the interpreter with the other tools, or "".
    peers: str
    # Folder with the scripts of BertViz, or None.
    scripts: Path | None
    # Limit of each step in seconds.
    limit: float
    # Folder for pages and tables.
    folder: Path


def table(items: int, folder: Path) -> Path:
    """Write random attention of `items` tokens, and the tokens, to files that all tools read."""
    rng, path = np.random.default_rng(items), folder / f"{items}.npy"
    np.save(path, random_rows(rng, items + LAYERS * HEADS, items))
    path.with_suffix(".txt").write_text(" ".join(random_words(rng, items)), "utf-8")
    return path


def trace(source: Path) -> areaviz.Trace:
    """Return the attention of a file as a trace."""
    rows, words = np.load(source), source.with_suffix(".txt").read_text("utf-8").split(" ")
    return areaviz.from_arrays(windows(rows, len(words)), words, area_size=1)


def measure(tool: str, items: int, setting: Setting) -> Figures:
    """Measure one tool at one length."""
    found = Figures(tool, items, "pass")
    try:
        with (
            _page(tool, table(items, setting.folder), setting) as (url, making, size),
            chromium() as browser,
        ):
            found = replace(found, making=making, size=size)
            return measured(found, browser, url, setting.scripts, setting.limit)
    except NotMade as reason:
        return replace(found, result=str(reason))


@contextmanager
def _page(tool: str, source: Path, setting: Setting) -> Iterator[tuple[str, float, int]]:
    """Yield the address of the page, the seconds to make it, and its bytes."""
    start, target = time.perf_counter(), source.with_suffix(".html")
    if tool == "areaviz, shown":
        shown = areaviz.show(trace(source), widget=False)
        target.write_text(shown.html, "utf-8", "replace")
        yield target.as_uri(), time.perf_counter() - start, target.stat().st_size
        return
    if tool == "areaviz, exported page":
        _export(source, target)
    else:
        _make(tool, source, target, setting)
    yield target.as_uri(), time.perf_counter() - start, target.stat().st_size


def _export(source: Path, target: Path) -> None:
    try:
        areaviz.export(trace(source), target)
    except areaviz.InputError as error:  # The page would exceed its size limit.
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
        last = done.stderr.strip().splitlines()[-1][:80] if done.stderr.strip() else "no message"
        raise NotMade("out of memory, making" if full else f"error: {last}")


def report(figures: Sequence[Figures], limit: float) -> str:
    """Return the figures as Markdown, with the machine and a description."""
    about = (
        f"Measured on {processor()}, headless Chromium on the same machine; the same random"
        f" attention everywhere, {LAYERS} layers of {HEADS} heads; at most {limit:.0f} s for making"
        f" a page and for its first mark, and 8 GB for making one. Hover: {HOVERS} events; layer"
        f" switch: median of {SWITCHES}."
    )
    return markdown(about, COLUMNS, [each.row() for each in figures])


def _all(options: Namespace, folder: Path) -> Iterator[Figures]:
    setting = Setting(options.peers, options.scripts, options.limit, folder)
    for tool in options.tools:
        for items in options.items:
            found = measure(tool, items, setting)
            print(" | ".join(found.row()), flush=True)
            yield found
            if not found.result.startswith("pass"):
                break


def main() -> None:
    """Measure and print, and write if requested."""
    parser = command("Compare areaviz with other tools in the system's Chromium.")
    parser.add_argument(
        "--items", type=int, nargs="+", default=list(ITEMS), help="how many tokens to measure"
    )
    parser.add_argument(
        "--tools", nargs="+", default=list(TOOLS), choices=list(TOOLS), help="what to measure"
    )
    parser.add_argument(
        "--peers",
        default=os.environ.get("AREAVIZ_PEERS", ""),
        help="interpreter with the other tools",
    )
    parser.add_argument(
        "--scripts", type=Path, help="folder with require.min.js, d3.min.js and jquery.min.js"
    )
    parser.add_argument("--limit", type=float, default=120.0, help="seconds a step may take")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = list(_all(options, Path(folder)))
    publish("peers", report(figures, options.limit), options.write)


if __name__ == "__main__":
    main()
