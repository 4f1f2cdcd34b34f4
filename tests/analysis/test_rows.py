"""Rows on disk: a file is complete or absent, and never belongs to another analysis."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from areaviz.sets.run import VERSION, Header, Row, RowFile, find_rows_path, remove_rows
from areaviz.trace.errors import BackendError, InputError

HEADER = Header("set", "d" * 64, "model", "c" * 64)
ROWS = [
    Row(0, "ein Hund \u2028 \ud800", "", {"bleu": 12.5}, (3, 2, 1, 2)),
    Row(1, error='Too long; "shorten" it.'),
]


def test_rows_come_back_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.jsonl"
    with RowFile.open(path, HEADER) as file:
        for row in ROWS:
            file.add(row)
    for there in (RowFile.open(path, HEADER), RowFile.read(path)):
        assert there.header == HEADER and there.rows == {0: ROWS[0], 1: ROWS[1]}


def test_torn_line_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    RowFile.open(path, HEADER).add(ROWS[0])
    with path.open("ab") as file:
        file.write(b'{"index":1,"outp')
    again = RowFile.open(path, HEADER)
    assert list(again.rows) == [0]
    again.add(ROWS[1])
    assert RowFile.read(path).rows == {0: ROWS[0], 1: ROWS[1]}


def test_rows_file_has_one_writer_and_many_readers(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with RowFile.open(path, HEADER) as file:
        with pytest.raises(InputError, match="already running.*Wait for its end or stop it there"):
            RowFile.open(path, HEADER)
        code = f"""
from pathlib import Path
from areaviz.sets.run import Header
from areaviz.sets.run import RowFile
from areaviz.trace.errors import InputError
try:
    RowFile.open(Path({str(path)!r}), Header('set', 'd' * 64, 'model', 'c' * 64))
except InputError as error:
    print(error)
"""
        elsewhere = subprocess.run(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True
        )
        assert "already running" in elsewhere.stdout
        file.add(ROWS[0])
        assert RowFile.read(path).rows == {0: ROWS[0]}
    with RowFile.open(path, HEADER) as again:
        again.add(ROWS[1])
    assert RowFile.read(path).rows == {0: ROWS[0], 1: ROWS[1]}


def test_rows_need_an_open_file(tmp_path: Path) -> None:
    file = RowFile.open(tmp_path / "a.jsonl", HEADER)
    file.close()
    for closed in (file, RowFile.read(tmp_path / "a.jsonl")):
        with pytest.raises(ValueError, match="not open"):
            closed.add(ROWS[0])


def test_unwritable_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BackendError, match="a.jsonl could not be written"):
        RowFile.open(tmp_path / "file" / "a.jsonl", HEADER)


def test_full_disk_is_reported_and_earlier_rows_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with RowFile.open(tmp_path / "a.jsonl", HEADER) as file:
        file.add(ROWS[0])
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(
            BackendError, match="No space left on device.*The results so far are kept"
        ):
            file.add(ROWS[1])
    assert 0 in RowFile.read(tmp_path / "a.jsonl").rows


@pytest.mark.parametrize("room", [0, 30])
def test_full_file_keeps_no_half_line(tmp_path: Path, room: int) -> None:
    path = tmp_path / "a.jsonl"
    with RowFile.open(path, HEADER) as file:
        file.add(ROWS[0])
        before, (soft, hard) = path.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + room, hard))
        try:
            with pytest.raises(BackendError, match="File too large.*The results so far are kept"):
                file.add(ROWS[1])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert path.read_bytes() == before
        file.add(ROWS[1])
    assert RowFile.read(path).rows == {0: ROWS[0], 1: ROWS[1]} and not RowFile.read(path).damaged


DAMAGED = [
    b"\0" * 80,
    b'{"index":1,"output":"x"}',
    b'{"index":1,"outp\xff',
    b"[]",
    b'{"index":-1,"output":"","error":"","measures":{},"links":null}',
    b'{"index":1,"output":5,"error":"","measures":{},"links":null}',
    b'{"index":1,"output":"","error":"","measures":{"bleu":"x"},"links":null}',
    b'{"index":1,"output":"","error":"","measures":[],"links":[1]}',
    b'{"index":1,"output":"","error":"","measures":{},"links":[1,2,3,"4"]}',
    b"[" * 100_000,
]


@pytest.mark.parametrize("line", DAMAGED, ids=lambda line: line[:30])
def test_damaged_line_is_reported_by_number(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "a.jsonl"
    with RowFile.open(path, HEADER) as file:
        for index in range(4):
            file.add(Row(index, f"row {index}"))
    lines = path.read_bytes().split(b"\n")
    lines[2] = line
    path.write_bytes(damaged := b"\n".join(lines))
    there = RowFile.read(path)
    assert there.damaged == (3,) and list(there.rows) == [0, 2, 3]
    assert path.read_bytes() == damaged, "who only looks changes nothing"
    with RowFile.open(path, HEADER) as again:
        assert again.aside and again.aside.read_bytes() == damaged and list(again.rows) == [0, 2, 3]
        again.add(Row(1, "row 1"))
    there = RowFile.read(path)
    assert not there.damaged and {row.output for row in there.rows.values()} == {
        f"row {n}" for n in range(4)
    }
    with RowFile.open(path, HEADER) as once_more:
        assert once_more.aside is None


@pytest.mark.parametrize(
    "head", [b"", b"\0\0\0", b"{}", b"[1]", b'{"version":"x"}', b'{"version":3,"reader":1}']
)
def test_file_with_damaged_header_is_set_aside(tmp_path: Path, head: bytes) -> None:
    path = tmp_path / "a.jsonl"
    with RowFile.open(path, HEADER) as file:
        file.add(ROWS[0])
    damaged = head + b"\n" + path.read_bytes().split(b"\n", 1)[1]
    path.write_bytes(damaged)
    with RowFile.open(path, HEADER) as again:
        assert again.aside and again.aside.read_bytes() == damaged and not again.rows
        again.add(ROWS[0])
    assert RowFile.read(path).rows == {0: ROWS[0]}


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_analyses_of_every_version_are_read(version: int, tmp_path: Path) -> None:
    stored = Path(__file__).parent / "stores" / f"analysis_{version}.jsonl"
    there = RowFile.read(stored)
    assert there.version == version and not there.damaged
    assert there.header == Header("sentences.en", "d" * 64, "char-area", "c" * 64, "beam", 4, 3, 0)
    assert there.rows[0] == Row(
        0, "Ein Hund \u2028 \ud800", "", {"bleu": 12.5, "confidence": 0.5}, (3, 2, 1, 2)
    )
    assert there.rows[1].error == 'Too long; "shorten" it.' and there.header.reader == ""
    (tmp_path / "a.jsonl").write_bytes(stored.read_bytes())
    if version == VERSION:
        RowFile.open(tmp_path / "a.jsonl", there.header).add(Row(3, "goes on"))
    else:
        with pytest.raises(InputError, match="has the analysis of another set, model or option"):
            RowFile.open(tmp_path / "a.jsonl", there.header)
        assert (tmp_path / "a.jsonl").read_bytes() == stored.read_bytes()


def test_analysis_link_opens_for_every_user() -> None:
    about = Header("sentences.en", "d" * 64, "char-area", "c" * 64, "beam", 4, 3, 0)
    assert find_rows_path(about).name == "64bb010471d7635cc97b9d10.jsonl", "of version 4"
    assert find_rows_path(replace(about, reader="r" * 64)) == find_rows_path(about)
    assert find_rows_path(replace(about, digest="e" * 64)) != find_rows_path(about)


def test_only_the_owner_deletes_an_analysis(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with RowFile.open(path, replace(HEADER, reader="me")) as file:
        file.add(ROWS[0])
        with pytest.raises(InputError, match="already running"):
            remove_rows(path, "me")
    with RowFile.open(path, replace(HEADER, reader="her")) as file:
        assert file.header.reader == "me", "who goes on with it did not begin it"
    for other in ("her", ""):
        with pytest.raises(InputError, match="Another user started this analysis"):
            remove_rows(path, other)
    assert path.exists()
    remove_rows(path, "me")
    assert not path.exists()
    RowFile.open(path, HEADER).close()
    with pytest.raises(InputError, match="Another user"):
        remove_rows(path, "")


def test_analysis_file_is_private_to_its_owner(tmp_path: Path) -> None:
    path, mask = tmp_path / "new" / "deep" / "a.jsonl", os.umask(0)
    try:
        RowFile.open(path, HEADER).close()
        assert {one.stat().st_mode & 0o777 for one in path.parent.iterdir()} == {0o600}
        path.chmod(0o644)  # the mode of files of older versions
        RowFile.open(path, HEADER).close()
    finally:
        os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o600
    assert {one.stat().st_mode & 0o777 for one in (path.parent, path.parent.parent)} == {0o700}


@pytest.mark.parametrize(
    "change", [{"model": "other"}, {"digest": "e" * 64}, {"beam": 8}, {"card": "f" * 64}]
)
def test_file_of_a_different_analysis_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    RowFile.open(tmp_path / "a.jsonl", HEADER)
    with pytest.raises(InputError, match="has the analysis of another set, model or option"):
        RowFile.open(tmp_path / "a.jsonl", replace(HEADER, **change))


@pytest.mark.parametrize("content", [b"", b"x\n", b"{}\n", b'{"version":9}\n', b"[1]\n", b"\xff\n"])
def test_file_of_wrong_kind_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.jsonl").write_bytes(content)
    with pytest.raises(InputError, match="is not an analysis of this version"):
        RowFile.read(tmp_path / "a.jsonl")


def test_kill_loses_no_acknowledged_row(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    code = f"""
from pathlib import Path
from areaviz.sets.run import Header, Row
from areaviz.sets.run import RowFile
file = RowFile.open(Path({str(path)!r}), Header('set', 'd' * 64, 'model', 'c' * 64))
for index in range(10**6):
    file.add(Row(index, 'x' * 200))
    print(index, flush=True)
"""
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
