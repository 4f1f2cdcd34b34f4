"""`export` draws any view of a stored trace, of maps and of gazes, and says what a trace does not have."""

from __future__ import annotations

from pathlib import Path

import pytest

from areaviz.cli import main
from areaviz.trace import codec
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
def test_a_view_becomes_a_file(trace: Trace, view: str, site: str, tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as done:
        main(["export", stored(tmp_path, trace), str(tmp_path / "out.svg"), "--view", view, "--site", site])
    assert not done.value.code and (tmp_path / "out.svg").read_text().lstrip().startswith("<?xml")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ["--site", "encoder-decoder"],
            "This trace has no such site, layer or head; it has: glimpses (1 layers, 1 heads).",
        ),
        (["--site", "glimpses", "--layer", "2"], "This trace has no such site, layer or head"),
        (["--site", "glimpses", "--view", "alignment"], 'The view "alignment" does not fit the site "glimpses"'),
        (["--view", "pie"], 'There is no view "pie"; choose one of'),
    ],
)
def test_what_cannot_be_drawn_is_told(
    options: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = stored(tmp_path, fakes.gaze_trace("glimpses"))
    with pytest.raises(SystemExit) as done:
        main(["export", trace, str(tmp_path / "out.svg"), *options])
    assert done.value.code == 1 and sentence in capsys.readouterr().err
    assert not (tmp_path / "out.svg").exists()
