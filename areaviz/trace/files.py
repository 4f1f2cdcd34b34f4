"""Write files of the app whole or not at all, keep them private, and move damaged ones aside."""

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

# Modes of files and folders that the app stores. Other users of the machine cannot read them.
PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700


def write_whole(path: Path, content: bytes, mode: int = 0o666) -> None:
    """Write `content` to a temporary file next to `path`, then move it to `path` in one step.

    Args:
        path: Path of the file.
        content: The whole content.
        mode: Mode of the file before the umask of the process is applied.

    Raises:
        BackendError: The disk is full, or the folder is missing or read-only. No new file is left
            behind, and an existing file at `path` is unchanged.
    """
    with (
        write_whole_file(path) as draft,
        os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file,
    ):
        file.write(content)


@contextmanager
def write_whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path next to `path`, and move the file written there to `path`.

    If the block fails, an existing file at `path` is unchanged.

    Raises:
        BackendError: The disk is full, or the folder is missing or read-only.
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
            f"{path} could not be written ({reason}). Free some space or choose another"
            " folder, then save again."
        ) from error
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def write_json(path: Path, value: object) -> None:
    """Write readable JSON, whole or not at all. A list of numbers or texts takes one line.

    Raises:
        TypeError: JSON cannot represent the value.
        ValueError: The value contains a number that is not finite.
        BackendError: See `write_whole`.
    """
    text = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False)
    write_whole(path, (_LIST.sub(_join_lines, text) + "\n").encode())


# Matches a list that contains neither lists nor objects. JSON texts cannot contain line breaks, so
# every line break separates two entries.
_LIST = re.compile(r"\[\n([^\[\]{}]*)\n *\]")


def _join_lines(found: re.Match[str]) -> str:
    items = [line.strip() for line in found[1].split("\n")]
    return f"[{' '.join(items)}]"


def make_private_folder(path: Path) -> None:
    """Create a private folder and its missing parents. Existing folders are left unchanged."""
    for folder in (*reversed(path.parents), path):
        with suppress(FileExistsError):
            if not folder.is_dir():
                folder.mkdir(PRIVATE_FOLDER)


def find_aside_name(path: Path, why: str) -> Path:
    """Return an unused name next to `path`.

    It consists of the name of `path`, the reason, the time and a random part.
    """
    return path.with_name(
        f"{path.name}.{why}-{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(4)}"
    )


def set_aside(path: Path, *companions: Path) -> Path:
    """Rename a damaged file to an unused name, and return that name.

    If the app crashes during the call, each file has its old name, its new name, or both.

    Args:
        path: The file.
        companions: Files that belong to the file. Their names start with its name. They are renamed
            as well.

    Raises:
        OSError: A file cannot be renamed. `path` keeps its name.
    """
    aside = find_aside_name(path, "damaged")
    # Unlike a rename, a link fails if the name exists.
    os.link(path, aside)
    for one in companions:
        os.link(one, aside.with_name(aside.name + one.name.removeprefix(path.name)))
    for one in (*companions, path):
        one.unlink()
    return aside
