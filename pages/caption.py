"""Describe a picture and see which of its rectangles every attention head attends to."""

from areaviz.ui.forms.caption_form import CaptionState, draw_caption_form
from areaviz.ui.results.result_page import ResultPage, draw_result_page, draw_traces

draw_result_page(
    ResultPage(
        name="caption",
        purpose="Choose a picture, get it described in words, and point at any word or cell to see"
        " which rectangles of the picture the model attended to.",
        first=CaptionState(),
        task="caption",
        form=draw_caption_form,
        show=draw_traces,
    )
)
