"""The extension of a file name, by which pictures, sounds and clips are recognised."""

from __future__ import annotations

from pathlib import PurePosixPath


def get_extension(name: str) -> str:
    """Return the last extension of a file name in lower case, such as ".png", or ""."""
    return PurePosixPath(name).suffix.lower()
