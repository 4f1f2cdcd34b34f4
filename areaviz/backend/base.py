"""The one interface between the pages and whatever runs the models."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from areaviz.cards.card import Card
from areaviz.trace.errors import InputError
from areaviz.trace.logits import Logits
from areaviz.trace.record import Trace
from areaviz.trace.request import Progress, Request


class Backend(Protocol):
    """Runs requests: in this process (`local`), at a server (`remote`), or from files (`replay`).

    `cached` wraps any of them.
    """

    def models(self) -> dict[str, Card]:
        """The models that can be asked, by name, without damaged checkpoints."""

    def problems(self) -> tuple[str, ...]:
        """One sentence for each checkpoint that could not be read."""

    def device(self) -> str:
        """Where the models run, for people: "CPU (2 threads)", "CUDA: NVIDIA ..."."""

    def trace(
        self, request: Request, progress: Progress | None = None, background: bool = False
    ) -> Trace:
        """Run the model and record what it attended to.

        Args:
            progress: called while it runs, in the calling thread.
            background: no reader waits for this answer, as in an analysis; readers go first.

        Raises:
            InputError: the request cannot be run as it is.
            BackendError: the work failed.
        """


@runtime_checkable
class Explaining(Protocol):
    """A backend that can run a request once more to say why an area has its weight."""

    def logits(
        self, request: Request, site: str, layer: int, progress: Progress | None = None
    ) -> Logits:
        """What the logits of one layer (0-based) of a site are made of, in the request's trace.

        Raises:
            InputError: the model cannot say it.
            BackendError: the work failed.
        """


@runtime_checkable
class Queued(Protocol):
    """A backend whose requests wait in this process."""

    def waiting(self) -> int:
        """How many requests wait behind those that run."""


class Wrapper:
    """The base of backends that wrap another, and answer for it but for its traces.

    Args:
        inner: what is wrapped.
    """

    def __init__(self, inner: Backend) -> None:
        self._inner = inner

    def models(self) -> dict[str, Card]:
        """The models of the wrapped backend."""
        return self._inner.models()

    def problems(self) -> tuple[str, ...]:
        """The problems of the wrapped backend."""
        return self._inner.problems()

    def device(self) -> str:
        """Where the wrapped backend runs."""
        return self._inner.device()

    @property
    def explains(self) -> bool:
        """Whether what is wrapped can say what logits are made of."""
        inner = self._inner
        return inner.explains if isinstance(inner, Wrapper) else isinstance(inner, Explaining)

    def logits(
        self, request: Request, site: str, layer: int, progress: Progress | None = None
    ) -> Logits:
        """See `Explaining`; raises InputError where the wrapped backend has stored traces alone."""
        if not isinstance(self._inner, Explaining):
            raise InputError(
                "What a weight is made of is not stored with a trace; start the app with its"
                " models to see it."
            )
        return self._inner.logits(request, site, layer, progress)

    def waiting(self) -> int | None:
        """How many requests wait in this process; None where they wait elsewhere."""
        return self._inner.waiting() if isinstance(self._inner, Queued) else None
