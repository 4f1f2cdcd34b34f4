"""Describe a picture and see which of its rectangles every attention head attends to."""

from areaviz.app.result import ResultPage, draw_result_page, draw_traces
from areaviz.app.tasks import CaptionState, draw_caption_form

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
