"""Output of the benchmarks: their sections of benchmarks/README.md, with the machine's name."""

from __future__ import annotations

import os
import platform
import re
from argparse import ArgumentParser
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

README = Path(__file__).parent / "README.md"


def processor() -> str:
    """Return the name of the CPU and its number of cores."""
    info = Path("/proc/cpuinfo")
    names = re.findall(r"model name\s*:\s*(.+)", info.read_text()) if info.exists() else []
    name = names[0] if names else platform.processor() or platform.machine()
    return f"{name}, {os.cpu_count()} cores"


def markdown(about: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return Markdown: a sentence about the measurement, and a right-aligned table of figures."""
    lines = [about, ""]
    for cells in (columns, ["-", *["-:"] * (len(columns) - 1)], *rows):
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def percentile(times: Sequence[float], share: int, digits: int = 0) -> str:
    """Return a percentile of the measured times as text, or a dash if there are none."""
    return f"{np.percentile(times, share):.{digits}f}" if times else "–"


def command(description: str) -> ArgumentParser:
    """Return the command line of a benchmark, with its option --write."""
    parser = ArgumentParser(description=description)
    parser.add_argument("--write", action="store_true", help=f"write the table to {README.name}")
    return parser


def publish(section: str, text: str, write: bool) -> None:
    """Print a table and, if `write` is set, put it into the section of README.md."""
    print(text)
    if write:
        write_section(section, text)


def write_section(name: str, text: str, readme: Path = README) -> None:
    """Put `text` between the markers of section `name`, and keep the rest of the file.

    Raises:
        ValueError: The file has no such section.
    """
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    before = readme.read_text("utf-8")
    if begin not in before or end not in before:
        raise ValueError(f"{readme.name} has no section {begin} ... {end}.")
    head, _, rest = before.partition(begin)
    readme.write_text(f"{head}{begin}\n{text}\n{end}{rest.partition(end)[2]}", "utf-8")
