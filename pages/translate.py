"""Translate a sentence and see which spans of text every attention head attends to."""

from areaviz.ui import address
from areaviz.ui.chrome import page_frame
from areaviz.ui.engine import engine
from areaviz.ui.errors import calm, problem
from areaviz.ui.explore import explore
from areaviz.ui.request_form import recall_request, request_form
from areaviz.ui.result import up_to_date
from areaviz.ui.upload import stored_trace

page_frame(
    "Translate",
    "Write an English sentence, get its German translation, and point at any letter or word to see "
    "which spans of text the model attended to.",
)
with calm("opening the models"):
    backend = engine()
    cards = {name: card for name, card in backend.models().items() if card.task == "translation"}
    for sentence in backend.problems():
        problem(sentence)
    with calm("reading the link"):
        address.restore(cards, recall_request)
    requests = request_form(cards) if cards else ()
    with calm("reading the stored trace"):
        stored = stored_trace()
        if stored:
            explore((stored,), (f"Stored trace of {stored.request.model}",), None)
        elif requests:
            with calm("translating"):
                result = up_to_date(backend, "translate", requests, [cards[r.model].title for r in requests])
                explore(result.traces, result.titles, result.requests[0])
