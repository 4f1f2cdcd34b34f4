"""Where the benchmarks write: their sections of benchmarks/README.md, with the machine named."""

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
    """The CPU's name and how many cores there are."""
    info = Path("/proc/cpuinfo")
    names = re.findall(r"model name\s*:\s*(.+)", info.read_text()) if info.exists() else []
    name = names[0] if names else platform.processor() or platform.machine()
    return f"{name}, {os.cpu_count()} cores"


def markdown(about: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A sentence on what was measured, and the figures as a table, aligned to the right."""
    lines = [about, ""]
    for cells in (columns, ["-", *["-:"] * (len(columns) - 1)], *rows):
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def percentile(times: Sequence[float], share: int, digits: int = 0) -> str:
    """A percentile of what was measured, a dash for nothing."""
    return f"{np.percentile(times, share):.{digits}f}" if times else "–"


def command(description: str) -> ArgumentParser:
    """The command line of a benchmark, with its option --write."""
    parser = ArgumentParser(description=description)
    parser.add_argument("--write", action="store_true", help=f"write the table to {README.name}")
    return parser


def publish(section: str, text: str, write: bool) -> None:
    """Print a table and, where it is to be written, put it into the section of README.md."""
    print(text)
    if write:
        write_section(section, text)


def write_section(name: str, text: str, readme: Path = README) -> None:
    """Put `text` between the markers of section `name`; the rest of the file stays.

    Raises:
        ValueError: when the file has no such section.
    """
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    before = readme.read_text("utf-8")
    if begin not in before or end not in before:
        raise ValueError(f"{readme.name} has no section {begin} ... {end}.")
    head, _, rest = before.partition(begin)
    readme.write_text(f"{head}{begin}\n{text}\n{end}{rest.partition(end)[2]}", "utf-8")
