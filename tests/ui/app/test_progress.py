"""The progress bar: its texts and share while something runs, and its removal at the end."""

from __future__ import annotations

import pytest

from areaviz.app.run import run_requests
from areaviz.backend.backend import OWN_WORK, Caller
from areaviz.trace.errors import BackendError
from areaviz.trace.record import Trace
from areaviz.trace.request import Progress, Request
from tests import fakes


class Place:
    """A place for a progress bar that records its states."""

    def __init__(self) -> None:
        self.shown: list[tuple[float, str]] = []
        self.gone = False

    def progress(self, share: float, text: str) -> Place:
        self.shown.append((share, text))
        return self

    def empty(self) -> None:
        self.gone = True


class Half(fakes.FakeBackend):
    """A backend that reports half of every request once, and fails at "wrong"."""

    def trace(
        self, request: Request, progress: Progress | None = None, caller: Caller = OWN_WORK
    ) -> Trace:
        assert progress is not None
        progress(0.5, f"Writing {request.text}")
        if request.text == "wrong":
            raise BackendError("It broke; try again.")
        return fakes.trace(request.text)


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Place:
    made = Place()
    monkeypatch.setattr("areaviz.app.run.st.empty", lambda: made)
    return made


def test_several_runs_share_one_progress_bar(place: Place) -> None:
    found = run_requests(Half(), [Request("a", "one"), Request("a", "two")], "Waiting")
    assert [trace.request.text for trace in found] == ["one", "two"]
    assert place.shown == [
        (0.0, "Waiting"),
        (0.25, "Run 1 of 2. Writing one"),
        (0.75, "Run 2 of 2. Writing two"),
    ]
    assert place.gone


def test_failing_run_removes_progress_bar(place: Place) -> None:
    with pytest.raises(BackendError, match="It broke"):
        run_requests(Half(), [Request("a", "wrong")], "Waiting")
    assert place.gone
