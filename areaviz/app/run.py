"""Runs of the app: its sessions and users, its backend, and its limits on memory.

Streamlit's private interfaces come first. Sessions, users, the backend, the limits, the
progress bar and the operator's list of work follow.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import hashlib
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import streamlit as st
from streamlit import runtime
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import RerunData, RerunException, get_script_run_ctx
from streamlit.runtime.state.session_state import Serialized
from streamlit.runtime.uploaded_file_manager import DeletedFile

from areaviz.backend.access import is_reader, make_reader_id, name_reader_cookie, read_token
from areaviz.backend.backend import (
    Backend,
    CachedBackend,
    Caller,
    RecordingBackend,
    ReplayBackend,
    StoredBackend,
)
from areaviz.backend.costs import FairBackend
from areaviz.backend.remote import RemoteBackend
from areaviz.cards.card import Card
from areaviz.extensions import ExtensibleRegistry
from areaviz.samples.paths import OPENINGS, find_checkpoints_folder, list_external_model_folders
from areaviz.shares import BUDGET_PERCENT, OverLimit, Shares, Visitor, find_network, list_limits
from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Progress, Request

# All uses of Streamlit's private interfaces. Each has a test of its own.
#
# Streamlit's version is pinned, and `tests/ui/app/test_streamlit_private.py` fails if a new version
# removes one of them.


_FILES_FIELD = "file_uploader_state_value"


def get_session_id() -> str | None:
    """Return the id of the running session; None outside of a session."""
    context = get_script_run_ctx()
    return None if context is None else context.session_id


def leave_pages_folder() -> bool:
    """Make Streamlit show the navigation of app.py. Return whether it showed its own until now.

    If a folder named pages exists, Streamlit runs its files directly, with its own navigation,
    until app.py has run once in the process.
    """
    before = PagesManager.uses_pages_directory
    PagesManager.uses_pages_directory = False
    return bool(before)


def take_unread_widgets() -> list[WidgetState]:
    """Return the values that the browser sent of widgets not drawn yet, and empty the session."""
    context = get_script_run_ctx()
    if context is None:
        return []
    session = context.session_state._state
    states = session._new_widget_state.states
    unread = [one.value for one in states.values() if isinstance(one, Serialized)]
    if unread:
        states.clear()  # The session's `clear` keeps values that no widget has read.
        session.clear()
    return unread


def is_drawn(widget: WidgetState) -> bool:
    """Return whether the widget is on the page that is being drawn."""
    context = get_script_run_ctx()
    return context is not None and widget.id in context.shared.widget_ids_this_run


def rerun_with(widgets: Sequence[WidgetState]) -> NoReturn:
    """Rerun the page as if the user had just chosen these values. Files are not supported."""
    context = get_script_run_ctx()
    assert context is not None, "called outside of a session"
    chosen = WidgetStates(
        widgets=[one for one in widgets if one.WhichOneof("value") != _FILES_FIELD]
    )
    raise RerunException(
        RerunData(
            context.query_string,
            chosen,
            context.page_script_hash,
            context_info=context.context_info,
        )
    )


def has_files(widget: WidgetState) -> bool:
    """Return whether the value names uploaded files."""
    return bool(widget.file_uploader_state_value.uploaded_file_info)


def is_file_gone(file: object) -> bool:
    """Return whether the browser still names this file, but the app that stored it has ended."""
    return isinstance(file, DeletedFile)


def has_widget_change() -> bool:
    """Return whether this run began with a click, a choice or a text of the user.

    It did not if the user opened a link or moved through the browser's history. Widgets that this
    run has drawn already are left out, because a new widget has a value that the user did not set.
    """
    context = get_script_run_ctx()
    if context is None or context.is_history_navigation:
        return False
    session = context.session_state._state
    drawn = context.shared.widget_ids_this_run
    return any(
        session._widget_changed(widget)
        for widget in session._new_widget_state
        if widget not in drawn
    )


def get_widget_key(widget: WidgetState) -> str:
    """Return the key of a widget. Its Streamlit id is "$$ID-", a digest, a hyphen and the key."""
    return widget.id.split("-", 2)[-1]


def is_drawing_page() -> bool:
    """Return whether this run draws a page of the app, not a file of the static site."""
    return get_script_run_ctx(suppress_warning=True) is not None


# Freeing of the memory of a session soon after its user has left.
#
# Streamlit keeps the session of a closed page, with its files and results, so that a page that lost
# its connection can get it back. The session expires after two minutes, but Streamlit only checks
# that when another user leaves. The session is therefore closed here shortly before it expires, by
# Streamlit's public `close_session`.


CLOSING_SHARE = 5 / 6
"""Share of the time that Streamlit keeps a closed page's session: 100 of its 120 seconds."""
CLEANUP_INTERVAL_SECONDS = 2.0
"""Seconds between closing sessions and returning memory, once for all sessions closed by then."""


@dataclass(frozen=True, slots=True)
class Presence:
    """An open page, by the id of its session."""

    session: str


class Departures:
    """The times when pages were closed, by session. Only Streamlit's event loop uses it."""

    def __init__(self) -> None:
        self._times: dict[str, float] = {}
        self._tidying = False

    def leave(self, session: str, loop: asyncio.AbstractEventLoop) -> None:
        """Close a session later, unless its page is open again by then."""
        self._times[session] = left = time.monotonic()
        seconds = CLOSING_SHARE * float(st.get_option("server.disconnectedSessionTTL"))
        loop.call_later(seconds, self._close, session, left, loop)

    def _close(self, session: str, left: float, loop: asyncio.AbstractEventLoop) -> None:
        if self._times.get(session) != left or not runtime.exists():
            return  # The page was opened and closed again in the meantime.
        del self._times[session]
        app = runtime.get_instance()
        if app.is_active_session(session):
            return
        app.close_session(session)
        if not self._tidying:  # Return memory once for all sessions that end together.
            self._tidying = True
            loop.call_later(CLEANUP_INTERVAL_SECONDS, self._tidy)

    def _tidy(self) -> None:
        """Return freed memory to the operating system."""
        self._tidying = False
        # Sessions contain reference cycles. Objects that existed when the models were opened are
        # frozen, so this collection is fast.
        gc.collect()
        # Only glibc has this function. Elsewhere, freed memory stays in the process for reuse.
        with suppress(AttributeError):
            ctypes.CDLL(None).malloc_trim(0)


def keep_session_while_open() -> None:
    """Close this session some time after its page is closed. Every page calls this."""
    session = get_session_id()
    if session is not None:
        _get_presence(session)


def _handle_departure(presence: Presence) -> None:
    """Handle the end of a connection. Streamlit calls this in its event loop."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:  # This is a session in a test, or the app is ending.
        return
    _get_departures().leave(presence.session, loop)


@st.cache_resource(max_entries=1, show_spinner=False)
def _get_departures() -> Departures:
    return Departures()


@st.cache_resource(scope="session", max_entries=1, show_spinner=False, on_release=_handle_departure)
def _get_presence(session: str) -> Presence:
    return Presence(session)


# The identity of a user: a random id in a cookie, so that lists can show a user's own items.
#
# The gateway in front of the app sets the cookie, with and without an access token. If the app runs
# without the gateway (`streamlit run app.py`), the id lasts as long as the session.


_ID_KEY = "reader_id"


def get_user_id() -> str:
    """Return the user's id, 32 hexadecimal digits: from the cookie, or else of this session."""
    own: str = _read_cookie() or st.session_state.setdefault(_ID_KEY, make_reader_id())
    return own


def get_visitor() -> Visitor:
    """Return the user and the network address, to which quotas apply.

    The gateway hides addresses that many users share, so quotas by address do not apply to them.
    All sessions without a cookie are one visitor.
    """
    return Visitor(_read_cookie(), find_network(st.context.ip_address or ""))


def get_user_digest() -> str:
    """Return the SHA-256 of the id, for use in files, so that no file contains the id itself."""
    return hashlib.sha256(get_user_id().encode("ascii")).hexdigest()


def _read_cookie() -> str:
    """Return the id in the cookie, "" if there is none."""
    given = str(st.context.cookies.get(name_reader_cookie(st.get_option("server.port")), ""))
    return given if is_reader(given) else ""


# The backend of the pages. All sessions share it, and these environment variables choose it.
#
# AREAVIZ_BACKEND: "local" (default: models run in this process), "replay:FOLDER" (stored traces),
# "record:FOLDER" (local, and every trace is stored), or the URL of a model server, such as
# "http://127.0.0.1:8000".
# AREAVIZ_TOKEN_FILE: the file with that server's access token.
# AREAVIZ_CHECKPOINTS: the folder with the models (default: the checkpoints folder next to app.py).
# AREAVIZ_MODELS: folders with external models. `serve --model` sets it.
# AREAVIZ_DEVICE: "auto" (default), "cpu", "cuda" or "mps".


MAX_STORED_TRACES = 32
TOKEN_FILE_VARIABLE = "AREAVIZ_TOKEN_FILE"


def get_backend() -> CachedBackend:
    """Return the backend of this process."""
    setting = os.environ.get("AREAVIZ_BACKEND", "local")
    return _open_backend(
        setting, str(find_checkpoints_folder()), os.environ.get("AREAVIZ_DEVICE", "auto")
    )


def find_card(model: str) -> Card | None:
    """Return the card of a model, or None if it has none. Some external models have none."""
    try:
        return get_backend().models().get(model)
    except BackendError:
        return None


def list_missing_models(wanted: Iterable[str]) -> list[str]:
    """Return the models that are missing from this machine's folder, without opening any.

    The list is empty if the models run on a server, or if no model runs. It is then unknown which
    models are missing.
    """
    if os.environ.get("AREAVIZ_BACKEND", "local") != "local":
        return []
    folder = find_checkpoints_folder()
    return [model for model in wanted if not (folder / model / "card.json").is_file()]


def list_load_by_user() -> list[dict[str, object]]:
    """Return the running and waiting requests of each user, see `FairBackend`."""
    found = []
    for backend in _list_opened_backends():
        found += backend.load_by_reader()
    return found


def count_waiting_requests() -> int | None:
    """Return the number of requests that wait for models, or None if none run in this process."""
    counts = [backend.waiting() for backend in _list_opened_backends()]
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def open_backend(setting: str, checkpoints: Path, device: str) -> Backend:
    """Return a new backend for these settings. Raise BackendError for an unknown setting."""
    kind, _, folder = setting.partition(":")
    if kind == "replay" and folder:
        return ReplayBackend(Path(folder))
    if kind in ("http", "https"):
        return RemoteBackend(setting, _get_server_token())
    if setting == "local" or (kind == "record" and folder):
        # Import here, so that stored traces can be shown without torch.
        from areaviz.backend.local import LocalBackend

        models = LocalBackend(checkpoints, device, list_external_model_folders())
        if kind == "record":
            return RecordingBackend(models, Path(folder))
        return StoredBackend(models, OPENINGS)
    raise BackendError(
        'The setting AREAVIZ_BACKEND must be "local", "replay:FOLDER", "record:FOLDER" or the URL'
        " of a model server."
    )


def _get_server_token() -> str:
    """Return the access token of the model server."""
    path = os.environ.get(TOKEN_FILE_VARIABLE)
    if not path:
        raise BackendError(
            f"The model server needs an access token. Set {TOKEN_FILE_VARIABLE} to the file"
            " that contains the token."
        )
    return read_token(Path(path))


@st.cache_resource(show_spinner="Opening the models", max_entries=4)
def _open_backend(setting: str, checkpoints: str, device: str) -> CachedBackend:
    fair = FairBackend(open_backend(setting, Path(checkpoints), device))
    backend = CachedBackend(fair, MAX_STORED_TRACES)
    backend.models()
    _list_opened_backends().append(fair)
    # Streamlit collects garbage after every rerun. Freeze the objects that torch loaded. They stay
    # in memory, so later collections need not scan them.
    gc.collect()
    gc.freeze()
    return backend


@st.cache_resource(show_spinner=False, max_entries=1)
def _list_opened_backends() -> list[FairBackend]:
    """Return every opened backend, so that the operator's commands need not open one."""
    return []


# Limits on the bytes that the app holds for its users: in memory, and in temporary files.
#
# AREAVIZ_MEMORY_MIB limits attention in memory (default 1,024). AREAVIZ_DISK_MIB limits uploads on
# disk (default 8,192). Each user may use `BUDGET_PERCENT` per cent of each limit
# (`areaviz/shares.py`).


MEMORY_VARIABLE, DISK_VARIABLE = "AREAVIZ_MEMORY_MIB", "AREAVIZ_DISK_MIB"
BYTES_PER_MIB = 2**20
_DEFAULT_MIB = {MEMORY_VARIABLE: 1024, DISK_VARIABLE: 8192}


class Budget:
    """A limit on bytes held for users; safe for several threads.

    Args:
        most: the largest number of bytes at any time.
        what: describes the bytes, for the error message.
        spare: a function that frees memory whose content can be computed again. It is called
            before anything is refused.
    """

    def __init__(self, most: int, what: str, spare: Callable[[], None] = lambda: None) -> None:
        self._most, self._what, self._spare = most, what, spare
        # The use of each user, in per cent of the budget.
        self._shares = Shares(BUDGET_PERCENT)
        self._used, self._lock = 0, threading.RLock()
        self._counted = set[int]()
        # The garbage collector may free a held object at any time, in any thread, even while this
        # thread has the lock. Its size, key and owner are therefore queued here. The next call
        # subtracts the size and forgets the key.
        self._ended = deque[tuple[int, int, Visitor]]()

    @property
    def used(self) -> int:
        """The number of bytes held now."""
        with self._lock:
            while self._ended:
                size, key, owner = self._ended.popleft()
                self._used -= size
                self._counted.discard(key)
                self._shares.release(owner, self._to_percent(size))
            return self._used

    def reserve(self, size: int, owner: Visitor) -> Callable[[], None]:
        """Count bytes for a user.

        Returns:
            A function that releases the bytes. Call it once.

        Raises:
            BackendError: the app or the user would exceed the limit.
        """
        self._take(size, owner)
        return lambda: self._ended.append((size, 0, owner))

    def hold(self, thing: object, size: int, owner: Visitor) -> None:
        """Count bytes once, for as long as `thing` lives.

        A trace that several users look at counts for the first user who requested it.

        Raises:
            BackendError: the app or the user would exceed the limit.
        """
        with self._lock:
            if self.used >= 0 and id(thing) not in self._counted:
                self._take(size, owner)
                self._counted.add(id(thing))
                end = (size, id(thing), owner)
                weakref.finalize(thing, self._ended.append, end).atexit = False

    def list_mebibytes_by_user(self) -> list[float]:
        """Return the MiB that each user holds, the largest first."""
        with self._lock:
            percents = self._shares.by_reader().values() if self.used >= 0 else ()
            return [round(one / 100 * self._most / BYTES_PER_MIB, 1) for one in percents]

    def _take(self, size: int, owner: Visitor) -> None:
        with self._lock:
            refused = self._try_take(size, owner)
            if refused is not None:
                self._spare()
                refused = self._try_take(size, owner)
            if refused is not None:
                raise refused

    def _try_take(self, size: int, owner: Visitor) -> BackendError | None:
        """Count bytes. Return the error if they exceed a limit, else None."""
        if self.used + size > self._most:
            used, most, more = (
                f"{count / BYTES_PER_MIB:,.0f} MiB" for count in (self.used, self._most, size)
            )
            return BackendError(
                f"The app's readers have {used} of {self._what} open, and the"
                f" limit is {most}, so {more} more do not"
                " fit. Try again in a few minutes, or with something smaller."
            )
        if scope := self._shares.try_take(owner, self._to_percent(size)):
            return OverLimit(BUDGET_PERCENT, scope)
        self._used += size
        return None

    def _to_percent(self, size: int) -> float:
        return 100 * size / self._most


@st.cache_resource(max_entries=1, show_spinner=False)
def get_disk_budget() -> Budget:
    """Return the budget of the temporary files with uploads."""
    return Budget(read_budget_bytes(DISK_VARIABLE), "uploaded attention")


@st.cache_resource(max_entries=1, show_spinner=False)
def get_memory_budget() -> Budget:
    """Return the budget of the traces in sessions and in the backend's cache."""
    return Budget(read_budget_bytes(MEMORY_VARIABLE), "attention", lambda: get_backend().forget())


def read_budget_bytes(name: str) -> int:
    """Return a budget in bytes: the operator's setting, or the default.

    Raises:
        InputError: the setting is not a positive whole number.
    """
    given = os.environ.get(name, "").strip()
    if not given:
        return _DEFAULT_MIB[name] * BYTES_PER_MIB
    if not (given.isascii() and given.isdecimal() and len(given) < 12 and int(given) > 0):
        raise InputError(
            f'The setting {name} is "{given[:40]}". It must be a whole number of MiB above 0.'
        )
    return int(given) * BYTES_PER_MIB


# A progress bar for slow work, with words that name the work.
#
# Leaving the page ends the wait.


@contextmanager
def draw_progress(words: str) -> Iterator[Progress]:
    """Draw a progress bar until the end of the block. Yield a function that updates it, 0 to 1."""
    place = st.empty()
    bar = place.progress(0.0, text=words)

    def report(share: float, words: str) -> None:
        bar.progress(min(max(share, 0.0), 1.0), text=words)

    try:
        yield report
    except Exception:
        # `Exception` excludes the exceptions with which Streamlit ends a page: nothing can be drawn
        # then.
        place.empty()
        raise
    place.empty()


def run_requests(backend: Backend, requests: Sequence[Request], words: str) -> tuple[Trace, ...]:
    """Return the traces of requests, run one after another with one progress bar for all.

    Raises:
        InputError: as the backend.
        BackendError: as the backend, or the users of the app already hold too much.
    """
    with draw_progress(words) as report:
        found, owner = [], get_visitor()
        for turn, request in enumerate(requests):
            trace = backend.trace(
                request, _map_progress(report, turn, len(requests)), Caller(owner)
            )
            get_memory_budget().hold(trace, trace.nbytes, owner)
            found.append(trace)
        return tuple(found)


def _map_progress(report: Progress, turn: int, turns: int) -> Progress:
    """Map the progress of one run into the shared bar, with the prefix "Run 2 of 3"."""
    prefix = f"Run {turn + 1} of {turns}. " if turns > 1 else ""
    return lambda share, words: report((turn + min(max(share, 0.0), 1.0)) / turns, prefix + words)


# The work in progress of this process, for the app's operator.
#
# Parts of the app that work for users in the background add to it through entry points, see
# docs/extensions.md.


@dataclass(frozen=True, slots=True)
class BackgroundWork:
    """What a part of the app does in the background."""

    # Returns the amount of this work and its users, as JSON values.
    describe: Callable[[], Mapping[str, object]]
    # The operator's commands by name, as in `areaviz/gateway/serving.py`.
    commands: Mapping[str, Callable[[Sequence[str]], object]] = field(default_factory=dict)


def work_problem(thing: object) -> str:
    """Return what is wrong with background work, in words that follow "it"."""
    return "" if isinstance(thing, BackgroundWork) else "is not a BackgroundWork"


WORK: Mapping[str, BackgroundWork] = ExtensibleRegistry("work", {}, work_problem)


def describe_work() -> dict[str, object]:
    """Return the amount of work in progress and its users, as JSON values.

    `count_waiting_requests` is None if no model was opened yet or the models run elsewhere.
    `question_load` contains the predicted seconds of computation for each user.
    """
    found: dict[str, object] = {
        "requests_waiting": count_waiting_requests(),
        "question_load": list_load_by_user(),
    }
    for work in WORK.values():
        found |= work.describe()
    return found | {
        "attention_megabytes": get_memory_budget().list_mebibytes_by_user(),
        "upload_megabytes_on_disk": get_disk_budget().list_mebibytes_by_user(),
        "limits": list_limits(),
    }


def list_work_commands() -> dict[str, Callable[[Sequence[str]], object]]:
    """Return the operator's commands for background work, by name."""
    return {name: run for work in WORK.values() for name, run in work.commands.items()}
