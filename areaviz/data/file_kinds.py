"""The extension of a file's name, by which pictures, sounds and clips are known."""

from __future__ import annotations

from pathlib import PurePosixPath


def ending_of(name: str) -> str:
    """Return the last extension of a file's name in lower case with its point, or ""."""
    return PurePosixPath(name).suffix.lower()
