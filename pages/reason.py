"""Ask a memory network about a story, or a pointer network for a hull or a tour."""

from areaviz.ui.forms.reason_form import ReasonState, reason_form
from areaviz.ui.look.reason import show_reason
from areaviz.ui.look.result_page import ResultPage, result_page

result_page(
    ResultPage(
        name="reason",
        purpose="Edit a story and ask about it, or place points, and see which facts, or which"
        " points, a model weighed at every step of its reasoning.",
        first=ReasonState(),
        task="questions",
        also=("points",),
        form=reason_form,
        show=show_reason,
    )
)
