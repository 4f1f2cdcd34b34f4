"""A set that Ray Data runs gives the rows of the local engine.

This also holds for runs that are stopped, resumed, or that fail.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from threading import Event

import pytest

from areaviz.backend.ray import connect_to_ray
from areaviz.samples.dataset import Dataset
from areaviz.sets.jobs import Workers, analyse_on_ray
from areaviz.sets.run import RowFile, analyse_dataset, make_header
from areaviz.trace.errors import BackendError
from areaviz.trace.request import Request
from tests import tiny
from tests.analysis.runs import open_fake, open_local, run
from tests.pages import folder
from tests.server.ray_server import OPTIONS
from tests.sets import read_lines

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::DeprecationWarning:ray")]
REQUEST = Request("fake", "")
CARD = folder.card("fake", "area")
WORKERS, ONE = Workers(2, cpus=0.5), Workers(1, cpus=0.5)


@pytest.fixture(scope="module", autouse=True)
def ray() -> Iterator[None]:
    with connect_to_ray(None, **OPTIONS):
        yield


def dataset(count: int = 70) -> Dataset:
    lines = "".join(f"Sentence number {number}\n" for number in range(count)).encode()
    links = b"0-0 1p1\n" * count
    return read_lines(
        "a.en", {"a.en": lines, "a.de": lines, "a.links": links}, ("a.de",), "a.links"
    )


def opened(path: Path, found: Dataset, name: str = "ray") -> RowFile:
    return RowFile.open(path / f"{name}.jsonl", make_header(found, REQUEST, CARD))


def test_ray_rows_equal_local_rows(tmp_path: Path) -> None:
    found, told = dataset(), []
    far, near = opened(tmp_path, found), opened(tmp_path, found, "local")
    assert analyse_on_ray(
        found, REQUEST, open_fake, far, lambda *both: told.append(both), workers=WORKERS
    )
    assert analyse_dataset(found, REQUEST, run, near)
    assert far.rows == near.rows and RowFile.read(far.path).rows == near.rows
    assert near.rows[3].error and near.rows[4].measures and near.rows[4].links
    assert told == [(done, 70) for done in range(71)]


def test_real_model_gives_equal_rows_on_ray(tmp_path: Path) -> None:
    tiny.checkpoint(tmp_path / "models")
    lines = "\n".join(
        [*tiny.SENTENCES, *(f"A dog with {count} hats." for count in range(12))]
    ).encode()
    found, request = read_lines("a.en", {"a.en": lines}), Request("tiny-area", "")
    far, near = opened(tmp_path, found), opened(tmp_path, found, "local")
    assert analyse_on_ray(
        found, request, partial(open_local, tmp_path / "models"), far, workers=WORKERS
    )
    assert analyse_dataset(found, request, open_local(tmp_path / "models"), near)
    assert far.rows.keys() == near.rows.keys()
    for index, row in near.rows.items():
        other = far.rows[index]
        assert (other.output, other.error, other.links) == (row.output, row.error, row.links)
        assert other.measures == pytest.approx(row.measures, rel=1e-4, abs=1e-6), (
            "batches of other neighbours round otherwise"
        )


def test_stopped_run_continues_without_loss_or_duplicates(tmp_path: Path) -> None:
    found, stop = dataset(), Event()

    def told(done: int, _: int) -> None:
        if done == 5:
            stop.set()

    file = opened(tmp_path, found)
    assert not analyse_on_ray(found, REQUEST, open_fake, file, told, stop, ONE)
    assert len(file) == 5
    assert not analyse_on_ray(found, REQUEST, open_fake, file, None, stop, ONE) and len(file) == 5
    file.close()
    again = opened(tmp_path, found)
    assert analyse_on_ray(found, REQUEST, open_fake, again, workers=ONE)
    lines = again.path.read_text().splitlines()
    assert len(lines) == 71 and len(again.rows) == 70


def test_failing_model_keeps_finished_rows(tmp_path: Path) -> None:
    found = dataset(90)
    file = opened(tmp_path, found)
    with pytest.raises(BackendError, match="The device is gone; try again."):
        analyse_on_ray(found, REQUEST, open_fake, file, workers=ONE)
    file.close()
    assert 77 not in file.rows and opened(tmp_path, found).rows == file.rows
