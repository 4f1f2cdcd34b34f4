"""Translate a sentence and see which spans of text every attention head attends to."""

from functools import partial

from areaviz.ui.forms.translate_form import TranslateState, translate_form
from areaviz.ui.home.hero import lit_as_on_home
from areaviz.ui.results.result_page import ResultPage, result_page, show_traces

result_page(
    ResultPage(
        name="translate",
        purpose="Write a sentence, get its translation, and point at any letter or"
        " word to see which spans of text the model attended to.",
        first=TranslateState(),
        task="translation",
        form=translate_form,
        show=partial(show_traces, complete=lit_as_on_home),
    )
)
