"""`areaviz.export` writes the format of the file's extension; importing areaviz stays cheap."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, assert_type

import pytest

import areaviz
from areaviz.page.page import ENDINGS
from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from tests import fakes
from tests.publish.test_page import blind

BEGINS = {
    ".html": b"<!doctype html>",
    ".svg": b"<?xml",
    ".pdf": b"%PDF",
    ".png": b"\x89PNG",
    ".csv": b"\xef\xbb\xbfoutput items",
    ".json": b'{"columns"',
    ".gif": b"GIF89a",
}
HEAVY = (
    "torch",
    "streamlit",
    "plotly",
    "matplotlib",
    "numpy",
    "PIL",
    "pandas",
    "ray",
    "transformers",
)


@pytest.mark.parametrize("ending", ENDINGS)
def test_file_extension_sets_the_format(ending: str, tmp_path: Path) -> None:
    trace = fakes.caption_trace() if ending == ".gif" else fakes.trace("A dog.", "Hund.")
    path = areaviz.export(trace, tmp_path / f"a{ending.upper()}")
    assert path.read_bytes().lstrip().startswith(BEGINS[ending])


def test_export_uses_focus_and_view(tmp_path: Path) -> None:
    trace = fakes.trace("A dog.", "Hund.")
    focus = Focus("encoder self", 1, 2)
    path = areaviz.export(trace, f"{tmp_path}/a.csv", focus, view="coverage")
    assert (
        path.read_text() != areaviz.export(trace, tmp_path / "b.csv", view="coverage").read_text()
    )


@pytest.mark.parametrize(
    ("trace", "name", "view", "sentence"),
    [
        (
            fakes.trace(),
            "a.docx",
            None,
            'The file extension ".docx" is not supported. Use one of .html, .svg',
        ),
        (fakes.trace(), "a", None, 'The file extension "a" is not supported. Use one'),
        (fakes.trace(), "a.svg", "pie", 'View "pie" does not exist. Choose one of'),
        (
            fakes.gaze_trace(),
            "a.svg",
            "alignment",
            'The view "alignment" does not fit the site "glimpses"',
        ),
        (fakes.trace(), "a.gif", None, "This view is not animated"),
        (fakes.caption_trace(), "a.gif", "sizes", "This view is not animated"),
        (blind(), "a.svg", None, "This model has no attention to draw"),
    ],
)
def test_unwritable_export_is_reported(
    trace: Trace, name: str, view: str | None, sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as told:
        areaviz.export(trace, tmp_path / name, view=view)
    assert sentence in str(told.value) and not list(tmp_path.iterdir())


def test_unwritable_place_is_reported(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="could not be written"):
        areaviz.export(fakes.trace(), tmp_path / "missing" / "a.html")


def test_public_names_are_exactly_the_listed_ones() -> None:
    assert set(areaviz.EXPORTS) <= set(dir(areaviz))
    assert all(
        getattr(areaviz, name).__module__ == module for name, module in areaviz.EXPORTS.items()
    )
    assert set(areaviz.EXPORTS) == set(areaviz.__all__)
    misspelt = "shows"
    with pytest.raises(AttributeError, match="no attribute 'shows'"):
        getattr(areaviz, misspelt)


def test_editor_sees_types_of_public_names(tmp_path: Path) -> None:
    """Check public types with `assert_type`, which fails if mypy sees a public name as Any."""
    assert_type(areaviz.Trace, type[Trace])
    trace = fakes.trace("A dog.", "Hund.")
    assert_type(areaviz.export(trace, tmp_path / "a.csv"), Path)
    assert_type(areaviz.show(trace).height, int | None)
    assert_type(areaviz.PageOptions(areas=4).areas, int)
    if TYPE_CHECKING:  # this one needs a model
        assert_type(areaviz.attend("folder", "A dog."), Trace)


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import areaviz, sys; print(*(name for name in sys.modules if '.' not in name))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "areaviz" in loaded and not set(loaded) & set(HEAVY)


def test_exporting_needs_neither_torch_nor_streamlit() -> None:
    code = (
        "import areaviz, sys; areaviz.export; print(*(name for name in sys.modules if '.' not in"
        " name))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "matplotlib" in loaded and not set(loaded) & {"torch", "streamlit", "pandas", "ray"}
