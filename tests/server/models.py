"""A backend without models, which makes every trace only from the request."""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import replace
from pathlib import Path

from areaviz.backend.backend import OWN_WORK, Caller
from areaviz.cards.card import Card
from areaviz.trace.errors import BackendBusy, BackendError, InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Progress, Request
from tests import fakes
from tests.pages.folder import card

TOKEN = "a-token-for-the-tests"


class FakeModels:
    """A backend that returns the text as its translation and records its requests.

    It fails if certain words are in the text.
    """

    def __init__(self) -> None:
        self.asked: list[Request] = []
        self.callers: list[Caller] = []
        self.cards = {
            name: card(name, name.split("-")[1]) for name in ("char-area", "char-regular")
        }
        self.may_run = threading.Event()
        self.may_run.set()

    @property
    def in_background(self) -> list[bool]:
        return [caller.in_background for caller in self.callers]

    def models(self) -> dict[str, Card]:
        return self.cards

    def problems(self) -> tuple[str, ...]:
        return ("One checkpoint is damaged.",)

    def device(self) -> str:
        return "made-up device"

    def trace(
        self, request: Request, progress: Progress | None = None, caller: Caller = OWN_WORK
    ) -> Trace:
        checked = request.checked()
        self.asked.append(checked)
        self.callers.append(caller)
        self.may_run.wait()
        if checked.model not in self.cards:
            raise InputError("There is no such model; choose another.")
        if "refuse" in checked.text:
            raise InputError("This model does not take <b>such</b> texts; shorten it.")
        if "busy" in checked.text:
            raise BackendBusy(
                "The models are busy: 32 requests are waiting already; try again in a moment."
            )
        if "fail" in checked.text:
            raise BackendError("The device ran out of memory; shorten the text.")
        if "crash" in checked.text:
            raise RuntimeError("a secret path")
        made = fakes.trace(checked.text, checked.text[::-1], area_size=checked.area_size or 5)
        if checked.picture is not None:
            made = fakes.caption_trace(hard=True, seen=checked.picture)
        return replace(made, request=checked)


class MortalModels(FakeModels):
    """A backend that ends its process, or waits to be killed, if certain words are in the text.

    "die once" ends the first process in a folder that gets a text of this length. "wait for a kill"
    writes a file with the number of the process as its name, and waits until it is killed.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def trace(
        self, request: Request, progress: Progress | None = None, caller: Caller = OWN_WORK
    ) -> Trace:
        if "die once" in request.text and self._is_first(request):
            os.kill(os.getpid(), signal.SIGKILL)
        if "wait for a kill" in request.text:
            (self._folder / f"{os.getpid()}.waiting").touch()
            threading.Event().wait()
        found = super().trace(request, progress, caller)
        return replace(found, details={"process": str(os.getpid())})

    def _is_first(self, request: Request) -> bool:
        try:
            (self._folder / str(len(request.text))).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True
