"""The two functions that everybody uses: a trace as a file, and a trace in a notebook."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from areaviz.publish.files import WRITERS
from areaviz.publish.markup import element
from areaviz.publish.options import PageOptions
from areaviz.publish.page import page
from areaviz.trace.errors import InputError
from areaviz.trace.files import write_whole
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus

HEIGHTS = (200, 4000)


@dataclass(frozen=True, slots=True)
class Shown:
    """A page that a notebook shows where the last line of a cell gives it. height: of its frame, in
    pixels.
    """

    html: str
    height: int

    def __repr__(self) -> str:
        return (
            f"<areaviz page of {len(self.html) / 2**20:.1f} MiB: a notebook shows it; "
            "areaviz.export writes it as a file>"
        )

    def _repr_html_(self) -> str:
        """The page in a frame of its own, which can run its scripts and reach nothing else."""
        style = f"width: 100%; height: {self.height}px; border: 0"
        return element(
            "iframe", srcdoc=self.html, sandbox="allow-scripts", style=style, title="areaviz"
        )


def show(
    trace: Trace, focus: Focus | None = None, options: PageOptions | None = None, height: int = 900
) -> Shown:
    """The interactive view of a trace, for the last line of a notebook's cell.

    focus: where it opens. height: pixels, 200 to 4,000; what is longer scrolls. Raises InputError
    as `page` does.
    """
    low, high = HEIGHTS
    if not low <= height <= high:
        raise InputError(
            f"The height is {height:,} pixels but must lie between {low} and {high:,}; choose"
            " another."
        )
    return Shown(page(trace, focus, options), height)


def export(
    trace: Trace,
    path: Path | str,
    focus: Focus | None = None,
    options: PageOptions | None = None,
    view: str | None = None,
) -> Path:
    """Write a trace as what the ending of `path` says, whole or not at all, and return the path.

    .html: a page in one file, to be looked into without this package; see `PageOptions`. .svg,
    .pdf, .png: the figure of a view. .csv, .json: its numbers. .gif: a view as a film. focus: where
    the page opens, or what the figure shows. view: a name in `areaviz.views.VIEWS`, else the first
    that fits.

    Raises:
        InputError: there is no such ending or view, or it does not fit; the page would be larger
            than its limit.
        BackendError: the file cannot be written.
    """
    path = Path(path)
    write = WRITERS.get(path.suffix.lower())
    if write is None:
        endings = ", ".join(WRITERS)
        raise InputError(
            f'A trace cannot be written as "{path.suffix or path.name}"; choose an ending of'
            f" {endings}."
        )
    write_whole(path, write(trace, focus, options, view))
    return path
