"""The process in which Chromium runs a page: its memory and its processor time."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Renderer:
    """A process of a browser that this process has started."""

    folder: Path

    @property
    def megabytes(self) -> float:
        """Its resident memory."""
        return int(_status(self.folder)["VmRSS"].split()[0]) / 1000

    @property
    def milliseconds(self) -> float:
        """Processor time of all its threads. Other processes hardly affect it."""
        # The name of the process, in brackets, may have blanks.
        fields = (self.folder / "stat").read_text().rpartition(")")[2].split()
        return 1000 * (int(fields[11]) + int(fields[12])) / TICKS


def largest_renderer() -> Renderer:
    """Return the renderer with the most memory among those that this process has started."""
    parents, renderers = {}, []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int(_status(folder)["PPid"])
            if b"--type=renderer" in (folder / "cmdline").read_bytes():
                renderers.append(Renderer(folder))
        except OSError:
            continue
    own = [one for one in renderers if _is_own(int(one.folder.name), parents)]
    return max(own, key=lambda one: one.megabytes)


def _is_own(number: int, parents: dict[int, int]) -> bool:
    while number in parents and number != os.getpid():
        number = parents[number]
    return number == os.getpid()


def _status(folder: Path) -> dict[str, str]:
    lines = (folder / "status").read_text().splitlines()
    return dict(line.split(":", 1) for line in lines)
