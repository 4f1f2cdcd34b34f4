"""Translate a sentence with a picture, without it and with a wrong one, and see what each word is taken from."""

from areaviz.ui import address
from areaviz.ui.chrome import page_frame
from areaviz.ui.engine import engine
from areaviz.ui.errors import calm, problem
from areaviz.ui.explore import explore
from areaviz.ui.picture_translation_form import picture_translation_form, recall_picture_translation
from areaviz.ui.result import up_to_date
from areaviz.ui.side_by_side import side_by_side
from areaviz.ui.upload import stored_trace

page_frame(
    "Translate with a picture",
    "Give an English sentence and a picture: every German word looks at both. Hide a word of the sentence, and see "
    "whether the picture tells it.",
)
with calm("opening the models"):
    backend = engine()
    cards = {name: card for name, card in backend.models().items() if card.task == "picture translation"}
    for sentence in backend.problems():
        problem(sentence)
    with calm("reading the link"):
        address.restore(cards, recall_picture_translation)
    asked = picture_translation_form(cards) if cards else None
    with calm("reading the stored trace"):
        stored = stored_trace()
        if stored:
            explore((stored,), (f"Stored trace of {stored.request.model}",), None)
        elif asked:
            with calm("translating"):
                result = up_to_date(backend, "picture", list(asked.sights.values()), list(asked.sights))
                traces = dict(zip(result.titles, result.traces, strict=True))
                side_by_side(traces, asked.link if result.current else None, asked.further)
