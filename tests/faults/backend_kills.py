"""Faults in the thread that runs the models.

The affected request must fail with a named error, and the next request must work. Three clients ask
at once. The fault occurs in one client's request: an error, a full memory, an exit, or an exception
from another thread. An exception from another thread is also raised while the thread is idle.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import torch

from areaviz.backend.local import LocalBackend
from areaviz.backend.worker import Worker
from areaviz.models.base import Model
from areaviz.trace.errors import BackendError
from areaviz.trace.record import Trace
from areaviz.trace.request import Progress, Request

PATIENCE = 20.0
ASKERS = 3


def _error() -> None:
    raise RuntimeError("The model is broken.")


def _full_device() -> None:
    raise torch.OutOfMemoryError("CUDA out of memory")


def _full_machine() -> None:
    raise MemoryError


def _exit() -> None:
    raise SystemExit


def _from_outside() -> None:
    hit(threading.get_ident())
    for _ in range(1000):  # an asynchronous exception arrives between two bytecodes
        time.sleep(0.001)


KINDS: Sequence[Callable[[], None] | None] = (
    _error,
    _full_device,
    _full_machine,
    _exit,
    _from_outside,
    None,
)
"""Faults to raise in the thread; None hits the thread from outside while it is idle."""


@dataclass(frozen=True, slots=True)
class Hit:
    """Figures of a series of kills.

    Args:
        kills: Number of faults.
        named: Number of answers that were a named error.
        unnamed: Number of answers that were any other error.
        wrong: Number of answers that differ from the model's answer.
        stuck: Number of requests without an answer.
        slowest: Largest number of seconds from a fault to the last of its errors.
    """

    kills: int
    named: int
    unnamed: int
    wrong: int
    stuck: int
    slowest: float

    def __str__(self) -> str:
        return (
            f"{self.kills} kills: {self.named} named errors, {self.unnamed} others, {self.wrong}"
            f" wrong, {self.stuck} stuck, slowest error after {self.slowest:.2f} s"
        )


class Struck(LocalBackend):
    """A backend whose model fails at every run that includes the victim's request.

    Args:
        fault: raises the error.
        when: the time of the last failure.
    """

    def __init__(self, checkpoints: Path, clock: Callable[[], float]) -> None:
        super().__init__(checkpoints, "cpu")
        self.victim: Request | None = None
        self.fault: Callable[[], None] | None = None
        self.when, self._hit, self._clock = 0.0, False, clock
        self._worker = Worker(self._run, max_batch=2)

    def _run(self, requests: Sequence[Request], report: Progress) -> list[Trace]:
        self._hit = self.victim in requests
        return super()._run(requests, report)

    def load(self, request: Request) -> Model:
        """Fail where a model starts to work, so that all error handling of the backend runs."""
        if self.fault and self._hit:
            self.when = self._clock()
            self.fault()
        return super().load(request)


def backend_kills(
    checkpoints: Path,
    model: str,
    kills: int,
    clock: Callable[[], float] = time.monotonic,
    patience: float | None = PATIENCE,
) -> Hit:
    """Hit the thread that runs the models `kills` times, with every kind of fault in turn.

    Args:
        checkpoints: Folder of the models.
        model: Name of the model.
        kills: Number of faults.
        clock: Returns the seconds in which `Hit.slowest` is measured.
        patience: Seconds after which a request counts as stuck. None waits forever.
    """
    backend = Struck(checkpoints, clock)
    asked = [Request(model, f"Dog {number} runs over the grass.") for number in range(ASKERS)]
    expected = [_output(backend.trace(request)) for request in asked]
    backend.victim = asked[0]
    named = unnamed = wrong = stuck = 0
    slowest = 0.0
    for number in range(kills):
        backend.fault, backend.when = KINDS[number % len(KINDS)], clock()
        if backend.fault is None:
            hit(backend._worker._thread.ident)
        with ThreadPoolExecutor(ASKERS) as pool:
            futures = [pool.submit(backend.trace, request) for request in asked]
            for future, right in zip(futures, expected, strict=True):
                try:
                    wrong += _output(future.result(patience)) != right
                except BackendError:
                    named, slowest = named + 1, max(slowest, clock() - backend.when)
                except TimeoutError:
                    stuck += 1
                except Exception:
                    unnamed += 1
        backend.fault = None
        wrong += [_output(backend.trace(request)) for request in asked] != expected
    return Hit(kills, named, unnamed, wrong, stuck, slowest)


def hit(thread: int | None) -> None:
    """Raise SystemExit in a thread as soon as it runs Python code again."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread or 0), ctypes.py_object(SystemExit)
    )


def _output(trace: Trace) -> str:
    return trace.fields[trace.output.field].raw
