"""Measure how long the page Analyse takes to open and to order a set of 5,000 examples.

    python -m benchmarks.large_tables [--rounds N] [--write]

The set has outputs of two systems. The page runs in this process without a browser. Times are
processor times, which hardly depend on other work of the machine: from the uploaded files to the
drawn page, which reads and scores the outputs, and from the choice of an order to the drawn page.
"""

from __future__ import annotations

import math
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from areaviz.sets.app.form import FILES_KEY_PREFIX
from areaviz.sets.run import SETTING
from benchmarks.report import command, markdown, processor, publish
from benchmarks.walk_files import EXAMPLES, write_files
from tests.pages.conftest import APP, bring_cookies

LINES = 5000
# Limits in seconds.
OPENS, ORDERS = 5.0, 1.0
PATIENCE = 600
BROUGHT = ("test.en", "test.de", "alpha.de", "beta.de")


def measure(files: list[tuple[str, bytes, str]]) -> tuple[float, float]:
    """Return the seconds until the page shows the set, and until it shows another order."""
    app = AppTest.from_file(str(APP), default_timeout=PATIENCE)
    app = app.switch_page("pages/analyse.py").run()
    app = app.button_group(key="analyse_source").set_value("Upload").run()
    uploader = app.file_uploader(key=FILES_KEY_PREFIX)
    opened = _seconds(lambda: uploader.set_value(files).run())
    assert not app.error and not app.exception, "the page shows an error"
    order = app.button_group(key="analyse_order")
    ordered = _seconds(lambda: order.set_value(order.options[1]).run())
    assert not app.error and not app.exception, "the page shows an error"
    return opened, ordered


def _seconds(act: Callable[[], object]) -> float:
    began = time.process_time()
    act()
    return time.process_time() - began


def table(rounds: int) -> str:
    """Return a Markdown table with medians over the rounds, each in its own session."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv(SETTING, str(Path(folder) / "analyses"))
        bring_cookies(patch, {})
        paths = write_files(Path(folder), math.ceil(LINES / EXAMPLES))
        times = []
        for number in range(rounds):
            files = []
            for path in paths:
                if path.name in BROUGHT:
                    lines = path.read_text("utf-8").splitlines()[:LINES]
                    # All lines differ, also from those of other rounds, so no score is cached.
                    lines = [f"{line} {number * LINES + at}" for at, line in enumerate(lines)]
                    files.append((path.name, "\n".join(lines).encode(), "text/plain"))
            times.append(measure(files))
    opened, ordered = (statistics.median(one) for one in zip(*times, strict=True))
    about = (
        f"Measured on {processor()}, {os.environ.get('OMP_NUM_THREADS', 'all')} threads of NumPy"
        f" and torch: {LINES:,} examples, two systems, medians of {rounds} rounds."
    )
    rows = [
        ("open", f"{opened:.2f}", f"{OPENS:.0f}"),
        ("order", f"{ordered:.2f}", f"{ORDERS:.0f}"),
    ]
    return markdown(about, ("page", "CPU seconds", "limit"), rows)


def main() -> None:
    """Measure, print the table, and write it into README.md if requested."""
    parser = command("Measure the page Analyse with 5,000 examples of two systems.")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    publish("large_tables", table(given.rounds), given.write)


if __name__ == "__main__":
    main()
