"""The extension of a file's name, which identifies pictures, sounds and clips."""

from __future__ import annotations

from pathlib import PurePosixPath


def get_extension(name: str) -> str:
    """Return the last extension of a file's name in lower case with its point, or ""."""
    return PurePosixPath(name).suffix.lower()
