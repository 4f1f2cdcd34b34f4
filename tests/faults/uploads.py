"""What uploads that ask for much memory cost the app as people start it, at peak and for good.

A bomb is a small file that unpacks to much. The largest trace is the largest that the app accepts.
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

from areaviz.trace import codec
from areaviz.trace.areas import AreaGrid
from areaviz.trace.record import AttentionMap, Output, Trace
from areaviz.trace.request import Request
from tests import fakes
from tests.faults.client import Session, Shown, new_cookie
from tests.faults.served import Served

MEGA = 1 << 20
TENSORS, SET = "A file of attention weights", "Files"
PEAK, KEPT, ALL = 300.0, 50.0, 1024.0
"""Megabytes that an upload may cost at its peak and after its visitor left, and that the app may
have in all.
"""
GONE = 180.0
"""Seconds after which so little of a visitor may be left."""


@dataclass(frozen=True, slots=True)
class Upload:
    """A file for one of the app's uploaders.

    Args:
        page: with the uploader.
        label: of the uploader.
        name: of the file.
        make: makes its bytes.
        picks: what is chosen on the page afterwards, as (label, option).
    """

    page: str
    label: str
    name: str
    make: Callable[[], bytes]
    picks: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Cost:
    """What an upload cost.

    Args:
        name: of the upload.
        peak: megabytes above what the app had before.
        seconds: of the page.
        said: its errors.
    """

    name: str
    peak: float
    seconds: float
    said: tuple[str, ...]

    @property
    def unforeseen(self) -> bool:
        """Whether the page showed an error that nobody foresaw."""
        return any("Something went wrong" in sentence for sentence in self.said)

    def __str__(self) -> str:
        return f"{self.name}: {self.peak:+.0f} MB at its peak, {self.seconds:.1f} s"


def bombs() -> Mapping[str, Upload]:
    """Five uploads by name, each of which once cost from 800 MB to 6 GB."""
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
    """The largest stored trace that the app accepts: 8 layers of 64 MiB."""
    return Upload("your_tensors", TENSORS, "large.npz", lambda: zeros_trace(8, 16, 1024, 1024))


def lying_arrays(megabytes: int = 1536) -> bytes:
    """An array with a header of four numbers and zeros behind: 1.5 MB that unpack to 1.5 GB."""
    return _zipped({"weights.npy": _zeros((1, 1, 2, 2), megabytes * MEGA)})


def zeros_trace(layers: int, heads: int, queries: int, items: int) -> bytes:
    """A stored trace with weights of 0, as where everything is masked; packs to a thousandth."""
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
    with zipfile.ZipFile(io.BytesIO(codec.to_bytes(trace))) as archive:
        entries = {name: iter([archive.read(name)]) for name in archive.namelist()}
    return _zipped(
        {
            **entries,
            changed: _zeros((layers, heads, queries, items), 4 * layers * heads * queries * items),
        }
    )


def large_picture() -> bytes:
    """One query over 64 x 64 cells: 16 KB, but 35,721 areas of up to 3 x 3 cells."""
    file = io.BytesIO()
    np.savez_compressed(
        file, weights=np.full((1, 1, 1, 4096), 1 / 4096, np.float32), shape=np.array([64, 64])
    )
    return file.getvalue()


def table_of_boxes() -> bytes:
    """Rows as long as they may be, full of boxes."""
    box = "a 0 0 1 1;"
    row = json.dumps({"text": "a dog", "boxes": box * ((1 << 18) // len(box) - 10)})
    return f"{row}\n".encode() * 70


def long_letters() -> bytes:
    """Texts with one letter of four bytes each, so that Python takes four for every letter."""
    row = json.dumps(
        {"text": "a" * 4000 + "\U0001f415", "reference": "b" * 4000}, ensure_ascii=False
    )
    return f"{row}\n".encode() * (45 * MEGA // (len(row) + 4))


def _zeros(shape: tuple[int, ...], size: int) -> Iterator[bytes]:
    """An entry that says it is an array of that shape, and has so many bytes of zeros."""
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
    """Somebody who is on the upload's page, where its uploader is."""
    with Session.open(app.url, new_cookie(app.url)) as session:
        session.visit(upload.page, "new=1" if upload.page == "analyse" else "")
        if upload.page == "analyse":
            session.segment("Examples", "Upload")
        yield session


def cost(app: Served, name: str, upload: Upload) -> Cost:
    """The cost of one upload: the page runs with it, then with its costliest options."""
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
    """Visitors who all look at an upload at once.

    Args:
        visitors: how many.
        peak: the app's megabytes.
        seconds: of the slowest page.
        said: errors that they were shown.
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
    """Visitors choose the same file at once, then each page runs once more."""
    content = upload.make()

    def choose(session: Session) -> Shown:
        return session.bring(upload.label, upload.name, content)

    with ExitStack() as open_pages, ThreadPoolExecutor(visitors) as pool:
        sessions = [open_pages.enter_context(visitor(app, upload)) for _ in range(visitors)]
        app.forget_peak()
        shown = [*pool.map(choose, sessions), *pool.map(Session.again, sessions)]
        said = tuple(sentence for one in shown for sentence in one.errors)
        return Together(visitors, app.peak(), max(one.seconds for one in shown), said)
