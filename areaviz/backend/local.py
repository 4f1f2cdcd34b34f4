"""Models in this process on CUDA, MPS or the CPU. They are loaded on first use."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import torch

from areaviz.adapters.folder import FAMILY, FolderModel, check_given, read_folder
from areaviz.adapters.loading import NoRoom
from areaviz.backend.backend import OWN_WORK, Caller
from areaviz.backend.costs import Costs
from areaviz.backend.worker import Worker, convert_to_sentence
from areaviz.cards.card import Card, find_successor, read_card
from areaviz.models import FOLDERS, MODELS
from areaviz.models.base import (
    ExplainingModel,
    Family,
    Model,
    OnStep,
    check_abilities,
    choose_device,
    describe_device,
    free_memory,
    get_answering_threads,
    is_out_of_memory,
    use_threads,
)
from areaviz.samples.paths import check_model_name, to_get_models
from areaviz.trace.derived import Logits, add_best
from areaviz.trace.errors import BackendError, InputError, without_traceback
from areaviz.trace.record import Trace
from areaviz.trace.request import Progress, Request

log = logging.getLogger(__name__)
MAX_LOADED = 8
_NO_DIGESTS = (
    "The card of %s has no digests, so a change of its files goes unnoticed. Add them:"
    " areaviz digests"
)


class LocalBackend:
    """A backend for the checkpoints of a folder and of installed packages, in one thread.

    Args:
        checkpoints: a folder with one folder per model.
        device: "auto", "cuda", "mps" or "cpu".
        folders: external models, by folder or by name on the Hugging Face Hub. See
            docs/your_models.md.
    """

    def __init__(
        self, checkpoints: Path, device: str = "auto", folders: Sequence[str] = ()
    ) -> None:
        self._device = choose_device(device)
        self._cards: dict[str, Card] = {}
        # The folder of each model. For each external model, its name or the reason for refusing it.
        self._places: dict[str, Path] = {}
        self._named: dict[str, str | InputError] = {}
        self._problems: list[str] = []
        self._loaded: OrderedDict[tuple[str, int | None], Model] = OrderedDict()
        for folder in (checkpoints, *FOLDERS.values()):
            for path in sorted(folder.glob("*/card.json")):
                self._read(path)
        for place in folders:
            self._read_folder(place)
        if not self._cards:
            self._problems.append(
                f"There is no model in {checkpoints.name}. To get models, {to_get_models()}."
            )
        self._costs = Costs(self._cards)
        self._worker = Worker(self._run, self._costs, can_pause=self._can_pause)

    def models(self) -> dict[str, Card]:
        """Return the available models by name, without damaged checkpoints."""
        return dict(self._cards)

    def problems(self) -> tuple[str, ...]:
        """Return one sentence for each checkpoint that could not be read."""
        return tuple(self._problems)

    def name_of(self, folder: str) -> str:
        """Return the name of the model in one of the external folders.

        Raises:
            InputError: if the model cannot be used.
        """
        found = self._named[folder]
        if isinstance(found, InputError):
            raise without_traceback(found)
        return found

    def device(self) -> str:
        """Return a description of the device."""
        return describe_device(self._device, get_answering_threads())

    def trace(
        self, request: Request, progress: Progress | None = None, caller: Caller = OWN_WORK
    ) -> Trace:
        """Run a request, see `Backend`."""
        checked = self._allowed(request, caller)
        trace = self._worker.submit(checked, progress, caller)
        return add_best(trace, self._cards[checked.model].bests)

    def logits(
        self,
        request: Request,
        site: str,
        layer: int,
        progress: Progress | None = None,
        caller: Caller = OWN_WORK,
    ) -> Logits:
        """Return the terms of a layer's logits, see `Explaining`."""
        checked = self._allowed(request, caller)

        def explain(report: Progress) -> Logits:
            with self._computing(report):
                model = self.load(checked)
                if not isinstance(model, ExplainingModel):
                    raise InputError("This model has no weights that can be explained.")
                return model.logits(checked, site, layer, _count_steps(report))

        return self._worker.alone(checked, explain, progress, caller)

    def trace_together(self, requests: Sequence[Request]) -> list[Trace | InputError]:
        """Run requests with equal options in this thread, without the queue.

        This is for a process that serves no users, such as a process of an analysis.

        Returns:
            For each request, its trace or the reason why it cannot run.

        Raises:
            BackendError: if the model cannot run at all.
        """
        try:
            return [*self._run([self._checked(one) for one in requests], _ignore)]
        except Exception as error:
            if len(requests) == 1:
                told = convert_to_sentence(error)
                if isinstance(told, InputError):
                    return [told]
                raise told from error
        # A request that is too long or too large must not make the other ones fail.
        return [self.trace_together([one])[0] for one in requests]

    def waiting(self) -> int:
        """Return the number of waiting requests."""
        return self._worker.waiting()

    def load(self, request: Request) -> Model:
        """Return the loaded model of a request, and drop the least recently used models."""
        card = self._cards[request.model]
        # One copy serves requests with any area size if the model has no areas.
        key = (card.name, None if "areas" in card.lacks else request.area_size)
        if key not in self._loaded:
            self._loaded[key] = self._load(card, key[1])
        self._loaded.move_to_end(key)
        while len(self._loaded) > MAX_LOADED:
            self._loaded.popitem(last=False)
        return self._loaded[key]

    def _read(self, path: Path) -> None:
        try:
            card = read_card(path)
            if card.family not in MODELS:
                raise BackendError(
                    f"{path.parent.name} needs a newer version of areaviz, or the package"
                    f' with models of the family "{card.family}". Update areaviz or install'
                    " the package."
                )
            if card.name != path.parent.name:
                raise BackendError(
                    f"The folder {path.parent.name} has the model {card.name}. Rename the"
                    f" folder to {card.name}."
                )
            if card.name in self._cards:
                raise BackendError(
                    f"There are two models called {card.name}. The one in {path.parents[1]} is"
                    " skipped. Give it another name."
                )
            if not card.files:
                log.warning(_NO_DIGESTS, card.name)
            self._cards[card.name], self._places[card.name] = card, path.parent
        except (InputError, BackendError) as error:
            self._problems.append(str(error))

    def _read_folder(self, place: str) -> None:
        try:
            found = read_folder(place, self._cards)
        except InputError as error:
            self._named[place] = without_traceback(error)
            self._problems.append(str(error))
            return
        name = self._named[place] = found.card.name
        self._cards[name], self._places[name] = found.card, found.path

    def _checked(self, request: Request) -> Request:
        """Return a request that an available model can run. A successor replaces a removed model.

        Raises:
            InputError: if no available model can run it.
        """
        checked = request.checked()
        checked = replace(checked, model=find_successor(checked.model, self._cards))
        card = self._cards[check_model_name(checked.model, self._cards)]
        check_abilities(checked, card.can, f"“{card.title}”")
        if card.family == FAMILY:
            check_given(card, checked)
        return checked

    def _allowed(self, request: Request, caller: Caller) -> Request:
        """Return a checked request that its caller may send. Users have a time limit."""
        checked = self._checked(request)
        if caller.visitor is not None and not caller.in_background:
            self._costs.check(checked)
        return checked

    def _can_pause(self, request: Request) -> bool:
        """Return whether other requests can run between two steps of a request.

        A run of an external model with changes cannot pause, because its hooks in the model would
        change other requests too.
        """
        return self._cards[request.model].family != FAMILY or not request.changes

    def _run(self, requests: Sequence[Request], report: Progress) -> list[Trace]:
        with self._computing(report):
            return self.load(requests[0]).trace(requests, _count_steps(report))

    @contextmanager
    def _computing(self, report: Progress) -> Iterator[None]:
        """Prepare the thread for work on the device, and report a lack of memory."""
        # The number of threads applies to the computing thread, which is the thread of the worker.
        use_threads(get_answering_threads())
        try:
            report(0.0, "Loading the model")
            # An interrupted run may have turned gradients off. A model that is loaded in this state
            # could never compute attribution.
            with torch.inference_mode(False), torch.enable_grad():
                yield
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            free_memory(self._device)
            raise BackendError(
                "The device ran out of memory. Shorten the text or choose a smaller area size."
            ) from error

    def _load(self, card: Card, area_size: int | None) -> Model:
        """Load a model. If there is no room for it, drop all other models first."""
        # External models have folders of their own.
        family: Family = FolderModel if card.family == FAMILY else MODELS[card.family]
        load, place = family.load, self._places[card.name]
        try:
            return load(place, card, self._device, area_size)
        except NoRoom:
            if not self._loaded:
                raise
        self._loaded.clear()
        free_memory(self._device)
        return load(place, card, self._device, area_size)


def _count_steps(report: Progress) -> OnStep:
    """Return a callback for the steps of a model that reports them as progress."""
    return lambda done, most: report(done / most, f"Writing item {done}")


def _ignore(share: float, what: str) -> None:
    """Ignore the progress of a run."""
