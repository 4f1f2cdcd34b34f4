"""`validate` says of each file what it is, or in a sentence why it is no trace."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from areaviz.cli import build, main
from areaviz.data.places import OPENINGS
from areaviz.trace import codec
from areaviz.trace.arrays_file import example_arrays
from areaviz.trace.record import VERSION
from tests import fakes

STORED = Path(__file__).parents[1] / "trace"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(build("validate"), ["validate", *map(str, arguments)])


def newer(path: Path) -> Path:
    """A trace of the next version, which has arrays of a type that this one does not know."""
    codec.save(fakes.trace(), path)
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    document = json.loads(entries[codec.DOCUMENT])
    entries[codec.DOCUMENT] = json.dumps({**document, "version": VERSION + 1}).encode()
    entries["output.probabilities.npy"] = b"in a way of its own"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize("version", range(1, VERSION + 1))
def test_older_versions_are_sound_and_named(version: int) -> None:
    found = run(STORED / f"version_{version}.npz")
    assert found.exit_code == 0 and f"a trace, version {version}, of" in found.output


def test_every_stored_kind_is_sound() -> None:
    found = run(*sorted(OPENINGS.glob("*.npz")))
    assert found.exit_code == 0 and "hops (" in found.output and "pointer (" in found.output
    assert len(found.output.splitlines()) == len(list(OPENINGS.glob("*.npz")))


def test_gazes_and_arrays_are_sound(tmp_path: Path) -> None:
    codec.save(fakes.gaze_trace(), tmp_path / "gaze.npz")
    np.savez(tmp_path / "arrays.npz", **example_arrays())  # type: ignore[arg-type]
    found = run(tmp_path / "gaze.npz", tmp_path / "arrays.npz")
    assert found.exit_code == 0
    assert "glimpses." in found.output and "arrays, which make a trace" in found.output


def test_a_newer_trace_is_one_sentence_and_the_others_are_still_checked(tmp_path: Path) -> None:
    found = run(newer(tmp_path / "new.npz"), STORED / "version_1.npz")
    first, second = sorted(found.output.splitlines(), key=lambda line: "version_1" in line)
    assert found.exit_code == 1 and "version 1" in second
    assert first == (
        f"{tmp_path / 'new.npz'}: The trace has version {VERSION + 1} but this app reads versions"
        f" up to {VERSION}; update the app to open it."
    )


@pytest.mark.parametrize("content", [b"", b"PK", b"x" * 1000])
def test_what_is_no_trace_is_one_sentence(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.npz").write_bytes(content)
    found = run(tmp_path / "x.npz")
    assert found.exit_code == 1 and len(found.output.splitlines()) == 1
    assert run(tmp_path / "none.npz").exit_code == 1


def test_the_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    main_output = run("--schema").output
    assert json.loads(main_output)["title"] == "areaviz trace"
    with pytest.raises(SystemExit):
        main(["validate"])
    assert "No file is named" in capsys.readouterr().err
