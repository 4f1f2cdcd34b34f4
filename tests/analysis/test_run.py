"""A run of a set through a model: rows, errors, stopping and resuming."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from threading import Event, Semaphore

import pytest

from areaviz.samples.dataset import Dataset
from areaviz.sets import run as run_module
from areaviz.sets.measures import MEASURES
from areaviz.sets.run import IN_FLIGHT, RowFile, analyse_dataset, make_header
from areaviz.trace.errors import BackendBusy, BackendError, InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Request
from tests import fakes
from tests.pages import folder
from tests.sets import read_lines

REQUEST = Request("fake", "")
CARD = folder.card("fake", "area")


def dataset(count: int = 20) -> Dataset:
    lines = "".join(f"Sentence number {number}\n" for number in range(count)).encode()
    return read_lines("a.en", {"a.en": lines, "a.de": lines}, ("a.de",))


def run(request: Request) -> Trace:
    made = fakes.trace(request.text)
    return replace(made, request=request)


def opened(path: Path, found: Dataset) -> RowFile:
    return RowFile.open(path / "a.jsonl", make_header(found, REQUEST, CARD))


def test_every_example_becomes_a_row_with_measures(tmp_path: Path) -> None:
    found, told = dataset(), []
    with opened(tmp_path, found) as file:
        assert analyse_dataset(found, REQUEST, run, file, lambda *both: told.append(both))
    rows = RowFile.read(file.path).rows
    assert sorted(rows) == list(range(20)) and told[0] == (0, 20) and told[-1] == (20, 20)
    assert {
        "bleu",
        "chrf",
        "confidence",
        "coverage_deviation",
        "entropy",
        "area_size",
        "purity",
    } <= set(rows[3].measures)
    assert set(rows[3].measures) <= set(MEASURES) and not rows[3].error


def test_stopped_run_continues_without_repetition(tmp_path: Path) -> None:
    found, stop, asked = dataset(), Event(), []

    def counting(request: Request) -> Trace:
        asked.append(request.text)
        if len(asked) == 5:
            stop.set()
        return run(request)

    with opened(tmp_path, found) as file:
        assert not analyse_dataset(found, REQUEST, counting, file, stop=stop)
    assert 5 <= len(file.rows) < 20
    again = opened(tmp_path, found)
    assert analyse_dataset(found, REQUEST, counting, again)
    assert sorted(asked) == sorted(one.text for one in found.examples)
    whole = opened(tmp_path / "whole", found)
    analyse_dataset(found, REQUEST, run, whole)
    assert whole.rows == again.rows


def test_failing_example_is_row_with_reason(tmp_path: Path) -> None:
    found = dataset(3)

    def picky(request: Request) -> Trace:
        if "1" in request.text:
            raise InputError("Too long. Shorten it.")
        return run(request)

    file = opened(tmp_path, found)
    assert analyse_dataset(found, REQUEST, picky, file)
    assert [file.rows[index].error for index in range(3)] == ["", "Too long. Shorten it.", ""]
    assert not file.rows[1].measures


def test_failing_backend_keeps_finished_rows(tmp_path: Path) -> None:
    found = dataset()

    def failing(request: Request) -> Trace:
        if "number 12" in request.text:
            raise BackendError("The device is gone; try again.")
        return run(request)

    with opened(tmp_path, found) as file, pytest.raises(BackendError):
        analyse_dataset(found, REQUEST, failing, file)
    kept = dict(file.rows)
    assert kept and 12 not in kept
    assert analyse_dataset(found, REQUEST, run, opened(tmp_path, found))


def test_pending_answers_are_written_if_the_backend_fails(tmp_path: Path) -> None:
    found, failed, begun = dataset(), Event(), Semaphore(0)
    asked: Counter[str] = Counter()

    def failing(request: Request) -> Trace:
        asked[request.text] += 1
        if request.text.endswith("number 0"):
            for _ in range(IN_FLIGHT - 1):
                begun.acquire()
            failed.set()
            raise BackendError("The device is gone; try again.")
        begun.release()
        failed.wait()
        return run(request)

    with opened(tmp_path, found) as file, pytest.raises(BackendError, match="The device is gone"):
        analyse_dataset(found, REQUEST, failing, file)
    assert set(range(1, IN_FLIGHT)) <= set(file.rows) and 0 not in file.rows
    begun = Semaphore(IN_FLIGHT)
    with opened(tmp_path, found) as again, pytest.raises(BackendError):
        analyse_dataset(found, REQUEST, failing, again)
    assert asked.pop("Sentence number 0") == 2 and set(asked.values()) == {1}


def test_busy_backend_is_retried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "RETRY_SECONDS", 0.001)
    found, refused = dataset(), set()

    def busy(request: Request) -> Trace:
        if request.text not in refused:
            refused.add(request.text)
            raise BackendBusy("The models are busy.")
        return run(request)

    with opened(tmp_path, found) as file:
        assert analyse_dataset(found, REQUEST, busy, file)
    assert len(refused) == 20 and not any(row.error for row in file.rows.values())
