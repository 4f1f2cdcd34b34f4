"""Have a language model read a text, or go on with it, and see what each item attends to."""

from areaviz.ui.forms.read_form import ReadState, read_form
from areaviz.ui.results.result_page import ResultPage, result_page, show_traces

result_page(
    ResultPage(
        name="read",
        purpose="Type a text, let a language model read it or go on with it, and point at any word"
        " to see what it attends to.",
        first=ReadState(),
        task="reading",
        form=read_form,
        show=show_traces,
    )
)
