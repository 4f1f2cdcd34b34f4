"""The interface of backends, the model that a command names, and stored answers.

Read the interface `Backend` first. The options and models of commands stand above it. The
backends that cache, store and replay traces stand below it.
"""

from __future__ import annotations

import hashlib
import json
import logging
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol, runtime_checkable
from weakref import WeakValueDictionary

import typer

from areaviz.cards.card import Card, describe_replacement, find_successor, read_card
from areaviz.samples.paths import check_model_name, find_checkpoints_folder
from areaviz.shares import Visitor
from areaviz.trace import file
from areaviz.trace.derived import Logits, add_best, remove_best
from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.record import Run, RunTogether, Trace
from areaviz.trace.request import Progress, Request

if TYPE_CHECKING:
    from areaviz.backend.local import LocalBackend


# Options that several commands share.


DEFAULT_CHECKPOINTS = find_checkpoints_folder()
"""Default folder of models."""

MODEL = "A model of the checkpoints folder, or the folder or hub name of a transformers model."
Checkpoints = Annotated[Path, typer.Option(help="The folder of models.")]
Device = Annotated[str, typer.Option(help="auto, cuda, mps or cpu.")]
Beam = Annotated[int, typer.Option(min=1, max=16, help="Beam width. 1 is greedy.")]
AreaSize = Annotated[
    int | None, typer.Option(min=1, max=16, help="Largest area size. Default: as in training.")
]


def make_decoding_options(beam: int) -> tuple[str, int]:
    """Return the decoding method and beam width of a request.

    A greedy request ignores the width and gets the default of 4. Equal requests then compare equal.
    """
    return ("greedy", 4) if beam == 1 else ("beam", beam)


# The model that a command names: one of the checkpoints, or an external one in a folder.
#
# A command first reads only the card of a model. Running a model needs torch, which takes most of
# the startup time. Torch is therefore imported when a model is opened, possibly in another process.


@dataclass(frozen=True, slots=True)
class NamedModel:
    """A model that can be opened."""

    # Name of the model in requests.
    name: str
    card: Card
    # Folder of the built-in models, and the device.
    checkpoints: Path
    device: str
    # For an external model, its folder or its name on the hub.
    folders: tuple[str, ...] = ()

    def open(self) -> LocalBackend:
        """Open a backend that runs the model in this process."""
        return open_backend(self.checkpoints, self.device, self.folders)


def find_model(model: str, checkpoints: Path, device: str) -> NamedModel:
    """Find a model by its name.

    Args:
        model: a model of the checkpoints folder, the folder of a `transformers` model, or its name
            on the hub, which contains a slash.
        checkpoints: the folder of the built-in models.
        device: as in `LocalBackend`.

    Raises:
        InputError: there is no model of this name, or the folder contains no usable model.
    """
    place = checkpoints / model / "card.json"
    if place.is_file():
        return NamedModel(model, read_card(place), checkpoints, device)
    folders: tuple[str, ...] = ()
    if Path(model).is_dir():
        folders = (str(Path(model).resolve()),)
    elif "/" in model:
        folders = (model,)
    backend = open_backend(checkpoints, device, folders)
    cards = backend.models()
    name = backend.name_of(folders[0]) if folders else find_successor(model, cards)
    if not folders and name != model:
        typer.echo(describe_replacement(model, name), err=True)
    name = check_model_name(name, cards)
    return NamedModel(name, cards[name], checkpoints, device, folders)


def open_backend(checkpoints: Path, device: str, folders: Sequence[str]) -> LocalBackend:
    """Open a backend that runs the built-in models and those of the folders in this process."""
    from areaviz.backend.local import LocalBackend

    return LocalBackend(checkpoints.resolve(), device, folders)


def open_run(checkpoints: Path, device: str, folders: Sequence[str]) -> Run:
    """Open a backend and return its function that runs one request.

    Processes call this themselves, because a backend cannot be sent to another process.
    """
    return open_backend(checkpoints, device, folders).trace


def open_run_together(checkpoints: Path, device: str, folders: Sequence[str]) -> RunTogether:
    """Open a backend and return its function that runs several requests together.

    It is for a process that serves only one user.
    """
    return open_backend(checkpoints, device, folders).trace_together


# The interface between the pages and the code that runs the models.


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of a backend, which determines when a request runs but never its result.

    Args:
        visitor: the user who waits for the answer or started the analysis. None for a command or a
            program, which have no limits.
        in_background: whether the request belongs to an analysis. Questions of users have priority.
    """

    visitor: Visitor | None = None
    in_background: bool = False


# The caller for commands and programs, which use their own models.
OWN_WORK = Caller()


class Backend(Protocol):
    """Runs requests: in this process, on a server, or from files.

    These are `LocalBackend`, `RemoteBackend` and `ReplayBackend`. `CachedBackend` wraps any of
    them.
    """

    def models(self) -> dict[str, Card]:
        """Return the available models by name, without damaged checkpoints."""

    def problems(self) -> tuple[str, ...]:
        """Return one sentence for each checkpoint that could not be read."""

    def device(self) -> str:
        """Return a description of the device: "CPU (2 threads)", "CUDA: NVIDIA ..."."""

    def trace(
        self, request: Request, progress: Progress | None = None, caller: Caller = OWN_WORK
    ) -> Trace:
        """Run the model and record its attention.

        Args:
            request: the request.
            progress: called in the calling thread while the request waits and runs.
            caller: the caller who waits for the answer.

        Raises:
            InputError: if the request is not valid.
            BackendError: if the work failed.
            Busy: if the caller has too many questions running or waiting.
        """


@runtime_checkable
class Explaining(Protocol):
    """A backend that can rerun a request to explain why an area has its weight."""

    def logits(
        self,
        request: Request,
        site: str,
        layer: int,
        progress: Progress | None = None,
        caller: Caller = OWN_WORK,
    ) -> Logits:
        """Return the terms of the logits of one layer in the request's trace.

        Args:
            request: the request of the trace.
            site: the name of the attention map.
            layer: 0-based.
            progress: as in `Backend.trace`.
            caller: as in `Backend.trace`.

        Raises:
            InputError: if the model cannot explain its weights.
            BackendError: if the work failed.
        """


@runtime_checkable
class Queued(Protocol):
    """A backend whose requests wait in this process."""

    def waiting(self) -> int | None:
        """Return the number of waiting requests, or None if they wait elsewhere."""


class Wrapper:
    """The base of backends that wrap a backend and change only how traces are obtained.

    Args:
        inner: the wrapped backend.
    """

    def __init__(self, inner: Backend) -> None:
        self._inner = inner

    def models(self) -> dict[str, Card]:
        """Return the models of the wrapped backend."""
        return self._inner.models()

    def problems(self) -> tuple[str, ...]:
        """Return the problems of the wrapped backend."""
        return self._inner.problems()

    def device(self) -> str:
        """Return the device of the wrapped backend."""
        return self._inner.device()

    @property
    def explains(self) -> bool:
        """True if the wrapped backend can return the terms of logits."""
        inner = self._inner
        return inner.explains if isinstance(inner, Wrapper) else isinstance(inner, Explaining)

    def logits(
        self,
        request: Request,
        site: str,
        layer: int,
        progress: Progress | None = None,
        caller: Caller = OWN_WORK,
    ) -> Logits:
        """Return the terms of logits, see `Explaining`.

        Raises:
            InputError: if the wrapped backend has only stored traces.
        """
        if not isinstance(self._inner, Explaining):
            raise InputError(
                "A stored trace cannot explain its weights. Start the app with its models to"
                " explain them."
            )
        return self._inner.logits(request, site, layer, progress, caller)

    def waiting(self) -> int | None:
        """Return the number of requests waiting in this process, or None if they wait elsewhere."""
        return self._inner.waiting() if isinstance(self._inner, Queued) else None


# A backend that caches traces in memory.


MAX_BYTES, MAX_LOGITS_BYTES = 256 * 2**20, 32 * 2**20

# Interval of progress calls while a caller waits. Such a call ends the thread of a user who has
# left the page.
PROGRESS_SECONDS = 0.5


class CachedBackend(Wrapper):
    """A backend that wraps another one and caches the most recently used traces.

    The key is the SHA-256 of the request and of the model's card, which names the code version, so
    a retrained model never answers with an old trace. The least recently used trace is dropped
    first. Equal requests that arrive together run once. Failures are not cached.

    Args:
        inner: runs the requests that are not cached.
        max_entries: largest number of cached traces, at least 1.
        max_bytes: largest total size of the cached weights.
    """

    def __init__(self, inner: Backend, max_entries: int = 32, max_bytes: int = MAX_BYTES) -> None:
        if max_entries < 1:
            raise ValueError(f"A cache needs room for at least one entry, got {max_entries}.")
        super().__init__(inner)
        self._max_entries, self._max_bytes = max_entries, max_bytes
        self._traces: OrderedDict[str, Trace] = OrderedDict()
        # Logit terms by the key of the trace, the site and the layer.
        self._logits: OrderedDict[tuple[str, str, int], Logits] = OrderedDict()
        self._lock = threading.Lock()
        # A lock for each running key. The last caller that holds or awaits a lock removes it.
        self._running: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()

    def trace(
        self, request: Request, progress: Progress | None = None, caller: Caller = OWN_WORK
    ) -> Trace:
        """Return the cached trace or a new one, and pass on exceptions of the wrapped backend.

        A request with a given output always runs, because it takes only one pass, and faithfulness
        metrics make many such requests. A user does not wait for an equal request of an analysis,
        because that request may be waiting for other users.
        """
        if request.target is not None:
            return self._inner.trace(request, progress, caller)
        key = make_cache_key(request, self.models().get(request.model))
        if caller.in_background:
            return self._remembered(key, request, progress, caller)
        with self._alone(key, progress):
            return self._remembered(key, request, progress, caller)

    def logits(
        self,
        request: Request,
        site: str,
        layer: int,
        progress: Progress | None = None,
        caller: Caller = OWN_WORK,
    ) -> Logits:
        """Return the cached logit terms or new ones, see `Explaining`."""
        key = make_cache_key(request, self.models().get(request.model)), site, layer
        with self._lock:
            found = self._logits.get(key)
        if found is None:
            found = super().logits(request, site, layer, progress, caller)
            with self._lock:
                self._logits[key] = found
                while sum(one.nbytes for one in self._logits.values()) > MAX_LOGITS_BYTES:
                    self._logits.popitem(last=False)
        return found

    def forget(self) -> None:
        """Drop all cached traces to free memory."""
        with self._lock:
            self._traces.clear()
            self._logits.clear()

    def _remembered(
        self, key: str, request: Request, progress: Progress | None, caller: Caller
    ) -> Trace:
        with self._lock:
            trace = self._traces.get(key)
            if trace is not None:
                self._traces.move_to_end(key)
                return trace
        trace = self._inner.trace(request, progress, caller)
        self._remember(key, trace)
        return trace

    def _remember(self, key: str, trace: Trace) -> None:
        # A trace above the limit would evict all other traces and then itself, so it is not cached.
        if trace.nbytes > self._max_bytes:
            return
        with self._lock:
            self._traces[key] = trace
            size = sum(one.nbytes for one in self._traces.values())
            while len(self._traces) > self._max_entries or size > self._max_bytes:
                _, oldest = self._traces.popitem(last=False)
                size -= oldest.nbytes

    @contextmanager
    def _alone(self, key: str, progress: Progress | None) -> Iterator[None]:
        """Block equal requests while one of them runs."""
        with self._lock:
            running = self._running.setdefault(key, threading.Lock())
        while not running.acquire(timeout=PROGRESS_SECONDS):
            if progress:
                progress(0.0, "Waiting: another reader asked the same question first")
        try:
            yield
        finally:
            running.release()


def make_cache_key(request: Request, card: Card | None) -> str:
    """Return the cache key of a trace.

    It is the SHA-256 of the request, its input data and the model's card.
    """
    entries = asdict(request.without_media())
    # The keys of stored traces must not change. Fields that are newer than these traces are left
    # out if they have their defaults.
    del entries["sound"], entries["clip"]
    if not request.attribution:
        del entries["attribution"]
    picture = request.picture
    content = [entries, picture and picture.digest, card and card.identity]
    content += [one.digest for name, one in request.media.items() if name != "picture"]
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()


# Stored traces of frequent questions, so that pages show a result without running a model.
#
# The file name is the key of the request and of the model's weights. A retrained model therefore
# never answers with an older trace. New results on its card do not change the name.
# `RecordingBackend` writes such a folder, and `StoredBackend` reads it.


log = logging.getLogger(__name__)
# Number of hexadecimal digits of the key in a file name.
DIGITS = 16


class StoredBackend(Wrapper):
    """A backend that answers from a folder if possible.

    Args:
        inner: runs every other request.
        folder: the traces. It may be missing.
    """

    def __init__(self, inner: Backend, folder: Path) -> None:
        super().__init__(inner)
        self._folder = folder

    def trace(
        self, request: Request, progress: Progress | None = None, caller: Caller = OWN_WORK
    ) -> Trace:
        """Return the stored trace or a new one, and pass on exceptions of the wrapped backend."""
        path = find_path(self._folder, request, self.models())
        if path.is_file():
            try:
                return self._with_best(file.load(path))
            except InputError as error:
                log.warning("The stored trace %s is skipped: %s", path.name, error)
        return self._inner.trace(request, progress, caller)

    def _with_best(self, trace: Trace) -> Trace:
        card = self.models().get(trace.request.model)
        return trace if card is None else add_best(trace, card.bests)


class RecordingBackend(StoredBackend):
    """A backend that runs every request and stores its trace in the folder.

    Attributes:
        written: the paths, in the order of the requests.
    """

    def __init__(self, inner: Backend, folder: Path) -> None:
        super().__init__(inner, folder)
        self.written: list[Path] = []

    def trace(
        self, request: Request, progress: Progress | None = None, caller: Caller = OWN_WORK
    ) -> Trace:
        """Return a new trace, and pass on exceptions of the wrapped backend."""
        trace = self._inner.trace(request, progress, caller)
        path = find_path(self._folder, request, self.models())
        # The card names the heads of the best alignment, and this choice may have changed.
        file.save(remove_best(trace), path, half=True)
        self.written.append(path)
        return trace


def find_path(folder: Path, request: Request, cards: Mapping[str, Card]) -> Path:
    """Return the path of a request's trace."""
    card = cards.get(request.model)
    if card is not None and card.files:
        # The output depends on the weights and on the options of their use.
        used = [dict(card.files), dict(card.config), card.recipe.get("length_limit")]
        if card.length_penalty is not None:
            used.append({"length_penalty": card.length_penalty})
        if card.grammar:
            used.append({"grammar": card.grammar})
        model = hashlib.sha256(json.dumps(used, sort_keys=True).encode()).hexdigest()
        key = f"{make_cache_key(request, None)}{model}"
    else:
        key = make_cache_key(request, card)
    return folder / f"{hashlib.sha256(key.encode()).hexdigest()[:DIGITS]}.npz"


# A backend that answers with stored traces, without torch, for demonstrations and page tests.


class ReplayBackend:
    """A backend for the traces `*.npz` in a folder, with the models' cards in `cards/*.json`.

    A request is answered if a stored trace belongs to an equal request. `problems` lists files that
    cannot be read and traces whose model has no card.
    """

    def __init__(self, folder: Path) -> None:
        self._problems: list[str] = []
        self._cards: dict[str, Card] = {}
        self._paths: dict[Request, Path] = {}
        for path in sorted(folder.glob("cards/*.json")):
            self._add_card(path)
        for path in sorted(folder.glob("*.npz")):
            self._add_trace(path)
        if not self._paths:
            self._problems.append(
                f"The folder {folder.name} holds no stored trace that can be read."
            )

    def models(self) -> dict[str, Card]:
        """Return the models that have a stored trace, by name."""
        used = {request.model for request in self._paths}
        return {name: card for name, card in self._cards.items() if name in used}

    def problems(self) -> tuple[str, ...]:
        """Return one message for each file that was left out."""
        return tuple(self._problems)

    def device(self) -> str:
        """Return a text for users that says that no model runs here."""
        return "stored traces"

    def requests(self) -> tuple[Request, ...]:
        """Return the requests with a stored trace."""
        return tuple(self._paths)

    def trace(
        self, request: Request, progress: Progress | None = None, caller: Caller = OWN_WORK
    ) -> Trace:
        """Return the stored trace of an equal request.

        Raises:
            InputError: if there is no such trace.
            BackendError: if its file can no longer be read.
        """
        if request not in self._paths:
            raise InputError(
                "There is no stored result for this input. Choose an example, or start the"
                " app with its models."
            )
        if progress:
            progress(0.5, "Reading the stored trace")
        try:
            return file.load(self._paths[request])
        except InputError as error:
            raise BackendError(
                f"The stored trace {self._paths[request].name} can no longer be read."
            ) from error

    def _add_card(self, path: Path) -> None:
        try:
            card = read_card(path)
        except BackendError as error:
            self._problems.append(str(error))
        else:
            self._cards[card.name] = card

    def _add_trace(self, path: Path) -> None:
        try:
            request = file.load(path).request
        except InputError as error:
            self._problems.append(f"The stored trace {path.name} is skipped: {error}")
            return
        if request.model in self._cards:
            self._paths[request] = path
        else:
            self._problems.append(
                f"The stored trace {path.name} is skipped: there is no card for its model."
            )
