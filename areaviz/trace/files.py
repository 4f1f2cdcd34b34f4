"""Writing files whole or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from areaviz.trace.errors import BackendError


def write_whole(path: Path, content: bytes) -> None:
    """Write `content` to a temporary file beside `path`, then put it in its place in one step.

    Raises:
        BackendError: the disk is full, or the folder is missing or read-only; nothing new is left
            behind, and what was at `path` before is untouched.
    """
    draft = path.with_name(f".{uuid4().hex}.part")
    try:
        with draft.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise BackendError(
            f"{path} could not be written ({reason}); free some space or choose another folder, then save again."
        ) from error
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
