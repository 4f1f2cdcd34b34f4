"""Weights of maps in a private temporary file, written in rows and read by layer and head.

The file has no name, so no other program can open it. The system deletes it when no trace reads it
The file has no name, so no other program can open it. The system deletes it when no trace reads it
any more, even if the app was killed. It is in the folder that the variable TMPDIR names.
Shapes: L layers, H heads, Q queries, A areas, R rows of weights.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Callable
from math import prod
from typing import IO, cast

import numpy as np

from areaviz.trace.areas import FloatArray
from areaviz.trace.errors import BackendError
from areaviz.trace.layered_weights import LayeredWeights, Shape

# Function that reserves a number of bytes or raises BackendError. It returns the function that
# releases them.
Reserve = Callable[[int], Callable[[], None]]


def reserve_nothing(_size: int) -> Callable[[], None]:
    """Reserve nothing."""
    return lambda: None


class WeightsFile:
    """A temporary file for the weights of the maps of one trace.

    Args:
        size: Total number of bytes to be written.
        reserve: Called with `size` before the file is created. The bytes are released when the file
            is no longer read.

    Raises:
        BackendError: `reserve` refuses, or the file cannot be created.
    """

    def __init__(self, size: int, reserve: Reserve = reserve_nothing) -> None:
        release = reserve(size)
        try:
            # Closed by `_release_file` when no trace reads it any more.
            self._file = tempfile.TemporaryFile(prefix="areaviz-", buffering=0)  # noqa: SIM115
        except OSError as error:
            release()
            raise _make_room_error(error) from error
        self._end = 0
        weakref.finalize(self, _release_file, self._file, release)

    def map(self, shape: Shape) -> WrittenWeights:
        """Allocate space for the weights of one map."""
        place = WrittenWeights(self, self._end, shape)
        self._end += 4 * prod(shape)
        return place

    def write(self, position: int, content: memoryview) -> None:
        """Write bytes at a position of the file.

        Raises:
            BackendError: The disk is full.
        """
        while content:
            try:
                count = os.pwrite(self._file.fileno(), content, position)
            except OSError as error:
                raise _make_room_error(error) from error
            content, position = content[count:], position + count

    def read(self, position: int, target: memoryview) -> None:
        """Fill `target` with the bytes at a position. Several threads may read at once."""
        while target:
            count = os.preadv(self._file.fileno(), [target], position)
            if not count:
                raise BackendError(
                    "The app's copy of this file was deleted. Upload the file again."
                )
            target, position = target[count:], position + count


class WrittenWeights:
    """The weights of one map in a file. Rows are added in order, then read by layer and head."""

    def __init__(self, spool: WeightsFile, start: int, shape: Shape) -> None:
        self._spool, self._start, self._next, self.shape = spool, start, start, shape

    def add(self, rows_RA: FloatArray) -> None:
        """Append the next rows."""
        content = np.ascontiguousarray(rows_RA, np.float32).data.cast("B")
        self._spool.write(self._next, content)
        self._next += len(content)

    def weights(self) -> FloatArray:
        """Return a stand-in for the array [L, H, Q, A] that keeps nothing in memory."""
        return cast(FloatArray, LayeredWeights(self.shape, self._layer, self._heads))

    def _layer(self, layer: int) -> FloatArray:
        return self._heads(layer, 0, self.shape[1])

    def _heads(self, layer: int, first: int, last: int) -> FloatArray:
        """Return heads `first` to `last` (exclusive): [heads, Q, A], read-only."""
        _, heads, queries, areas = self.shape
        found_HQA = np.empty((last - first, queries, areas), np.float32)
        position = self._start + 4 * (layer * heads + first) * queries * areas
        if found_HQA.size:
            self._spool.read(position, found_HQA.data.cast("B"))
        found_HQA.flags.writeable = False
        return found_HQA


def _make_room_error(error: OSError) -> BackendError:
    return BackendError(
        f"The server's disk is full ({error.strerror or error}). Try a smaller file, or tell"
        " whoever runs the app."
    )


def _release_file(file: IO[bytes], release: Callable[[], None]) -> None:
    file.close()
    release()
