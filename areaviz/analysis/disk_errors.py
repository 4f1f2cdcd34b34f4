"""Conversion of disk errors while a user's data are stored into messages for users."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from areaviz.trace.errors import BackendError


@contextmanager
def translate_disk_errors(doing: str) -> Iterator[None]:
    """Raise errors of the disk as a BackendError with a message for users.

    Args:
        doing: completes "Something went wrong while ..." in the error.

    Raises:
        BackendError: the disk failed.
    """
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise BackendError(
            f"Something went wrong while {doing} ({reason}). The results are kept. Fix the cause,"
            " then try again."
        ) from error
