"""`show` serves a page of a stored trace and opens the browser on it."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import pytest
from typer.testing import CliRunner

from areaviz.cli import build, main
from areaviz.publish.server import PageServer
from areaviz.trace import codec
from tests import fakes


@pytest.fixture
def stored(tmp_path: Path) -> str:
    codec.save(fakes.trace("A dog.", "Hund."), tmp_path / "trace.npz")
    return str(tmp_path / "trace.npz")


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the browser was opened on; Ctrl-C stops the server at once."""
    opened: list[str] = []

    def serve_once(server: PageServer) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr(PageServer, "serve_forever", serve_once)
    return opened


def test_the_browser_is_opened_on_the_page(stored: str, seen: list[str]) -> None:
    done = CliRunner().invoke(build("show"), ["show", stored, "--layer", "2"])
    assert done.exit_code == 0 and len(seen) == 1
    assert f"trace.npz is shown on {seen[0]} until Ctrl-C." in done.output


def test_without_a_browser_the_address_is_told(stored: str, seen: list[str]) -> None:
    done = CliRunner().invoke(build("show"), ["show", stored, "--no-browser"])
    assert done.exit_code == 0 and seen == [] and "http://127.0.0.1:" in done.output


def test_what_is_served_is_the_page(
    stored: str, seen: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[bytes] = []
    monkeypatch.setattr(PageServer, "serve_forever", lambda server: served.append(server.content))
    assert CliRunner().invoke(build("show"), ["show", stored, "--title", "My dog"]).exit_code == 0
    assert b"<h1>My dog</h1>" in served[0]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ["--layer", "9"],
            (
                "This trace has no such site, layer or head; it has: encoder self (2 layers, 4"
                " heads), "
            ),
        ),
        (["--layers", "two"], '"layers" is "two" but must be positions such as 3-7,12'),
        (["--layers", "1", "--layer", "2"], "The page cannot open at layer 2"),
    ],
)
def test_what_cannot_be_shown_is_told(
    options: list[str],
    sentence: str,
    stored: str,
    seen: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as done:
        main(["show", stored, *options])
    assert done.value.code == 1 and sentence in capsys.readouterr().err and seen == []
