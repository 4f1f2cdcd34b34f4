"""Files of attention: opened once, with weights on disk, and freed when their user leaves."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Lock
from typing import BinaryIO

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from areaviz.trace.arrays import from_npz, holds_trace, make_example_file, open_npz
from areaviz.trace.errors import BackendError, InputError, without_traceback
from areaviz.trace.file import OPERATOR, open_trace
from areaviz.trace.record import Trace
from areaviz.ui.app.budget import get_disk_budget, get_memory_budget
from areaviz.ui.app.streamlit_private import is_file_gone
from areaviz.ui.app.user_identity import get_visitor
from areaviz.ui.forms.options import MAX_MEGABYTES, STORED_FILE_KEY

TRACE_VARIABLE = "AREAVIZ_TRACE"
"""Environment variable: a file to show to all users, as `serve --trace FILE` sets it."""
LARGE_BYTES = 8 * 2**20
"""Bytes of a layer above which the app processes only one trace at a time."""


def open_upload(file: UploadedFile, area_size: int | None = None) -> Trace:
    """Return the trace in an uploaded file, which is read once for all runs of the page.

    Args:
        file: the uploaded file.
        area_size: for raw arrays, the size of the largest area to show; None accepts only stored
            traces.

    Raises:
        InputError: the file cannot be used.
        BackendError: the app has no room for it.
    """
    if file.size > MAX_MEGABYTES * 2**20:
        raise InputError(
            f"The file has {file.size / 2**20:,.1f} MB, and the limit is {MAX_MEGABYTES}. Choose"
            " a smaller file, or have the app started with: python -m areaviz serve --trace FILE"
        )
    found = _read_upload(file.file_id, area_size, file)
    if isinstance(found, InputError):
        raise without_traceback(found)
    get_memory_budget().hold(found, found.nbytes, get_visitor())
    return found


def open_stored_trace() -> Trace | None:
    """Return a stored trace that the user has opened, or None; raises as `open_upload`."""
    file = st.session_state.get(STORED_FILE_KEY)
    return None if file is None or is_file_gone(file) else open_upload(file)


def open_served_file() -> Path | None:
    """Return the file with which the app was started, None if there is none."""
    given = os.environ.get(TRACE_VARIABLE, "")
    return Path(given) if given else None


def is_served_file_trace(path: Path) -> bool:
    """Return whether the app was started with a stored trace; raises as `open_upload`."""
    with _share_file(path) as file:
        return holds_trace(file, OPERATOR)


def open_served_trace(path: Path, area_size: int = 1) -> Trace:
    """Return the trace in the file of `serve --trace`, which sessions share.

    Raises:
        InputError: as for `open_upload`.
    """
    with _share_file(path) as file:
        about = os.fstat(file.fileno())
        found = _read_served_file(str(path), about.st_mtime_ns, about.st_size, area_size, file)
    if isinstance(found, InputError):
        raise without_traceback(found)
    return found


@contextmanager
def _share_file(path: Path) -> Iterator[BinaryIO]:
    try:
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise BackendError(
            f"The file that the app was started with cannot be opened ({error.strerror})."
            " Tell the person who runs the app."
        ) from error


@contextmanager
def wait_for_turn(traces: Sequence[Trace]) -> Iterator[None]:
    """Wait for the turn to process a large trace, so that few layers are in memory at once."""
    if all(_count_layer_bytes(trace) < LARGE_BYTES for trace in traces):
        yield
        return
    with _get_turn_lock():
        yield


def _count_layer_bytes(trace: Trace) -> int:
    return max((one.weights.nbytes // one.layers for one in trace.maps.values()), default=0)


@st.cache_resource(scope="session", max_entries=2, show_spinner="Reading the file")
def _read_upload(file_id: str, area_size: int | None, _file: UploadedFile) -> Trace | InputError:
    """Read a file. Errors are cached too, because finding one may take equally long."""
    try:
        with _get_turn_lock():
            reserve = partial(get_disk_budget().reserve, owner=get_visitor())
            if area_size is None:
                return open_trace(_file, reserve=reserve)
            return open_npz(_file, area_size, reserve=reserve)
    except InputError as refusal:
        return without_traceback(refusal)


@st.cache_resource(max_entries=2, show_spinner="Reading the file")
def _read_served_file(
    path: str, changed: int, size: int, area_size: int, _file: BinaryIO
) -> Trace | InputError:
    try:
        with _get_turn_lock():
            return open_npz(_file, area_size, room=OPERATOR)
    except InputError as refusal:
        return without_traceback(refusal)


@st.cache_resource(max_entries=2, show_spinner=False)
def open_example_trace(area_size: int) -> Trace:
    """Return the trace of the example."""
    return from_npz(make_example_file(), area_size)


@st.cache_resource(max_entries=1, show_spinner=False)
def _get_turn_lock() -> Lock:
    return Lock()
