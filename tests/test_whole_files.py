"""Every file is written completely or not at all: only `safe_files` writes to paths."""

from __future__ import annotations

import ast
import errno
from collections.abc import Iterator
from pathlib import Path

import pytest

from areaviz.trace.errors import BackendError
from areaviz.trace.safe_files import write_whole, write_whole_file

PACKAGE = Path(__file__).parents[1] / "areaviz"
WRITERS = {"write_text", "write_bytes", "save_file", "to_csv", "to_parquet"}
# Files whose calls with these names do not write to a path of the user.
EXCEPTIONS = {
    "lab/loop.py": "writes to a draft",
    "sets/notes/exchange.py": "writes to memory",
    "trace/file.py": "writes to an archive in memory",
}


def calls_of_writers() -> Iterator[str]:
    for path in sorted(PACKAGE.rglob("*.py")):
        name = str(path.relative_to(PACKAGE))
        for node in ast.walk(ast.parse(path.read_text())) if name not in EXCEPTIONS else ():
            if not isinstance(node, ast.Call):
                continue
            called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            mode = [one.value for one in node.args if isinstance(one, ast.Constant)]
            opens = called == "open" and any(one in ("w", "wb") for one in mode)
            if called in WRITERS or opens:
                yield f"{name}:{node.lineno} {ast.unparse(node)[:60]}"


def test_no_module_writes_to_a_path_by_itself() -> None:
    """The excepted files write to memory, to a draft, or to a private file of the app."""
    assert list(calls_of_writers()) == []


@pytest.mark.parametrize("has_older", [True, False])
def test_full_disk_leaves_the_old_file(tmp_path: Path, has_older: bool) -> None:
    path = tmp_path / "table.csv"
    if has_older:
        path.write_text("old")

    def fill(draft: Path) -> None:
        draft.write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")

    said = "table.csv could not be written .No space left"
    with pytest.raises(BackendError, match=said), write_whole_file(path) as draft:
        fill(draft)
    assert [one.name for one in tmp_path.iterdir()] == (["table.csv"] if has_older else [])
    assert not has_older or path.read_text() == "old"


def test_write_whole_on_a_full_device_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="could not be written"):
        write_whole(Path("/dev/full/table.csv"), b"x")
