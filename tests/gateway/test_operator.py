"""The operator's channel answers only the owner of the app on this machine."""

from __future__ import annotations

import json
import socket
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from areaviz.gateway import serving
from areaviz.gateway.serving import SETTING, Command, send_command, serve_commands
from areaviz.trace.errors import InputError

PORT = 8599


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(SETTING, str(tmp_path / "runtime"))
    return tmp_path / "runtime"


def stop(words: Sequence[str]) -> object:
    if words != ["7"]:
        raise InputError(f"There is no job {', '.join(words)}; list them.")
    return {"stopped": 7}


def broken(words: Sequence[str]) -> object:
    raise RuntimeError("secret")


COMMANDS: Mapping[str, Command] = {"jobs stop": stop, "broken": broken, "echo": list}


def test_command_gets_its_words_and_answers() -> None:
    with serve_commands(COMMANDS, PORT):
        assert send_command(PORT, "jobs stop", "7") == {"stopped": 7}
        assert send_command(PORT, "echo", "a b", "ü\n") == ["a b", "ü\n"]


def test_failed_command_raises_one_sentence() -> None:
    with serve_commands(COMMANDS, PORT):
        with pytest.raises(InputError, match="There is no job 8"):
            send_command(PORT, "jobs stop", "8")
        with pytest.raises(
            InputError, match="has no command .* commands are: jobs stop, broken, echo"
        ):
            send_command(PORT, "shut down")
        with pytest.raises(InputError, match="The app's log says why") as told:
            send_command(PORT, "broken")
        assert "secret" not in str(told.value)
        assert send_command(PORT, "echo") == []


@pytest.mark.parametrize(
    "line", [b"\n", b"{}\n", b"[]\n", b'{"command": 1}\n', b'"a"\n', b"\xff\n", b"9" * 2**20]
)
def test_malformed_line_gets_an_answer(line: bytes, folder: Path) -> None:
    with serve_commands(COMMANDS, PORT):
        with socket.socket(socket.AF_UNIX) as other:
            other.connect(str(folder / f"{PORT}.sock"))
            other.sendall(line)
            assert "problem" in json.loads(other.makefile("rb").readline())
        assert send_command(PORT, "echo", "a") == ["a"]


def test_channel_is_private_to_its_owner(folder: Path) -> None:
    with serve_commands(COMMANDS, PORT):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE((folder / f"{PORT}.sock").stat().st_mode) == 0o600
    assert not (folder / f"{PORT}.sock").exists()


def test_folder_open_to_others_is_not_used(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder.mkdir(mode=0o755)
    with serve_commands(COMMANDS, PORT):
        assert not list(folder.iterdir())
    assert "Other users can open the folder" in caplog.text
    with pytest.raises(InputError, match="Other users can open the folder"):
        send_command(PORT, "echo")


def test_send_command_names_folder_without_app(folder: Path) -> None:
    with pytest.raises(InputError, match=f"You have no app at port {PORT}"):
        send_command(PORT, "echo")


def test_socket_left_by_a_kill_is_replaced(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(folder / f"{PORT}.sock"))
    left.close()
    with pytest.raises(InputError, match="You have no app"):
        send_command(PORT, "echo")
    with serve_commands(COMMANDS, PORT):
        assert send_command(PORT, "echo", "a") == ["a"]


def test_default_folder_belongs_to_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/1000")
    assert serving._get_default_folder() == Path("/run/user/1000/areaviz")
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    assert serving._get_default_folder().name.startswith("areaviz-")
