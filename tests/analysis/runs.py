"""What opens a model in a process of Ray's, for tests."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.record import Run, Trace
from areaviz.trace.request import Request
from tests import fakes


def run(request: Request) -> Trace:
    """Made up; refuses "number 3", and cannot run "number 77" at all."""
    if request.text.endswith("number 3"):
        raise InputError("Too long; shorten it.")
    if request.text.endswith("number 77"):
        raise BackendError("The device is gone; try again.")
    return replace(fakes.trace(request.text), request=request)


def open_fake() -> Run:
    return run


def open_local(checkpoints: Path) -> Run:
    from areaviz.backend.local import (
        LocalBackend,
    )  # here, so that workers with made-up models start without torch

    return LocalBackend(checkpoints, "cpu").trace
