"""Describe a picture and see, word by word and cell by cell, which rectangles every attention head attends to."""

from areaviz.ui import address
from areaviz.ui.caption_form import caption_form, recall_caption
from areaviz.ui.chrome import page_frame
from areaviz.ui.engine import engine
from areaviz.ui.errors import calm, problem
from areaviz.ui.explore import explore
from areaviz.ui.result import up_to_date
from areaviz.ui.upload import stored_trace

page_frame(
    "Caption",
    "Choose a picture, get it described in words, and point at any word or cell to see which rectangles of the "
    "picture the model attended to.",
)
with calm("opening the models"):
    backend = engine()
    cards = {name: card for name, card in backend.models().items() if card.task == "caption"}
    for sentence in backend.problems():
        problem(sentence)
    with calm("reading the link"):
        address.restore(cards, recall_caption)
    requests = caption_form(cards) if cards else ()
    with calm("reading the stored trace"):
        stored = stored_trace()
        if stored:
            explore((stored,), (f"Stored trace of {stored.request.model}",), None)
        elif requests:
            with calm("describing the picture"):
                result = up_to_date(backend, "caption", requests, [cards[r.model].title for r in requests])
                explore(result.traces, result.titles, result.requests[0])
