"""A set that several processes of this machine run gives the rows of single requests.

This also holds for runs that are stopped, resumed, that fail, or whose processes are killed.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from threading import Event
from types import ModuleType

import pytest

from areaviz.samples.dataset import Dataset
from areaviz.sets.jobs import MAX_PROCESSES, analyse_in_processes, choose_process_count
from areaviz.sets.run import (
    BATCH,
    WINDOW,
    Row,
    RowFile,
    analyse_dataset,
    iterate_batches,
    make_header,
)
from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.request import Request
from tests import tiny
from tests.analysis.runs import open_local, open_models_together, open_nothing, open_together, run
from tests.pages import folder
from tests.sampled import sampled
from tests.sets import read_lines

REQUEST = Request("fake", "")
CARD = folder.card("fake", "area")


@pytest.fixture(autouse=True)
def plain_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the main module, where tests of pages put their scripts.

    A new process imports the main module of its parent.
    """
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))


def dataset(count: int = 70, first: int = 0) -> Dataset:
    numbers = range(first, first + count)
    lines = "".join(f"Sentence number {number}\n" for number in numbers).encode()
    links = b"0-0 1p1\n" * count
    return read_lines(
        "a.en", {"a.en": lines, "a.de": lines, "a.links": links}, ("a.de",), "a.links"
    )


def opened(path: Path, found: Dataset, name: str = "rows") -> RowFile:
    return RowFile.open(path / f"{name}.jsonl", make_header(found, REQUEST, CARD))


def test_batches_hold_every_example_once_and_like_lengths_together() -> None:
    texts = [f"{'word ' * (1 + number * 7 % 40)}end {number}" for number in range(600)]
    found = read_lines("a.en", {"a.en": "\n".join(texts).encode()}, ())
    left = list(range(3, 600))
    made = list(iterate_batches(found, left))
    assert sorted(index for batch in made for index in batch) == left
    assert {len(batch) for batch in made[:-1]} == {BATCH}
    window = [len(found.examples[index].text) for batch in made[:WINDOW] for index in batch]
    assert window == sorted(window) and set(made[0]) <= set(left[: WINDOW * BATCH])


def test_no_process_is_started_for_few_examples() -> None:
    assert choose_process_count(0) == choose_process_count(1) == choose_process_count(BATCH) == 1
    assert 1 <= choose_process_count(100_000) <= MAX_PROCESSES


@pytest.mark.parametrize("processes", sampled([1, 2], 2))
def test_parallel_rows_equal_sequential_rows(tmp_path: Path, processes: int) -> None:
    found, told = dataset(), []
    far, near = opened(tmp_path, found), opened(tmp_path, found, "near")
    assert analyse_in_processes(
        found, REQUEST, open_together, far, lambda *both: told.append(both), processes=processes
    )
    assert analyse_dataset(found, REQUEST, run, near)
    assert far.rows == near.rows and RowFile.read(far.path).rows == near.rows
    assert near.rows[3].error and near.rows[4].measures and near.rows[4].links
    assert told == [(done, 70) for done in range(71)]


@pytest.mark.long
def test_models_give_the_texts_and_measures_of_one_request_after_the_other(tmp_path: Path) -> None:
    tiny.checkpoint(tmp_path / "models", "fake")
    found = dataset(40)
    far, near = opened(tmp_path, found), opened(tmp_path, found, "near")
    together = partial(open_models_together, tmp_path / "models")
    assert analyse_in_processes(found, REQUEST, together, far, processes=2)
    assert analyse_dataset(found, REQUEST, open_local(tmp_path / "models"), near)
    check_alike(far.rows, near.rows)


def check_alike(rows: Mapping[int, Row], others: Mapping[int, Row]) -> None:
    assert rows.keys() == others.keys()
    for index, row in rows.items():
        other = others[index]
        assert (row.output, row.error, row.links) == (other.output, other.error, other.links)
        assert row.measures == pytest.approx(other.measures, abs=1e-5)


@pytest.mark.parametrize("processes", sampled([1, 2], 2))
def test_stopped_run_continues_in_processes(tmp_path: Path, processes: int) -> None:
    found, stop = dataset(300, first=100), Event()

    def stopping(done: int, total: int) -> None:
        if done == 5:
            stop.set()

    with opened(tmp_path, found) as file:
        assert not analyse_in_processes(
            found, REQUEST, open_together, file, stopping, stop, processes
        )
    assert 5 <= len(file) < 300
    lines = file.path.read_bytes()
    with opened(tmp_path, found) as again:
        assert analyse_in_processes(found, REQUEST, open_together, again, processes=processes)
    after = again.path.read_bytes()
    # No example ran twice: the earlier lines are unchanged, and every example has one line.
    assert after.startswith(lines) and after.count(b"\n") == 301 and len(again) == 300


@pytest.mark.parametrize("processes", sampled([1, 2], 2))
def test_failing_model_keeps_finished_rows(tmp_path: Path, processes: int) -> None:
    found = dataset(100)
    with opened(tmp_path, found) as file, pytest.raises(BackendError, match="device is gone"):
        analyse_in_processes(found, REQUEST, open_together, file, processes=processes)
    assert file.rows and 77 not in file.rows and RowFile.read(file.path).rows == file.rows


def test_killed_process_is_reported_and_rows_are_kept(tmp_path: Path) -> None:
    lines = "".join(f"Sentence number {number}\n" for number in [*range(40), 88]).encode()
    found = read_lines("a.en", {"a.en": lines, "a.de": lines}, ("a.de",))
    with opened(tmp_path, found) as file, pytest.raises(BackendError, match="was killed"):
        analyse_in_processes(found, REQUEST, open_together, file, processes=2)
    assert file.rows and 40 not in file.rows and RowFile.read(file.path).rows == file.rows


def test_unreadable_model_gives_one_error(tmp_path: Path) -> None:
    found = dataset()
    with (
        opened(tmp_path, found) as file,
        pytest.raises(InputError, match="Device .* does not exist"),
    ):
        analyse_in_processes(found, REQUEST, open_nothing, file, processes=2)
    assert not file.rows
