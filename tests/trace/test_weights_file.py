"""Weights in a temporary file.

Many threads can read them as they were written, and the file is deleted with its last reader.
"""

from __future__ import annotations

import gc
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from areaviz.trace.errors import BackendError
from areaviz.trace.file import WeightsFile
from areaviz.trace.record import LayeredWeights

SHAPE = (3, 4, 5, 6)
WEIGHTS = np.random.default_rng(0).random(SHAPE, np.float32)


def spooled(spool: WeightsFile, weights: np.ndarray) -> LayeredWeights:
    place = spool.map(weights.shape)
    rows = weights.reshape(-1, weights.shape[-1])
    for start in range(0, len(rows), 7):
        place.add(rows[start : start + 7])
    found = place.weights()
    assert isinstance(found, LayeredWeights)
    return found


def descriptors(folder: Path) -> int:
    """Return the number of open files in a folder, including unnamed ones.

    Only this folder is counted because the process may close its other files at any time.
    """
    count = 0
    for one in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            count += os.readlink(one).startswith(f"{folder}/")
    return count


def test_two_maps_share_a_file_and_read_back() -> None:
    spool = WeightsFile(2 * WEIGHTS.nbytes)
    one, other = spooled(spool, WEIGHTS), spooled(spool, 1 - WEIGHTS)
    for index in (
        0,
        -1,
        (1, 2),
        (2, -1, 3),
        (0, slice(1, 3)),
        (1, slice(2, 2)),
        (2, [3, 0]),
        (1, ...),
        (0, None),
    ):
        np.testing.assert_array_equal(one[index], WEIGHTS[index])
        np.testing.assert_array_equal(other[index], (1 - WEIGHTS)[index])
    np.testing.assert_array_equal(np.asarray(one), WEIGHTS)
    with pytest.raises(IndexError):
        one[0, 4]
    assert one.cached_bytes == 0


def test_many_threads_read_at_once() -> None:
    found = spooled(WeightsFile(WEIGHTS.nbytes), WEIGHTS)
    places = [(layer, head) for layer in range(3) for head in range(4)] * 50
    with ThreadPoolExecutor(8) as pool:
        read = list(pool.map(lambda place: found[place], places))
    for place, rows in zip(places, read, strict=True):
        np.testing.assert_array_equal(rows, WEIGHTS[place])


def test_unnamed_file_is_removed_with_last_reader(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    given: list[str] = []
    found = spooled(
        WeightsFile(WEIGHTS.nbytes, lambda size: lambda: given.append(f"{size} back")), WEIGHTS
    )
    assert descriptors(tmp_path) == 1 and not list(tmp_path.iterdir()) and not given
    del found
    gc.collect()
    assert descriptors(tmp_path) == 0 and given == [f"{WEIGHTS.nbytes} back"]


def test_full_disk_is_reported_and_reservation_released(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: list[int] = []

    def full(*_: object, **__: object) -> int:
        raise OSError(28, os.strerror(28))

    spool = WeightsFile(8, lambda size: lambda: given.append(size))
    monkeypatch.setattr("os.pwrite", full)
    with pytest.raises(BackendError, match="disk is full .*No space left.*smaller"):
        spooled(spool, WEIGHTS)
    del spool
    gc.collect()
    assert given == [8]
    monkeypatch.setattr("tempfile.TemporaryFile", full)
    with pytest.raises(BackendError, match="No space left"):
        WeightsFile(9, lambda size: lambda: given.append(size))
    assert given == [8, 9]
