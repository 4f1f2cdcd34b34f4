"""Describe short clips with a model, and see which frames it attended to."""

from areaviz.app.result import ResultPage, draw_result_page
from areaviz.app.tasks import WatchState, draw_descriptions, draw_watch_form

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
