"""What a page does that asks for something and shows what came of it: models, link, form, stored trace, result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from areaviz.backend.base import Backend
from areaviz.trace.card import Card
from areaviz.trace.request import Request
from areaviz.ui import address
from areaviz.ui.engine import engine
from areaviz.ui.errors import calm, problem
from areaviz.ui.explore import explore
from areaviz.ui.result import up_to_date
from areaviz.ui.upload import stored_trace

Asked = TypeVar("Asked")
Cards = Mapping[str, Card]


def result_page(
    task: str,
    recall: address.Recall,
    form: Callable[[Cards], Asked | None],
    show: Callable[[Backend, Cards, Asked], None],
) -> None:
    """Draw the page of a task; only what stands above a problem is not lost by it.

    recall: fills the form with a link. form: draws it and returns what is asked, nothing while something is missing.
    show: runs that and shows the result, unless a stored trace is open.
    """
    with calm("opening the models"):
        backend = engine()
        cards = {name: card for name, card in backend.models().items() if card.task == task}
        for sentence in backend.problems():
            problem(sentence)
        with calm("reading the link"):
            address.restore(cards, recall)
        asked = form(cards) if cards else None
        with calm("reading the stored trace"):
            if stored := stored_trace():
                explore((stored,), (f"Stored trace of {stored.request.model}",), None)
            elif asked:
                with calm("running the model"):
                    show(backend, cards, asked)


def beside(page: str) -> Callable[[Backend, Cards, Sequence[Request]], None]:
    """Shows the traces of requests beside one another; `page` names whose result it is."""

    def show(backend: Backend, cards: Cards, requests: Sequence[Request]) -> None:
        result = up_to_date(backend, page, requests, [cards[request.model].title for request in requests])
        explore(result.traces, result.titles, result.requests[0])

    return show
