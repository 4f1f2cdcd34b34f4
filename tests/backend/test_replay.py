"""Stored traces are found by the content of the request; unreadable ones are reported."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from areaviz.app.examples import SAMPLES
from areaviz.backend.backend import ReplayBackend
from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.request import Request
from tests.pages import folder


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    folder.fill(tmp_path)
    return tmp_path


def test_every_stored_request_is_answered_with_its_trace(stored: Path) -> None:
    replay = ReplayBackend(stored)
    opening = Request("char-area", SAMPLES[0])
    assert set(replay.requests()) == {*folder.requests(), opening}
    for request in folder.requests():
        trace, made = replay.trace(request), folder.trace(request)
        assert trace.request == request
        for site, attention in made.maps.items():
            np.testing.assert_array_equal(trace.maps[site].weights, attention.weights)


def test_replay_lists_models_with_traces(stored: Path) -> None:
    assert ReplayBackend(stored).models() == {
        "char-area": folder.card("char-area", "area"),
        "char-regular": folder.card("char-regular", "regular"),
    }
    for index in (0, 1, 2, 4):
        (stored / f"{index}.npz").unlink()
    assert list(ReplayBackend(stored).models()) == ["char-regular"]
    assert ReplayBackend(stored).problems() == ()


@pytest.mark.parametrize("other", [{"text": "Unknown."}, {"area_size": 2}, {"beam": 3}])
def test_request_without_stored_trace_is_refused(stored: Path, other: dict[str, object]) -> None:
    request = replace(Request("char-area", folder.TEXT), **other)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no stored result"):
        ReplayBackend(stored).trace(request)


def test_damaged_files_are_skipped_and_reported(stored: Path) -> None:
    (stored / "0.npz").write_bytes(b"not a trace")
    (stored / "cards" / "char-regular.json").write_text("{", encoding="utf-8")
    replay = ReplayBackend(stored)
    assert list(replay.models()) == ["char-area"]
    assert len(replay.requests()) == 3
    told = " ".join(replay.problems())
    assert "0.npz" in told and "char-regular.json" in told and "3.npz" in told


def test_empty_or_missing_folder_is_reported(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing"):
        replay = ReplayBackend(path)
        assert replay.models() == {}
        assert len(replay.problems()) == 1


def test_vanished_file_is_a_backend_error(stored: Path) -> None:
    replay = ReplayBackend(stored)
    (stored / "0.npz").unlink()
    with pytest.raises(BackendError, match="0.npz"):
        replay.trace(folder.requests()[0])


def test_progress_has_a_description(stored: Path) -> None:
    told: list[tuple[float, str]] = []
    ReplayBackend(stored).trace(
        folder.requests()[0], lambda share, words: told.append((share, words))
    )
    assert told and all(0 <= share <= 1 and words for share, words in told)


def test_replay_needs_no_torch() -> None:
    code = (
        "import sys, areaviz.backend.backend, areaviz.backend.backend; sys.exit('torch' in"
        " sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
