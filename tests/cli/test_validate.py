"""`validate` describes each file, or says in one sentence why it is not a valid trace."""

from __future__ import annotations

import json
import os
import struct
import time
import zipfile
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from areaviz.cli import build, main
from areaviz.samples.paths import OPENINGS
from areaviz.trace import file
from areaviz.trace.arrays import make_example_arrays
from areaviz.trace.record import VERSION
from tests import fakes

STORED = Path(__file__).parents[1] / "trace"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(build("validate"), ["validate", *map(str, arguments)])


def newer(path: Path) -> Path:
    """Write a trace of the next version, with arrays of a type that this version does not know."""
    file.save(fakes.trace(), path)
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    document = json.loads(entries[file.DOCUMENT])
    entries[file.DOCUMENT] = json.dumps({**document, "version": VERSION + 1}).encode()
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
    file.save(fakes.gaze_trace(), tmp_path / "gaze.npz")
    np.savez(tmp_path / "arrays.npz", **make_example_arrays())  # type: ignore[arg-type]
    found = run(tmp_path / "gaze.npz", tmp_path / "arrays.npz")
    assert found.exit_code == 0
    assert "glimpses." in found.output and "arrays, which make a trace" in found.output


def test_newer_trace_is_reported_and_remaining_files_checked(tmp_path: Path) -> None:
    found = run(newer(tmp_path / "new.npz"), STORED / "version_1.npz")
    first, second = sorted(found.output.splitlines(), key=lambda line: "version_1" in line)
    assert found.exit_code == 1 and "version 1" in second
    assert first == (
        f"{tmp_path / 'new.npz'}: The trace has version {VERSION + 1} but this app reads versions"
        f" up to {VERSION}. Update the app to open it."
    )


@pytest.mark.parametrize("content", [b"", b"PK", b"x" * 1000])
def test_file_without_trace_gives_one_sentence(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.npz").write_bytes(content)
    found = run(tmp_path / "x.npz")
    assert found.exit_code == 1 and len(found.output.splitlines()) == 1
    assert run(tmp_path / "none.npz").exit_code == 1


def test_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    main_output = run("--schema").output
    assert json.loads(main_output)["title"] == "areaviz trace"
    with pytest.raises(SystemExit):
        main(["validate"])
    assert "No file was given" in capsys.readouterr().err


def npy(shape: str, kind: str, body: bytes = b"") -> bytes:
    """Return an array's entry with this header."""
    header = f"{{'descr': {kind}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + body


HOSTILE = {
    "deep lists": {file.DOCUMENT: b"[" * 4_000_000},
    "deep objects": {file.DOCUMENT: b'{"a":' * 1_500_000},
    "an endless number": {file.DOCUMENT: b'{"version": ' + b"9" * 4_000_000 + b"}"},
    "many entries": {file.DOCUMENT: b"[" + b"0," * 3_900_000 + b"0]"},
    "a huge array": {"weights.npy": npy("(1000000000000, 1000000000000, 2, 2)", "'<f4'")},
    "an endless length": {"weights.npy": npy(f"({'9' * 4000}, 1, 2, 2)", "'<f4'")},
    "a negative length": {"weights.npy": npy("(-1, -1, 2, 2)", "'<f4'", bytes(16))},
    "objects": {"weights.npy": npy("(1, 1, 2, 2)", "'|O'", bytes(32))},
    "a deep type": {"weights.npy": npy("(1, 1, 2, 2)", "[" * 3000 + "]" * 3000, bytes(32))},
    "records": {"weights.npy": npy("(1, 1, 2, 2)", "[('a', '<f4'), ('b', '<f4')]", bytes(32))},
    "complex numbers": {"weights.npy": npy("(1, 1, 2, 2)", "'<c8'", bytes(32))},
    "long texts": {"weights.npy": npy("(1, 1, 2, 2)", "'<U2000000000'", bytes(32))},
    "many dimensions": {"weights.npy": npy("(" + "1," * 64 + ")", "'<f4'", bytes(4))},
    "a bomb": {
        "weights.npy": npy("(1, 1, 1, 1)", "'<f4'", b"\0\0\x80?"),
        "memory.npy": npy(f"({2**26},)", "'|S1'", b"a" * 2**26),
    },
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_file_is_refused_quickly_in_one_sentence(name: str, tmp_path: Path) -> None:
    """Check the time and the memory: nothing may be allocated that a header only claims."""
    path = tmp_path / "hostile.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for entry, content in HOSTILE[name].items():
            archive.writestr(entry, content)
    started, before = time.process_time(), getrusage(RUSAGE_SELF).ru_maxrss
    found = run(path)
    assert found.exit_code == 1 and len(found.output.splitlines()) == 1, found.output
    assert "Traceback" not in found.output and len(found.output) < 1000
    assert time.process_time() - started < 10
    assert getrusage(RUSAGE_SELF).ru_maxrss - before < 400 * 2**10, "kB"


def test_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    found = run(tmp_path / "pipe")
    assert found.exit_code == 1 and "This is not a file" in found.output
