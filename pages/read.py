"""Let a language model read or continue a text, and see what each item attends to."""

from areaviz.app.result import ResultPage, draw_result_page, draw_traces
from areaviz.app.tasks import ReadState, draw_read_form

draw_result_page(
    ResultPage(
        name="read",
        purpose="Type a text, let a language model read it or go on with it, and point at any word"
        " to see what it attends to.",
        first=ReadState(),
        task="reading",
        form=draw_read_form,
        show=draw_traces,
    )
)
