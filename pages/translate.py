"""Translate a sentence and see which spans of text every attention head attends to."""

from areaviz.ui.forms.request_form import recall_request, request_form
from areaviz.ui.look.result_page import beside, result_page
from areaviz.ui.shell.chrome import page_frame

page_frame(
    "Translate",
    "Write an English sentence, get its German translation, and point at any letter or word to see "
    "which spans of text the model attended to.",
)
result_page("translation", recall_request, request_form, beside("translate"))
