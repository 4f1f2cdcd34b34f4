"""Packages extend the app through entry points. Unusable entries give a warning."""

from __future__ import annotations

import importlib
import json
import logging
import os
import shutil
import subprocess
import sys
import threading
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from areaviz import cli, extensions
from areaviz.extensions import ExtensibleRegistry
from areaviz.samples.dataset import Example
from areaviz.sets import measures
from areaviz.sets.measures import Measure, OwnMeasure, measure_problem
from areaviz.trace.errors import BackendError
from tests import fakes
from tests.sampled import sampled

ROOT = Path(__file__).parents[1]
EXAMPLES = ("examples/extension", "tests/extension_0_1")
USED = """
import json
from pathlib import Path
from areaviz.sets.measures import MEASURES, compute_metrics
from areaviz.backend.local import LocalBackend
from areaviz.cli import main
from areaviz.samples.dataset import Example
from areaviz.trace.file import load
from areaviz.trace.document import validate
from areaviz.views.views import VIEWS

main(["trace", "example-mirror", "A small dog runs", "mirror.npz", "--checkpoints", "none"])
"""
SHOWN = """
trace = load("mirror.npz")
validate(trace)
print(json.dumps({
    "views": [*VIEWS][-2:],
    "measures": compute_metrics(trace, Example("1", "A small dog runs"))["backwards"],
    "cards": [*LocalBackend(Path("none"), "cpu").models()],
}))
main(["export", "mirror.npz", "mirror.csv", "--view", "first-and-last"])
"""


@pytest.fixture(scope="module", params=sampled(EXAMPLES, "examples/extension"))
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder into which pip has installed the example of today or of version 0.1."""
    folder = tmp_path_factory.mktemp("example")
    shutil.copytree(ROOT / request.param, folder / "source")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--target", str(folder / "site")]
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *options, str(folder / "source")], check=True
    )
    return folder / "site"


@pytest.mark.long
def test_example_adds_a_model_a_view_and_a_measure(installed: Path, tmp_path: Path) -> None:
    python = [sys.executable, "-c"]
    paths = {**os.environ, "PYTHONPATH": f"{installed}{os.pathsep}{ROOT}"}
    # `main` exits only on failure, but typer exits after every command.
    for script in (USED, USED.split("\nmain")[0] + SHOWN):
        found = subprocess.run(
            [*python, script], cwd=tmp_path, env=paths, capture_output=True, text=True
        )
        assert found.returncode == 0, found.stderr
    told = json.loads(found.stdout.splitlines()[0])
    assert told["views"][-1] == "first-and-last" and told["measures"] == 1
    assert told["cards"] == ["example-mirror"]
    assert (tmp_path / "mirror.csv").read_text("utf-8-sig").splitlines()[0] == "query,first,last"


@pytest.fixture
def brought(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder on the path with a package that has good and bad entries for a table."""
    (tmp_path / "brings.py").write_text("GOOD = 3\nNONE = 'text'\n")
    (tmp_path / "breaks.py").write_text("raise RuntimeError('no driver')\n")
    (tmp_path / "leaves.py").write_text("raise SystemExit('goodbye')\n")
    told = tmp_path / "brings-1.0.dist-info"
    told.mkdir()
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: brings\nVersion: 1.0\n")
    (told / "entry_points.txt").write_text(
        "[areaviz.numbers]\ngood = brings:GOOD\none = brings:GOOD\nlost = brings:LOST\n"
        "broken = breaks:GOOD\nabsent = nowhere:GOOD\nwrong = brings:NONE\nleaving = leaves:GOOD\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    return tmp_path


def whole(thing: object) -> str:
    return "" if isinstance(thing, int) else "is not a whole number"


def test_unusable_extension_is_left_out_with_a_warning(
    brought: Path, caplog: pytest.LogCaptureFixture
) -> None:
    numbers = ExtensibleRegistry("numbers", {"one": 1}, whole)
    with caplog.at_level(logging.WARNING):
        assert dict(numbers) == {"one": 1, "good": 3}
    said = {record.args[0]: record.getMessage() for record in caplog.records}  # type: ignore[index]
    assert said.keys() == {"one", "lost", "broken", "absent", "wrong", "leaving"}
    assert "SystemExit: goodbye" in said["leaving"]
    assert 'there is a "one" already' in said["one"]
    assert "RuntimeError: no driver" in said["broken"] and "nowhere" in said["absent"]
    assert "it is not a whole number" in said["wrong"] and "LOST" in said["lost"]
    assert all("brings" in one and one.endswith(".") for one in said.values())
    # The warnings appear once, because the table is built when it is first read.
    assert (len(numbers), "lost" in numbers, len(caplog.records)) == (2, False, 6)


def test_check_that_raises_leaves_the_entry_out(
    brought: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(thing: object) -> str:
        raise AttributeError("no such attribute")

    assert dict(ExtensibleRegistry("numbers", {"one": 1}, fail)) == {"one": 1}
    assert "AttributeError: no such attribute" in caplog.text


def test_slow_import_is_named_in_the_log(
    brought: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The import waits for the warning, so it is always slow enough."""
    is_named = threading.Event()
    monkeypatch.setattr(extensions, "SLOW_SECONDS", 0.01)
    monkeypatch.setattr(extensions.log, "warning", lambda *_: is_named.set())
    load = EntryPoint.load

    def slow(point: EntryPoint) -> object:
        is_named.wait()
        return load(point)

    monkeypatch.setattr(EntryPoint, "load", slow)
    assert dict(ExtensibleRegistry("numbers", {}, whole)) == {"good": 3, "one": 3}


def test_built_in_entries_exist_while_extensions_are_imported(
    brought: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = ExtensibleRegistry("numbers", {"one": 1}, whole)
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: pytest.fail("too early"))
    assert numbers["one"] == 1


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the pyproject.toml of a clone that declares a part which exists and two others."""
    project = tmp_path / "pyproject.toml"
    project.write_text(
        '[project]\nname = "areaviz"\n[project.entry-points."areaviz.numbers"]\n'
        'here = "areaviz.extensions:SLOW_SECONDS"\nabsent = "areaviz.nothing:ONE"\n'
        'deep = "areaviz.nothing.at.all:ONE"\n'
    )
    monkeypatch.setattr(extensions, "_PROJECT", project)
    return project


def test_absent_parts_of_areaviz_are_left_out_without_a_warning(
    clone: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert dict(ExtensibleRegistry("numbers", {"one": 1})) == {"one": 1, "here": 10.0}
    assert not caplog.records


def test_project_of_another_package_is_not_ours(clone: Path) -> None:
    """Check that packages whose pyproject.toml was installed beside areaviz change nothing."""
    clone.write_text(clone.read_text().replace('"areaviz"\n', '"other"\n'))
    assert dict(ExtensibleRegistry("numbers", {"one": 1})) == {"one": 1}


def test_commands_of_other_packages_follow_and_replace_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours = cli.list_commands()
    brought = {"train": ("brings", "Break."), "count": ("brings", "Count the areas.")}
    monkeypatch.setattr(cli, "TABLES", {**cli.TABLES, "theirs": brought})
    assert [*cli.list_commands()] == [*ours, "count"]
    assert cli.list_commands() == {**ours, "count": ("brings", "Count the areas.")}
    assert cli.table_problem(brought) == "" and cli.table_problem({"train": "brings"})


def test_without_optional_parts_the_other_commands_remain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extensions, "_is_here", lambda point: False)
    monkeypatch.setattr(cli, "TABLES", ExtensibleRegistry("commands", {"": cli.TABLES["areaviz"]}))
    found = cli.list_commands()
    assert {"serve", "show", "live"} <= found.keys() and not {"train", "analyse"} & found.keys()


def test_table_without_extensions_has_built_in_entries() -> None:
    assert dict(ExtensibleRegistry("numbers", {"one": 1}, whole)) == {"one": 1}


@pytest.mark.parametrize(
    ("thing", "said"),
    [
        (Measure("A", "B.", "high"), "is no OwnMeasure"),
        (OwnMeasure("A", "B.", "up", lambda trace, example: 1.0), "neither"),
        (OwnMeasure("A", "B.", "low", lambda trace, example: 1.0), ""),
    ],
)
def test_extension_measure_is_checked(thing: object, said: str) -> None:
    assert said in measure_problem(thing) and bool(said) == bool(measure_problem(thing))


def test_failing_measure_is_named_and_inapplicable_omitted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(trace: Any, example: Example) -> float:
        raise ZeroDivisionError("no words")

    none = OwnMeasure("None", "Never.", "", lambda trace, example: None)
    ours = measures.MEASURES
    built_in = measures.compute_metrics(fakes.trace(), Example("7", "A dog."))
    monkeypatch.setattr(measures, "MEASURES", {**ours, "none": none})
    assert measures.compute_metrics(fakes.trace(), Example("7", "A dog.")) == built_in
    bad = OwnMeasure("Bad", "Ever.", "", broken)
    monkeypatch.setattr(measures, "MEASURES", {**ours, "bad": bad})
    with pytest.raises(BackendError, match='"bad" failed on the example 7 .*no words'):
        measures.compute_metrics(fakes.trace(), Example("7", "A dog."))
