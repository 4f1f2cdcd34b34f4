"""What a page does that asks for something and shows what came of it: models, link, form, stored
trace, result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from areaviz.backend.base import Backend
from areaviz.cards.card import Card
from areaviz.trace.request import Request
from areaviz.ui.forms.upload import stored_trace
from areaviz.ui.look.explore import explore
from areaviz.ui.look.result import up_to_date
from areaviz.ui.shell import address
from areaviz.ui.shell.engine import engine
from areaviz.ui.shell.errors import calm, problem
from areaviz.ui.what_if.panel import experiment, panel
from areaviz.ui.what_if.state import recall as recall_changes
from areaviz.ui.what_if.state import settle

Asked = TypeVar("Asked")
Cards = Mapping[str, Card]


def result_page(
    task: str,
    recall: address.Recall,
    form: Callable[[Cards], Asked | None],
    show: Callable[[Backend, Cards, Asked], None],
) -> None:
    """Draw the page of a task; only what stands above a problem is not lost by it.

    recall: fills the form with a link. form: draws it and returns what is asked, nothing while
    something is missing.
    show: runs that and shows the result, unless a stored trace is open.
    """
    with calm("opening the models"):
        backend = engine()
        cards = {name: card for name, card in backend.models().items() if card.task == task}
        for sentence in backend.problems():
            problem(sentence)
        with calm("reading the link"):
            address.restore(cards, _with_changes(recall))
        asked = form(cards) if cards else None
        with calm("reading the stored trace"):
            if stored := stored_trace():
                explore((stored,), (f"Stored trace of {stored.request.model}",), None)
            elif asked:
                with calm("running the model"):
                    show(backend, cards, asked)


def _with_changes(recall: address.Recall) -> address.Recall:
    """Fills the form, and recalls what a link changes."""

    def both(request: Request, params: Mapping[str, str], compare: str, asked: bool) -> None:
        try:
            recall(request, params, compare, asked)
        finally:  # also where the link's picture is not here: its changes wait for it
            if asked:
                recall_changes(request, params)

    return both


def beside(page: str) -> Callable[[Backend, Cards, Sequence[Request]], None]:
    """Shows the traces of requests beside one another, the first also changed; `page` names whose
    result it is.
    """

    def show(backend: Backend, cards: Cards, requests: Sequence[Request]) -> None:
        settle(requests[0], requests[0])
        result = up_to_date(
            backend, page, requests, [cards[request.model].title for request in requests]
        )
        if not result.current:
            explore(result.traces, result.titles, result.requests[0])
            return
        run = experiment(backend, requests[0], result.traces[0])
        traces, titles = (*result.traces, *run.traces), (*result.titles, *run.titles)
        link = replace(result.requests[0], changes=run.link.changes)
        explore(traces, titles, link, run.params, partial(panel, run))

    return show
