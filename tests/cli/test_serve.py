"""`serve` starts the app on loopback, and on other addresses only with an access token."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import Mock

import pytest
from typer.testing import CliRunner

from areaviz.app import files
from areaviz.backend.access import compute_digest, read_token
from areaviz.backend.ray import Place, Scale
from areaviz.cli import build, main
from areaviz.cli import serve as serve_module
from areaviz.gateway import serving as gateway
from areaviz.gateway.gateway import AppPlace

ALLOWED = {"localhost", "127.0.0.1", "::1"}
Started = list[tuple[AppPlace, Path]]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Started:
    """Return a list of the apps that `serve` starts. They are recorded, but do not run."""
    found: Started = []
    (tmp_path / "app.py").touch()
    monkeypatch.setattr(serve_module, "ROOT", tmp_path)
    monkeypatch.setattr(
        gateway, "serve_app", lambda place, folder, commands: found.append((place, folder))
    )
    return found


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    CliRunner().invoke(build("serve"), ["serve", "token", str(path)])
    return path


def serve(*arguments: str) -> None:
    """Run `serve` as the command line does: a user error ends with one sentence and code 1."""
    try:
        main(["serve", *arguments])
    except SystemExit as end:
        if end.code:
            raise


def test_app_starts_in_folder_of_its_configuration(started: Started, tmp_path: Path) -> None:
    serve("--port", "8600")
    assert started == [(AppPlace("127.0.0.1", 8600), tmp_path)]
    assert started[0][0].known_names == ALLOWED


@pytest.mark.parametrize("port", ["0", "65536", "http"])
def test_invalid_port_is_refused(port: str, started: Started) -> None:
    assert CliRunner().invoke(build("serve"), ["serve", "--port", port]).exit_code == 2
    assert started == []


def test_serve_without_app_names_the_extra(
    started: Started, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "app.py").unlink()
    with pytest.raises(SystemExit, match="1"):
        serve()
    assert started == [] and "from a clone of the repository" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("AREAVIZ_LIMIT_UPLOADS_AT_ONCE", "many", "It must be a number above 0."),
        ("AREAVIZ_LIMIT_QUESTION_SECONDS", "0", "It must be a number above 0."),
        ("AREAVIZ_LIMIT_UPLOAD_AT_ONCE", "3", "or use AREAVIZ_LIMIT_UPLOADS_AT_ONCE."),
        ("AREAVIZ_LIMIT_Q", "3", "docs/reliability.md lists all limits."),
        ("AREAVIZ_MEMORY_MIB", "1.5", "It must be a whole number of MiB above 0."),
        ("AREAVIZ_MEMORY_MIB", "0", "It must be a whole number of MiB above 0."),
        ("AREAVIZ_DISK_MIB", "-1", "It must be a whole number of MiB above 0."),
        ("AREAVIZ_KEEP_DAYS", "soon", "must be a number of days"),
    ],
)
def test_invalid_setting_is_refused_at_start(
    name: str,
    value: str,
    said: str,
    started: Started,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit, match="1"):
        serve()
    shown = capsys.readouterr().err
    assert started == []
    assert shown.count("\n") == 1
    assert name in shown
    assert said in shown


def test_valid_settings_are_accepted(started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AREAVIZ_LIMIT_UPLOADS_AT_ONCE", "2")
    monkeypatch.setenv("AREAVIZ_MEMORY_MIB", "64")
    monkeypatch.setenv("AREAVIZ_KEEP_DAYS", "30")
    serve()
    assert len(started) == 1


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "192.168.1.7", "10.0.0.1", "areaviz.example", ""]
)
def test_serve_beyond_loopback_requires_token(
    host: str, started: Started, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="1"):
        serve("--host", host, "--allow-host", "areaviz.example")
    said = capsys.readouterr().err
    assert started == [] and said.count("\n") == 1 and "requires an access token" in said


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "::1", "localhost"])
def test_serve_on_loopback_requires_no_token(host: str, started: Started) -> None:
    serve("--host", host)
    assert len(started) == 1


def test_app_gets_only_token_and_host_names(started: Started, token_file: Path) -> None:
    serve("--host", "0.0.0.0", "--allow-host", "Areaviz.example.", "--token-file", str(token_file))
    place, token = started[0][0], read_token(token_file)
    assert place.token == token and token not in repr(place)
    assert place.known_names == {*ALLOWED, "areaviz.example"}


@pytest.mark.parametrize("host", ["192.168.1.7", "fe80::1"])
def test_listening_address_is_an_allowed_name(
    host: str, started: Started, token_file: Path
) -> None:
    serve("--host", host, "--token-file", str(token_file))
    assert started[0][0].known_names == {*ALLOWED, host}


@pytest.mark.parametrize(
    "name", ["https://areaviz.example", "areaviz.example:8501", "", "a b", "*"]
)
def test_invalid_name_is_refused(
    name: str, started: Started, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="1"):
        serve("--allow-host", name)
    assert started == [] and "is not a host name" in capsys.readouterr().err


def test_app_gets_proxies_and_frame_hosts(
    started: Started, capsys: pytest.CaptureFixture[str]
) -> None:
    serve(
        "--proxy",
        "10.0.0.1",
        "--allow-frame",
        "https://a.example",
        "--allow-frame",
        "https://b.example:8443",
    )
    assert started[0][0].proxies == ("10.0.0.1",)
    assert started[0][0].framing == ("https://a.example", "https://b.example:8443")
    for wrong in (
        "a.example",
        "http://a.example",
        "https://a.example/x",
        "https://a.example; script-src *",
    ):
        with pytest.raises(SystemExit, match="1"):
            serve("--allow-frame", wrong)
    assert len(started) == 1 and "https://NAME" in capsys.readouterr().err


def test_listening_on_all_addresses_requires_host_names(
    started: Started, token_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="1"):
        serve("--host", "0.0.0.0", "--token-file", str(token_file))
    assert started == [] and "--allow-host NAME" in capsys.readouterr().err


def test_token_file_without_token_is_refused(
    started: Started, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "short").write_text("secret\n")
    for name in ("short", "absent"):
        with pytest.raises(SystemExit, match="1"):
            serve("--token-file", str(tmp_path / name))
    assert started == [] and "areaviz serve token FILE" in capsys.readouterr().err


def test_serve_models_requires_token(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="1"):
        serve("models")
    assert "requires an access token, even on this machine" in capsys.readouterr().err


def test_serve_models_passes_its_options(
    monkeypatch: pytest.MonkeyPatch, token_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[str, Scale, Place]] = []

    @contextmanager
    def serving(_: object, digest: str, scale: Scale, place: Place) -> Iterator[str]:
        asked.append((digest, scale, place))
        yield "http://somewhere"

    monkeypatch.setattr(serve_module, "serve_backend", serving)
    monkeypatch.setattr(time, "sleep", Mock(side_effect=KeyboardInterrupt))
    words = (
        "--replicas 2 --most-replicas 4 --cpus 0.5 --gpus 0.25 --together 3 --waiting 5 --host"
        " 10.0.0.1 --port 8625"
    )
    serve("models", "--token-file", str(token_file), "--cluster", "auto", *words.split())
    assert asked == [
        (
            compute_digest(read_token(token_file)),
            Scale(2, 4, 0.5, 0.25, 3, 5),
            Place("10.0.0.1", 8625, "auto"),
        )
    ]
    assert "AREAVIZ_BACKEND=http://somewhere" in capsys.readouterr().out


def test_serve_passes_trace_file_to_app(
    started: Started,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(serve_module.TRACE, "earlier.npz")  # pytest restores it after the test
    file = tmp_path / "large.npz"
    with pytest.raises(SystemExit, match="1"):
        serve("--trace", str(file))
    assert started == [] and "The file" in capsys.readouterr().err
    file.touch()
    serve("--trace", str(file))
    assert os.environ[serve_module.TRACE] == str(file) and len(started) == 1
    assert serve_module.TRACE == files.TRACE_VARIABLE
