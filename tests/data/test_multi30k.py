"""Multi30k is downloaded and read. In these tests, a local server offers small files instead."""

from __future__ import annotations

import errno
import gzip
import hashlib
import socket
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pooch
import pytest

from areaviz.lab.multi30k import CHECKSUMS, OFFICIAL, get_multi30k, read_split
from areaviz.trace.errors import BackendError

ENGLISH, GERMAN = "The kettle sings.\nRain  falls.\n", "Der Kessel singt.\nEs regnet.\n"


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Keep the test output clean."""


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    folder = tmp_path / "origin"
    folder.mkdir()
    for language, text in (("en", ENGLISH), ("de", GERMAN)):
        (folder / f"val.{language}.gz").write_bytes(gzip.compress(text.encode()))
    return folder


@pytest.fixture
def server(origin: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(origin))) as http:
        Thread(target=http.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{http.server_port}/"
        http.shutdown()


@pytest.fixture
def checksums(origin: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(origin.iterdir())
    }


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_downloaded_files_are_found_by_the_reader(
    tmp_path: Path, server: str, checksums: dict[str, str]
) -> None:
    told: list[tuple[float, str]] = []
    paths = get_multi30k(tmp_path / "data", server, checksums, lambda *news: told.append(news))
    assert [path.name for path in paths] == ["val.de.gz", "val.en.gz"]
    assert told == [(0.5, "val.de.gz"), (1.0, "val.en.gz")]
    assert read_split(tmp_path / "data", "val") == [
        ("The kettle sings.", "Der Kessel singt."),
        ("Rain falls.", "Es regnet."),
    ]


def test_complete_files_are_kept_and_damaged_ones_refetched(
    tmp_path: Path, server: str, origin: Path, checksums: dict[str, str]
) -> None:
    english, german = "val.en.gz", "val.de.gz"
    text = get_multi30k(tmp_path, server, checksums)[0].parent
    (text / german).write_bytes(b"cut short")
    (origin / english).unlink()
    get_multi30k(tmp_path, server, checksums)
    assert (text / german).read_bytes() == (origin / german).read_bytes()
    assert gzip.decompress((text / english).read_bytes()).decode() == ENGLISH


def test_wrong_file_is_refused_and_not_kept(
    tmp_path: Path, server: str, checksums: dict[str, str]
) -> None:
    wrong = {**checksums, "val.en.gz": "0" * 64}
    with pytest.raises(BackendError, match=r"val\.en\.gz .* is not the expected file"):
        get_multi30k(tmp_path / "data", server, wrong)
    assert files_in(tmp_path / "data") == ["val.de.gz"]


def test_missing_file_error_names_the_response(tmp_path: Path, server: str) -> None:
    with pytest.raises(BackendError, match=r"answered 404 for train\.en\.gz"):
        get_multi30k(tmp_path / "data", server, {"train.en.gz": "0" * 64})
    assert files_in(tmp_path / "data") == []


def test_unreachable_server_error_advises_checking_the_network(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    with pytest.raises(
        BackendError, match=r"^Could not reach 127\.0\.0\.1. Check the network or the proxy"
    ):
        get_multi30k(tmp_path, f"http://127.0.0.1:{port}/", {"val.en.gz": "0" * 64})


def test_file_in_place_of_folder_is_named(
    tmp_path: Path, server: str, checksums: dict[str, str]
) -> None:
    (tmp_path / "taken").write_text("not a folder")
    with pytest.raises(
        BackendError, match=r"Cannot write .*taken.*. Free 3 MB or choose another folder"
    ):
        get_multi30k(tmp_path / "taken", server, checksums)


def test_full_disk_is_reported_and_leaves_nothing(
    tmp_path: Path, server: str, checksums: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: object, url: str, output_file: str, *rest: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pooch.HTTPDownloader, "__call__", full)
    with pytest.raises(BackendError, match="no space is left. Free 3 MB"):
        get_multi30k(tmp_path / "data", server, checksums)
    assert files_in(tmp_path / "data") == []


def test_official_list_is_complete() -> None:
    splits = ("train", "val", "test_2016_flickr", "test_2017_flickr")
    assert set(CHECKSUMS) == {
        f"{split}.{language}.gz" for split in splits for language in ("en", "de", "fr")
    }
    assert all(len(checksum) == 64 and int(checksum, 16) for checksum in CHECKSUMS.values())
    assert OFFICIAL.startswith("https://") and OFFICIAL.endswith("/data/task1/raw/")
