"""Watch short clips with a trained watcher, and see which frames it attended to."""

from areaviz.ui.forms.watch_form import WatchState, watch_form
from areaviz.ui.results.result_page import ResultPage, result_page
from areaviz.ui.results.watch import show_watched

result_page(
    ResultPage(
        name="watch",
        purpose="Choose or upload a short clip, and see which frames, one by one or several as one"
        " area, a model watched for every word it wrote.",
        first=WatchState(),
        task="video",
        form=watch_form,
        show=show_watched,
    )
)
