"""Describe short clips with a model, and see which frames it attended to."""

from areaviz.ui.forms.watch_form import WatchState, draw_watch_form
from areaviz.ui.results.result_page import ResultPage, draw_result_page
from areaviz.ui.results.watch import draw_descriptions

draw_result_page(
    ResultPage(
        name="watch",
        purpose="Choose or upload a short clip, and see which frames, one by one or several as one"
        " area, a model watched for every word it wrote.",
        first=WatchState(),
        task="video",
        form=draw_watch_form,
        show=draw_descriptions,
    )
)
