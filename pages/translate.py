"""Translate a sentence and see which spans of text every attention head attends to."""

from functools import partial

from areaviz.app.home import light_as_on_home
from areaviz.app.result import ResultPage, draw_result_page, draw_traces
from areaviz.app.tasks import TranslateState, draw_translate_form

draw_result_page(
    ResultPage(
        name="translate",
        purpose="Write a sentence, get its translation, and point at any letter or"
        " word to see which spans of text the model attended to.",
        first=TranslateState(),
        task="translation",
        form=draw_translate_form,
        show=partial(draw_traces, complete=light_as_on_home),
    )
)
