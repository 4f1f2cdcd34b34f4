"""Memory that the app needs for large uploads, at the peak and afterwards.

A bomb is a small file that unpacks to much data. The largest trace is the largest that the app
accepts.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import numpy as np

from areaviz.trace import file as codec
from areaviz.trace.areas import AreaGrid
from areaviz.trace.record import AttentionMap, Output, Trace
from areaviz.trace.request import Request
from tests import fakes
from tests.faults.client import Session, Shown, new_cookie
from tests.faults.served import Served

MEGA = 1 << 20
TENSORS, SET = "A file of attention weights", "Files"
PEAK, KEPT, ALL = 300.0, 50.0, 1024.0
"""Limits in megabytes.

PEAK is what an upload may cost at its peak, KEPT is what may remain after its visitor leaves, and
ALL is what the app may use in total.
"""
GONE = 180.0
"""Seconds after which at most `KEPT` megabytes of an upload may remain."""


@dataclass(frozen=True, slots=True)
class Upload:
    """A file for one of the app's uploaders.

    Args:
        page: the uploader's page.
        label: the uploader's label.
        name: the file's name.
        make: makes the file's bytes.
        picks: options to choose on the page afterwards, as (label, option).
    """

    page: str
    label: str
    name: str
    make: Callable[[], bytes]
    picks: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one upload.

    Args:
        name: the upload's name.
        peak: megabytes above the app's memory before the upload.
        seconds: response time of the page.
        said: errors that the page showed.
    """

    name: str
    peak: float
    seconds: float
    said: tuple[str, ...]

    @property
    def unforeseen(self) -> bool:
        """Whether the page showed an unexpected error."""
        return any("Something went wrong" in sentence for sentence in self.said)

    def __str__(self) -> str:
        return f"{self.name}: {self.peak:+.0f} MB at its peak, {self.seconds:.1f} s"


def bombs() -> Mapping[str, Upload]:
    """Return five uploads by name. Each of them once cost 800 MB to 6 GB."""
    return {
        "arrays that are not as their header says": Upload(
            "your_tensors", TENSORS, "bomb.npz", lying_arrays
        ),
        "a stored trace of one large layer": Upload(
            "your_tensors", TENSORS, "wide.npz", lambda: zeros_trace(1, 120, 1000, 1000)
        ),
        "arrays over a large picture": Upload(
            "your_tensors",
            TENSORS,
            "cells.npz",
            large_picture,
            (("Attention", "Weights, area sums"),),
        ),
        "a table of boxes": Upload("analyse", SET, "boxes.jsonl", table_of_boxes),
        "a table of long letters": Upload("analyse", SET, "long.jsonl", long_letters),
    }


def largest() -> Upload:
    """Return the largest stored trace that the app accepts: 8 layers of 64 MiB."""
    return Upload("your_tensors", TENSORS, "large.npz", lambda: zeros_trace(8, 16, 1024, 1024))


def lying_arrays(megabytes: int = 1536) -> bytes:
    """Return an array with a header of four numbers and zeros: 1.5 MB that unpack to 1.5 GB."""
    return _zipped({"weights.npy": _zeros((1, 1, 2, 2), megabytes * MEGA)})


def zeros_trace(layers: int, heads: int, queries: int, items: int) -> bytes:
    """Return a trace whose weights are all 0, as if masked. It compresses to a thousandth."""
    fields = (
        fakes.text_field("target", "b" * queries, end=""),
        fakes.text_field("source", "a" * items, end=""),
    )
    few = np.zeros((1, 1, queries, items), np.float32)
    attention = AttentionMap("encoder-decoder", "target", "source", AreaGrid(1, items, 1, 1), few)
    output = Output("target", np.zeros(queries, np.float32), ((),) * queries)
    maps = {attention.site: attention}
    trace = Trace(
        Request("char-tiny-area", fields[1].raw), {one.name: one for one in fields}, output, maps
    )
    changed = f"map.{attention.site}.weights.npy"
    with zipfile.ZipFile(io.BytesIO(codec.trace_to_bytes(trace))) as archive:
        entries = {name: iter([archive.read(name)]) for name in archive.namelist()}
    return _zipped(
        {
            **entries,
            changed: _zeros((layers, heads, queries, items), 4 * layers * heads * queries * items),
        }
    )


def large_picture() -> bytes:
    """Return one query over 64 x 64 cells: 16 KB, but 35,721 areas of up to 3 x 3 cells."""
    file = io.BytesIO()
    np.savez_compressed(
        file, weights=np.full((1, 1, 1, 4096), 1 / 4096, np.float32), shape=np.array([64, 64])
    )
    return file.getvalue()


def table_of_boxes() -> bytes:
    """Return rows of the maximum length, full of boxes."""
    box = "a 0 0 1 1;"
    row = json.dumps({"text": "a dog", "boxes": box * ((1 << 18) // len(box) - 10)})
    return f"{row}\n".encode() * 70


def long_letters() -> bytes:
    """Return texts with one four-byte character each, so that Python stores four bytes for all."""
    row = json.dumps(
        {"text": "a" * 4000 + "\U0001f415", "reference": "b" * 4000}, ensure_ascii=False
    )
    return f"{row}\n".encode() * (45 * MEGA // (len(row) + 4))


def _zeros(shape: tuple[int, ...], size: int) -> Iterator[bytes]:
    """Return an entry that claims to be an array of a shape, followed by zeros."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        file, {"descr": "<f4", "fortran_order": False, "shape": shape}
    )
    yield file.getvalue()
    for done in range(0, size, MEGA):
        yield bytes(min(MEGA, size - done))


def _zipped(entries: Mapping[str, Iterator[bytes]]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, parts in entries.items():
            described = zipfile.ZipInfo(name)
            described.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(described, "w") as entry:
                for part in parts:
                    entry.write(part)
    return buffer.getvalue()


@contextmanager
def visitor(app: Served, upload: Upload) -> Iterator[Session]:
    """Open the upload's page as a new visitor."""
    with Session.open(app.url, new_cookie(app.url)) as session:
        session.visit(upload.page, "new=1" if upload.page == "analyse" else "")
        if upload.page == "analyse":
            session.segment("Examples", "Upload")
        yield session


def cost(app: Served, name: str, upload: Upload) -> Cost:
    """Measure the cost of an upload: run the page, then choose its costliest options."""
    content = upload.make()
    with visitor(app, upload) as session:
        before = app.memory()
        app.forget_peak()
        shown = session.bring(upload.label, upload.name, content)
        for label, option in upload.picks:
            if label in session.widgets:
                session.segment(label, option)
        session.again()
        return Cost(name, app.peak() - before, shown.seconds, tuple(shown.errors))


@dataclass(frozen=True, slots=True)
class Together:
    """The cost of visitors who all open an upload at once.

    Args:
        visitors: number of visitors.
        peak: the app's peak memory in megabytes.
        seconds: response time of the slowest page.
        said: errors that the visitors saw.
    """

    visitors: int
    peak: float
    seconds: float
    said: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"{self.visitors} visitors: {self.peak:.0f} MB at the peak, slowest page"
            f" {self.seconds:.0f} s"
        )


def together(app: Served, upload: Upload, visitors: int) -> Together:
    """Let visitors choose one file at once, then run each page once more."""
    content = upload.make()

    def choose(session: Session) -> Shown:
        return session.bring(upload.label, upload.name, content)

    with ExitStack() as open_pages, ThreadPoolExecutor(visitors) as pool:
        sessions = [open_pages.enter_context(visitor(app, upload)) for _ in range(visitors)]
        app.forget_peak()
        shown = [*pool.map(choose, sessions), *pool.map(Session.again, sessions)]
        said = tuple(sentence for one in shown for sentence in one.errors)
        return Together(visitors, app.peak(), max(one.seconds for one in shown), said)
