"""`export` writes the format of the file's extension, and `show` opens a trace in the browser."""

from __future__ import annotations

import re
import webbrowser
from pathlib import Path

import pytest
from typer.testing import CliRunner

from areaviz.cli import build, main
from areaviz.cli.show import make_page_options
from areaviz.page.page import PageServer
from areaviz.trace import file as codec
from areaviz.trace.changes import parse_ranges
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace
from tests import fakes


def stored(folder: Path, trace: Trace) -> str:
    codec.save(trace, folder / "trace.npz")
    return str(folder / "trace.npz")


@pytest.mark.parametrize(
    ("trace", "view", "site"),
    [
        (fakes.trace("A dog.", "Ein Hund."), "alignment", "encoder-decoder"),
        (fakes.gaze_trace("glimpses"), "glimpses", "glimpses"),
        (fakes.gaze_trace("transformer", steps=1, scales=1), "transformer", "transformer"),
    ],
)
def test_view_becomes_a_file(trace: Trace, view: str, site: str, tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as done:
        main(
            [
                "export",
                stored(tmp_path, trace),
                str(tmp_path / "out.svg"),
                "--view",
                view,
                "--site",
                site,
            ]
        )
    assert not done.value.code and (tmp_path / "out.svg").read_text().lstrip().startswith("<?xml")


def test_page_opens_at_focus_with_requested_layers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace, file = stored(tmp_path, fakes.trace(layers=5)), tmp_path / "out.html"
    told = [
        "--layer",
        "3",
        "--head",
        "2",
        "--layers",
        "1-2,3",
        "--title",
        "Mine",
        "--note",
        "See",
        "--limit",
        "4",
    ]
    told += ["--site", "encoder self", "--sites", "encoder self, decoder self"]
    with pytest.raises(SystemExit) as done:
        main(["export", trace, str(file), *told])
    html = file.read_text()
    assert not done.value.code and f"{file}: " in capsys.readouterr().out
    assert html.count('data-site="encoder self"') == 3 and html.count('type="text/plain"') == 6
    assert re.search(r'"layer":2,"selection":{[^}]*"head":1,', html)
    assert "<h1>Mine</h1>" in html and '<p class="note">See</p>' in html


@pytest.mark.parametrize(("typed", "layers"), [("", ()), ("3", (2,)), ("1-3,2,9", (0, 1, 2, 8))])
def test_layers_are_counted_from_1(typed: str, layers: tuple[int, ...]) -> None:
    assert make_page_options(typed, "", 64, "", "", 16).layers == layers


@pytest.mark.parametrize("typed", ["0-1", "0", "4-2", "1-99999", "a"])
def test_layers_follow_the_rule_of_positions_in_links(typed: str) -> None:
    for name in ("layers", "items"):
        with pytest.raises(InputError, match=f'^"{name}" (is|has) "'):
            list(parse_ranges(typed, name))
    with pytest.raises(InputError, match='^"layers" '):
        make_page_options(typed, "", 64, "", "", 16)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ["--site", "encoder-decoder"],
            "This trace has no such site, layer or head. It has: glimpses (1 layers, 1 heads).",
        ),
        (["--site", "glimpses", "--layer", "2"], "This trace has no such site, layer or head"),
        (
            ["--site", "glimpses", "--view", "alignment"],
            'The view "alignment" does not fit the site "glimpses"',
        ),
        (
            ["--layers", "a"],
            '"layers" is "a" but must be positions such as 3-7,12. Correct or remove it.',
        ),
        (["--view", "pie"], 'View "pie" does not exist. Choose one of'),
    ],
)
def test_undrawable_view_is_reported(
    options: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = stored(tmp_path, fakes.gaze_trace("glimpses"))
    with pytest.raises(SystemExit) as done:
        main(["export", trace, str(tmp_path / "out.svg"), *options])
    assert done.value.code == 1 and sentence in capsys.readouterr().err
    assert not (tmp_path / "out.svg").exists()


@pytest.fixture
def trace(tmp_path: Path) -> str:
    """Return the path of a stored trace of a translator."""
    return stored(tmp_path, fakes.trace("A dog.", "Hund."))


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the addresses that the browser opened; Ctrl-C stops the server at once."""
    opened: list[str] = []

    def serve_once(server: PageServer) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr(PageServer, "serve_forever", serve_once)
    return opened


def test_browser_opens_the_page(trace: str, seen: list[str]) -> None:
    done = CliRunner().invoke(build("show"), ["show", trace, "--layer", "2"])
    assert done.exit_code == 0 and len(seen) == 1
    assert f"trace.npz is shown on {seen[0]} until Ctrl-C." in done.output


def test_missing_browser_prints_the_address(trace: str, seen: list[str]) -> None:
    done = CliRunner().invoke(build("show"), ["show", trace, "--no-browser"])
    assert done.exit_code == 0 and seen == [] and "http://127.0.0.1:" in done.output


def test_server_answers_with_the_page(
    trace: str, seen: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[bytes] = []
    monkeypatch.setattr(PageServer, "serve_forever", lambda server: served.append(server.content))
    assert CliRunner().invoke(build("show"), ["show", trace, "--title", "My dog"]).exit_code == 0
    assert b"<h1>My dog</h1>" in served[0]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ["--layer", "9"],
            (
                "This trace has no such site, layer or head. It has: encoder self (2 layers, 4"
                " heads), "
            ),
        ),
        (["--layers", "two"], '"layers" is "two" but must be positions such as 3-7,12'),
        (["--layers", "1", "--layer", "2"], "The page cannot open at layer 2"),
    ],
)
def test_unshowable_trace_is_reported(
    options: list[str],
    sentence: str,
    trace: str,
    seen: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as done:
        main(["show", trace, *options])
    assert done.value.code == 1 and sentence in capsys.readouterr().err and seen == []
