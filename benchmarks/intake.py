"""Measure the time and memory of reading 5,000 examples from every kind of file.

    python -m benchmarks.intake [--rounds N] [--write]

Each file is read in its own process, which has already loaded NumPy and the lower layers of this
package. The figures therefore include the reader's own imports, such as pyarrow. Times are
processor times, which hardly depend on other work of the machine. Memory is the growth of the
process at its peak.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from areaviz.samples.paths import ROOT
from benchmarks.intake_files import FILES, LINES, example_rows
from benchmarks.report import command, markdown, processor, publish

# Limits in milliseconds and megabytes. Loading pyarrow takes most of the limits for Parquet.
LIMITS, PARQUET_LIMITS = (200, 20), (600, 160)
_MEASURED = """
import re, sys, time
import areaviz.samples.dataset
from pathlib import Path
path = Path(sys.argv[1])
files = {path.name: path.read_bytes()}
def peak():
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\\s*(\\d+) kB", status)[1]) / 1024
memory, began = peak(), time.process_time()
from areaviz.sets.dataset import build_dataset
from areaviz.sets.joined_files import open_files
opened = open_files(files)
read = time.process_time() - began
found = build_dataset(files, opened)
print(read * 1e3, (time.process_time() - began) * 1e3, peak() - memory)
"""


def measure(path: Path) -> tuple[float, float, float]:
    """Return the time and memory of reading a file.

    Returns:
        Milliseconds until the columns are known, milliseconds until the set is made, and megabytes.
    """
    asked = [sys.executable, "-c", _MEASURED, str(path)]
    done = subprocess.run(asked, cwd=ROOT, check=True, capture_output=True, text=True)
    read, whole, memory = map(float, done.stdout.split())
    return read, whole, memory


def table(rounds: int) -> str:
    """Return a Markdown table with one row per kind of file, with medians over the rounds."""
    rows = example_rows()
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for name, write in FILES.items():
            path = Path(folder) / name
            path.write_bytes(write(rows))
            found = [measure(path) for _ in range(rounds)]
            read, whole, memory = (statistics.median(one) for one in zip(*found, strict=True))
            size = path.stat().st_size / 2**20
            limits = PARQUET_LIMITS if name.endswith("parquet") else LIMITS
            limit = f"{limits[0]} ms, {limits[1]} MB"
            lines.append(
                [name, f"{size:.1f}", f"{read:.0f}", f"{whole:.0f}", f"{memory:.0f}", limit]
            )
    heads = ["file", "MB", "columns, ms", "whole set, ms", "memory, MB", "limit"]
    about = f"Measured on {processor()}: {LINES:,} examples, medians of {rounds} rounds."
    return markdown(about, heads, lines)


def main() -> None:
    """Measure and print the table, and write it into README.md if requested."""
    options = command("Measure reading 5,000 examples from every kind of file.")
    options.add_argument("--rounds", type=int, default=5)
    given = options.parse_args()
    publish("intake", table(given.rounds), given.write)


if __name__ == "__main__":
    main()
