"""Costs of uploads to the app as users start it, and what remains after the visitor leaves."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from areaviz.trace import file
from tests import fakes
from tests.browser.server import Server
from tests.faults.client import Session
from tests.faults.served import Served, served
from tests.faults.uploads import ALL, PEAK, TENSORS, Upload, bombs, cost, largest, together
from tests.tiny import checkpoint

FILES = 5


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("app")
    checkpoint(folder / "models")
    settings = {
        "AREAVIZ_CHECKPOINTS": str(folder / "models"),
        "AREAVIZ_ANALYSES": str(folder / "analyses"),
        "AREAVIZ_DEVICE": "cpu",
        "OMP_NUM_THREADS": "1",
    }
    with served(folder / "log", settings) as found:
        with Session.open(found.url) as session:
            session.visit("analyse")  # imports torch before costs are measured
        yield found


@pytest.mark.long
@pytest.mark.parametrize("name", bombs())
def test_every_upload_stays_within_its_limits(name: str, app: Served) -> None:
    found = cost(app, name, bombs()[name])
    assert found.peak < PEAK and not found.unforeseen, f"{found}: {found.said}"
    refused = name != "arrays over a large picture"
    assert len(found.said) == refused, found.said


@pytest.mark.long
def test_five_visitors_with_the_largest_trace(app: Served) -> None:
    before = app.memory()
    found = together(app, largest(), FILES)
    assert found.peak < ALL and not found.said, f"{before:.0f} MB before, {found}: {found.said}"


def test_good_file_costs_little_and_is_shown(app: Served) -> None:
    good = Upload("your_tensors", TENSORS, "good.npz", lambda: file.trace_to_bytes(fakes.trace()))
    found = cost(app, "good", good)
    assert found.peak < 30 and not found.said, str(found)


def test_uploads_are_freed_when_visitors_leave(tmp_path: Path) -> None:
    content = file.trace_to_bytes(fakes.trace())
    size = sum(one.weights.nbytes for one in fakes.trace().maps.values())
    server = Server("tests/faults/leaving_app.py", tmp_path / "log", {})
    try:
        url = server.wait()
        with ExitStack() as open_pages:
            for number in range(1, FILES + 1):
                session = open_pages.enter_context(Session.open(url))
                session.visit("")
                session.upload("File", "a.npz", content)
                assert session.again().texts == [
                    "char-tiny-area",
                    f"{size * number} bytes on disk, {number} files",
                ]
        with Session.open(url) as session:
            while session.visit("").texts[-1] != "0 bytes on disk, 0 files":
                time.sleep(0.3)
    finally:
        server.stop()


@pytest.mark.long
def test_returning_visitor_still_has_all_files(tmp_path: Path) -> None:
    server = Server("tests/faults/leaving_app.py", tmp_path / "log", {})
    try:
        url = server.wait()
        with Session.open(url) as session:
            session.visit("")
            session.upload("File", "a.npz", file.trace_to_bytes(fakes.trace()))
            before = session.again().texts
            time.sleep(3)
            assert session.again().texts == before, "whose page is open is never let go of"
    finally:
        server.stop()
