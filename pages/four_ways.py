"""The survey's four mechanisms of attention look at one and the same picture."""

from areaviz.ui.forms.upload import stored_trace
from areaviz.ui.forms.ways_form import choose_pictures, recall_pictures, recall_ways, ways_form
from areaviz.ui.look.explore import explore
from areaviz.ui.look.four_ways import four_ways, models_of_ways
from areaviz.ui.look.result import up_to_date
from areaviz.ui.shell import address
from areaviz.ui.shell.chrome import page_frame
from areaviz.ui.shell.engine import engine
from areaviz.ui.shell.errors import calm, problem

page_frame(
    "Four ways to look",
    "Models find and read the digits in one and the same picture, each with its own kind of"
    " attention.",
)
with calm("opening the models"):
    backend = engine()
    for sentence in backend.problems():
        problem(sentence)
    recall_pictures(address.news())
    pictures = choose_pictures(backend.models())
    cards = models_of_ways(backend.models(), pictures.kind)
    with calm("reading the link"):
        address.restore({card.name: card for card in cards.values()}, recall_ways)
    requests = ways_form(cards, pictures)
    if stored := stored_trace():
        explore((stored,), (f"Stored trace of {stored.request.model}",), None)
    elif requests:
        with calm("reading the picture"):
            result = up_to_date(backend, f"ways {pictures.kind}", requests, tuple(cards))
            traces = dict(zip(result.titles, result.traces, strict=True))
            four_ways(traces, cards, result.requests[0] if result.current else None)
