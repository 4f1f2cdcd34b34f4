"""`export` writes a stored trace as what the file's ending says, and says what a trace does not
have.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from areaviz.cli import main
from areaviz.cli.view_options import layers_in
from areaviz.trace import codec
from areaviz.trace.errors import InputError
from areaviz.trace.intervention_text import unpacked
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


def test_a_page_opens_where_it_is_told_and_carries_the_layers_asked_for(
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
    assert '"layer":2,"selection":{"side":"query","head":1,' in html
    assert "<h1>Mine</h1>" in html and '<p class="note">See</p>' in html


@pytest.mark.parametrize(
    ("typed", "layers"), [("", ()), ("3", (2,)), ("1-3,2,9", (0, 1, 2, 8)), ("65536", (65_535,))]
)
def test_layers_are_counted_from_1(typed: str, layers: tuple[int, ...]) -> None:
    assert layers_in(typed) == layers


@pytest.mark.parametrize("typed", ["0-1", "3-2", "65537", "1-65536,1"])
def test_layers_are_positions_as_in_links(typed: str) -> None:
    """The same rule as that of the items of a link, and the same sentence."""
    with pytest.raises(InputError, match='"layers" has .* positions rise, from 1 to 65,536; mend'):
        layers_in(typed)
    with pytest.raises(InputError, match='"items" has .* positions rise, from 1 to 65,536; mend'):
        list(unpacked(typed))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ["--site", "encoder-decoder"],
            "This trace has no such site, layer or head; it has: glimpses (1 layers, 1 heads).",
        ),
        (["--site", "glimpses", "--layer", "2"], "This trace has no such site, layer or head"),
        (
            ["--site", "glimpses", "--view", "alignment"],
            'The view "alignment" does not fit the site "glimpses"',
        ),
        (
            ["--layers", "a"],
            '"layers" is "a" but must be positions such as 3-7,12; mend or remove it.',
        ),
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
