"""The interface between the pages and the code that runs the models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from areaviz.cards.card import Card
from areaviz.shares.visitors import Visitor
from areaviz.trace.derived import Logits
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Progress, Request


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
    """Runs requests: in this process (`local`), on a server (`remote`), or from files (`replay`).

    `cached` wraps any of them.
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
