"""Rows on disk: whole or not at all, and never those of another analysis."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from areaviz.analysis.rows import Header, Row, RowFile
from areaviz.trace.errors import BackendError, InputError

HEADER = Header("set", "d" * 64, "model", "c" * 64)
ROWS = [Row(0, "ein Hund \u2028 \ud800", "", {"bleu": 12.5}, (3, 2, 1, 2)), Row(1, error='Too long; "shorten" it.')]


def test_rows_come_back_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.jsonl"
    with RowFile.open(path, HEADER) as file:
        for row in ROWS:
            file.add(row)
    for there in (RowFile.open(path, HEADER), RowFile.read(path)):
        assert there.header == HEADER and there.rows == {0: ROWS[0], 1: ROWS[1]}


def test_a_torn_line_is_dropped_and_the_file_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    RowFile.open(path, HEADER).add(ROWS[0])
    with path.open("ab") as file:
        file.write(b'{"index":1,"outp')
    again = RowFile.open(path, HEADER)
    assert list(again.rows) == [0]
    again.add(ROWS[1])
    assert RowFile.read(path).rows == {0: ROWS[0], 1: ROWS[1]}


def test_a_file_has_one_writer_and_any_number_of_readers(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with RowFile.open(path, HEADER) as file:
        with pytest.raises(InputError, match="running already.*wait for its end or stop it there"):
            RowFile.open(path, HEADER)
        code = (
            "import sys\nfrom pathlib import Path\nfrom areaviz.analysis.rows import Header, RowFile\n"
            "from areaviz.trace.errors import BackendError, InputError\n"
            f"try:\n    RowFile.open(Path({str(path)!r}), Header('set', 'd' * 64, 'model', 'c' * 64))\n"
            "except InputError as error:\n    print(error)\n"
        )
        elsewhere = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True)
        assert "running already" in elsewhere.stdout
        file.add(ROWS[0])
        assert RowFile.read(path).rows == {0: ROWS[0]}
    with RowFile.open(path, HEADER) as again:
        again.add(ROWS[1])
    assert RowFile.read(path).rows == {0: ROWS[0], 1: ROWS[1]}


def test_only_an_open_file_takes_rows(tmp_path: Path) -> None:
    file = RowFile.open(tmp_path / "a.jsonl", HEADER)
    file.close()
    for closed in (file, RowFile.read(tmp_path / "a.jsonl")):
        with pytest.raises(ValueError, match="not open"):
            closed.add(ROWS[0])


def test_a_place_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BackendError, match="a.jsonl could not be written"):
        RowFile.open(tmp_path / "file" / "a.jsonl", HEADER)


def test_a_full_disk_is_named_and_the_rows_before_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with RowFile.open(tmp_path / "a.jsonl", HEADER) as file:
        file.add(ROWS[0])
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(BackendError, match="No space left on device.*what was done is kept"):
            file.add(ROWS[1])
    assert 0 in RowFile.read(tmp_path / "a.jsonl").rows


@pytest.mark.parametrize("change", [{"model": "other"}, {"digest": "e" * 64}, {"beam": 8}, {"card": "f" * 64}])
def test_another_analysis_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    RowFile.open(tmp_path / "a.jsonl", HEADER)
    with pytest.raises(InputError, match="holds the analysis of another set, model or option"):
        RowFile.open(tmp_path / "a.jsonl", replace(HEADER, **change))


@pytest.mark.parametrize("content", [b"", b"x\n", b"{}\n", b'{"version":9}\n', b"[1]\n", b"\xff\n"])
def test_a_file_of_another_kind_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.jsonl").write_bytes(content)
    with pytest.raises(InputError, match="is no analysis of this version"):
        RowFile.read(tmp_path / "a.jsonl")


def test_no_row_that_was_acknowledged_is_lost_by_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    code = (
        "import sys\nfrom pathlib import Path\nfrom areaviz.analysis.rows import Header, Row, RowFile\n"
        f"file = RowFile.open(Path({str(path)!r}), Header('set', 'd' * 64, 'model', 'c' * 64))\n"
        "for index in range(10**6):\n    file.add(Row(index, 'x' * 200)); print(index, flush=True)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    told = [process.stdout.readline() for _ in range(20)]
    time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    told += process.stdout.readlines()
    process.wait()
    last = max(int(line) for line in told if line.endswith("\n"))
    rows = RowFile.open(path, HEADER).rows
    assert set(range(last + 1)) <= set(rows) and sorted(rows) == list(range(len(rows)))
