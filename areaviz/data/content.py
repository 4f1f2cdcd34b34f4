"""What tells one file's content from another's: its SHA-256, read once as long as the file is the
same.
"""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache
from pathlib import Path

from areaviz.trace.errors import InputError
from areaviz.trace.limits import shown

REMEMBERED = 20_000
"""Files on the disk whose content is known; as many as a set may have examples."""


def content_digest(name: str, content: bytes | Path) -> str:
    """The SHA-256 of a file's content, 64 hexadecimal digits; name: for people.

    Raises:
        InputError: the file cannot be read.
    """
    if isinstance(content, bytes):
        return hashlib.sha256(content).hexdigest()
    try:
        about = content.stat()
        return _of_file(
            str(content.absolute()),
            about.st_ino,
            about.st_size,
            about.st_mtime_ns,
            about.st_ctime_ns,
        )
    except OSError as error:
        reason = error.strerror or os.strerror(error.errno or 0)
        raise InputError(
            f'"{shown(name)}" cannot be read ({reason}); mend that or leave it out.'
        ) from error


@lru_cache(maxsize=REMEMBERED)
def _of_file(path: str, *_: int) -> str:
    """Asked again only where the file is another, or was written to: no program can set the time of
    its change.
    """
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
