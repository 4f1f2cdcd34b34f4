"""Files of the app: written whole or not at all, for one user alone, and set aside without loss."""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from areaviz.trace.errors import BackendError

# Modes of what the app stores by itself: no other user of the machine reads it.
PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700


def write_whole(path: Path, content: bytes, mode: int = 0o666) -> None:
    """Write `content` to a temporary file beside `path`, then put it in its place in one step.

    Args:
        path: of the file.
        content: all of it.
        mode: of the file, less what the process's umask takes.

    Raises:
        BackendError: the disk is full, or the folder is missing or read-only; nothing new is left
            behind, and what was at `path` before is untouched.
    """
    with (
        whole_file(path) as draft,
        os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file,
    ):
        file.write(content)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`, and put the file that is written there in its place.

    An error of the block leaves what was at `path` before.

    Raises:
        BackendError: the disk is full, or the folder is missing or read-only.
    """
    draft = path.with_name(f".{uuid4().hex}.part")
    try:
        yield draft
        with draft.open("rb") as written:
            os.fsync(written.fileno())
        draft.replace(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise BackendError(
            f"{path} could not be written ({reason}); free some space or choose another folder,"
            " then save again."
        ) from error
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def write_json(path: Path, value: object) -> None:
    """Write JSON that people read and compare, whole or not at all; numbers in a list stand on one
    line.

    Raises:
        TypeError: JSON cannot hold the value.
        ValueError: a number in it is not finite.
        BackendError: see `write_whole`.
    """
    text = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False)
    write_whole(path, (_LIST.sub(_on_one_line, text) + "\n").encode())


# A list without lists or objects in it; no text in JSON has a line break.
_LIST = re.compile(r"\[\n([^\[\]{}]*)\n *\]")


def _on_one_line(found: re.Match[str]) -> str:
    items = [line.strip() for line in found[1].split("\n")]
    return f"[{' '.join(items)}]"


def private_folder(path: Path) -> None:
    """Make a folder, and those above it, for this user alone; one that is there stays as it is."""
    for folder in (*reversed(path.parents), path):
        with suppress(FileExistsError):
            if not folder.is_dir():
                folder.mkdir(PRIVATE_FOLDER)


def aside_name(path: Path, why: str) -> Path:
    """A name beside `path` that nothing has: what it was, why, when, and a random part."""
    return path.with_name(
        f"{path.name}.{why}-{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(4)}"
    )


def set_aside(path: Path, *companions: Path) -> Path:
    """Give a damaged file another name, under which nothing can lie; returns that name.

    A crash on the way leaves every byte under at least one of the names.

    Args:
        path: the file.
        companions: files that belong to it, whose names are its own with an ending; they go along.

    Raises:
        OSError: a file cannot be given another name; `path` stays where it is.
    """
    aside = aside_name(path, "damaged")
    # Unlike a rename, it fails where something has that name.
    os.link(path, aside)
    for one in companions:
        os.link(one, aside.with_name(aside.name + one.name.removeprefix(path.name)))
    for one in (*companions, path):
        one.unlink()
    return aside
