"""Functions that open a model in another process, for tests."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.record import Run, RunTogether, Trace
from areaviz.trace.request import Request
from tests import fakes


def run(request: Request) -> Trace:
    """Return a made-up trace. Refuse "number 3", and fail at "number 77"."""
    if request.text.endswith("number 3"):
        raise InputError("Too long. Shorten it.")
    if request.text.endswith("number 77"):
        raise BackendError("The device is gone; try again.")
    return replace(fakes.trace(request.text), request=request)


def open_fake() -> Run:
    return run


def open_local(checkpoints: Path) -> Run:
    from areaviz.backend.local import (
        LocalBackend,
    )  # imported here, so that workers with made-up models start without torch

    return LocalBackend(checkpoints, "cpu").trace


def run_together(requests: Sequence[Request]) -> list[Trace | InputError]:
    """Run every request with `run`. The request "number 88" kills its process."""
    found: list[Trace | InputError] = []
    for request in requests:
        if request.text.endswith("number 88"):
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            found.append(run(request))
        except InputError as error:
            found.append(error)
    return found


def open_together() -> RunTogether:
    return run_together


def open_nothing() -> RunTogether:
    raise InputError('Device "none" does not exist. Choose another.')


def open_models_together(checkpoints: Path) -> RunTogether:
    from areaviz.backend.local import LocalBackend  # as in `open_local`

    return LocalBackend(checkpoints, "cpu").trace_together
