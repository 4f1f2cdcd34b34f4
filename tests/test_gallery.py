"""The gallery works: every example does what the index says, and the index lists them all."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import areaviz
from areaviz.page.notebook import NotebookPage, show
from areaviz.page.widget import AttentionWidget
from areaviz.trace import file
from areaviz.trace.document import validate
from tests.sampled import sampled

FOLDER = Path(__file__).parents[1] / "examples"
# A callback for three trackers and unpacking a model take more lines.
LONGER = {"log_to_trackers.py": 90, "real_weights.py": 50}
SCRIPTS = sorted(path.name for path in FOLDER.glob("*.py"))


def run(name: str) -> dict[str, object]:
    """Run an example and return its names."""
    return runpy.run_path(str(FOLDER / name))


def test_index_names_every_example() -> None:
    named = re.findall(r"^\| \[([\w.]+)\]", (FOLDER / "README.md").read_text("utf-8"), re.MULTILINE)
    notebooks = [path.name for path in FOLDER.glob("*.ipynb")]
    assert sorted(named) == sorted([*SCRIPTS, *notebooks, "extension"])


@pytest.mark.parametrize("name", SCRIPTS)
def test_example_is_short(name: str) -> None:
    assert len((FOLDER / name).read_text("utf-8").splitlines()) <= LONGER.get(name, 40)


def test_weights_are_read(capsys: pytest.CaptureFixture[str]) -> None:
    main = run("weights_in_numpy.py")["main"]
    assert callable(main)
    main()
    said = capsys.readouterr().out
    assert "encoder-decoder: 4 layers, 4 heads" in said and "a row sums to 1" in said


@pytest.mark.long
def test_notebook_shows_a_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[NotebookPage | AttentionWidget] = []
    monkeypatch.setattr(areaviz, "show", lambda *asked, **more: shown.append(show(*asked, **more)))
    run("in_a_notebook.py")
    first, second = shown
    assert '"head":null' in first.html and '"head":1' in second.html and second.height == 700


def test_translation_becomes_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main = run("translate_and_export.py")["main"]
    assert callable(main)
    main(tmp_path)
    assert "<h1>Two children, in German</h1>" in (tmp_path / "translation.html").read_text("utf-8")
    assert "translation.html" in capsys.readouterr().out


def test_caption_becomes_a_page_and_a_film(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main = run("caption_and_export.py")["main"]
    assert callable(main)
    main(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["caption.gif", "caption.html"]
    assert "key" in capsys.readouterr().out


def test_two_models_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    main = run("compare_models.py")["main"]
    assert callable(main)
    main()
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    regular, area = (
        [row for row in rows if row[0] == name] for name in ("char-tiny-regular", "char-tiny-area")
    )
    assert len(regular) == len(area) == 2
    assert all(float(row[4]) == 1 for row in regular) and all(float(row[4]) > 1 for row in area)


@pytest.mark.parametrize("name", sampled(["arrays", "bert", "own_module", "vit"], "own_module"))
def test_external_models_and_arrays_give_traces(name: str, tmp_path: Path) -> None:
    # Use a separate process as a user would, because other tests have prepared libraries.
    ran = subprocess.run(
        [sys.executable, str(FOLDER / f"{name}.py"), "trace.npz"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(FOLDER.parent)},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    validate(file.load(tmp_path / "trace.npz"))
    assert ran.stdout.strip()
