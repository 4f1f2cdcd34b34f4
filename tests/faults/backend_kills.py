"""Kills of what runs the models: an error with a name, and the next request works.

Three people ask at once, and the model's thread is hit at the request of one of them: by an error,
by a full memory, by an exit, from outside while it runs, and from outside while it rests.
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
    for _ in range(1000):  # the exception arrives between two steps
        time.sleep(0.001)


KINDS: Sequence[Callable[[], None] | None] = (
    _error,
    _full_device,
    _full_machine,
    _exit,
    _from_outside,
    None,
)
"""What happens in the thread; None: it is hit while it rests."""


@dataclass(frozen=True, slots=True)
class Hit:
    """What kills led to.

    Args:
        kills: of the thread.
        named: answers that were an error with a name.
        unnamed: errors without one.
        wrong: answers that were not the model's.
        stuck: answers that never came.
        slowest: seconds from the kill to the last of its errors.
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
    """A backend whose model fails at every run with the victim among its requests.

    Args:
        fault: how it fails.
        when: gets the moment of the last failure.
    """

    def __init__(self, checkpoints: Path) -> None:
        super().__init__(checkpoints, "cpu")
        self.victim: Request | None = None
        self.fault: Callable[[], None] | None = None
        self.when, self._hit = 0.0, False
        self._worker = Worker(self._run, max_batch=2)

    def _run(self, requests: Sequence[Request], report: Progress) -> list[Trace]:
        self._hit = self.victim in requests
        return super()._run(requests, report)

    def load(self, request: Request) -> Model:
        """Fail where a model begins to work, so that all handling of the backend meets it."""
        if self.fault and self._hit:
            self.when = time.monotonic()
            self.fault()
        return super().load(request)


def backend_kills(checkpoints: Path, model: str, kills: int) -> Hit:
    """Hit the thread that runs the models `kills` times, each kind in its turn."""
    backend = Struck(checkpoints)
    asked = [Request(model, f"Dog {number} runs over the grass.") for number in range(ASKERS)]
    expected = [_output(backend.trace(request)) for request in asked]
    backend.victim = asked[0]
    named = unnamed = wrong = stuck = 0
    slowest = 0.0
    for number in range(kills):
        backend.fault, backend.when = KINDS[number % len(KINDS)], time.monotonic()
        if backend.fault is None:
            hit(backend._worker._thread.ident)
        with ThreadPoolExecutor(ASKERS) as pool:
            futures = [pool.submit(backend.trace, request) for request in asked]
            for future, right in zip(futures, expected, strict=True):
                try:
                    wrong += _output(future.result(PATIENCE)) != right
                except BackendError:
                    named, slowest = named + 1, max(slowest, time.monotonic() - backend.when)
                except TimeoutError:
                    stuck += 1
                except Exception:
                    unnamed += 1
        backend.fault = None
        wrong += [_output(backend.trace(request)) for request in asked] != expected
    return Hit(kills, named, unnamed, wrong, stuck, slowest)


def hit(thread: int | None) -> None:
    """End a thread from outside, as soon as it runs Python again."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread or 0), ctypes.py_object(SystemExit)
    )


def _output(trace: Trace) -> str:
    return trace.fields[trace.output.field].raw
