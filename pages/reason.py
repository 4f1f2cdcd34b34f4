"""Get the answer to a question about a story, the hull or tour of points, or a sentence's tree."""

from areaviz.app.result import ResultPage, draw_result_page
from areaviz.app.tasks import ReasonState, draw_answers, draw_reason_form

draw_result_page(
    ResultPage(
        name="reason",
        purpose="Edit a story and ask about it, place points, or type a sentence for its tree, and"
        " see which facts, points or words a model weighed at every step of its reasoning.",
        first=ReasonState(),
        task="questions",
        also=("points", "parsing"),
        form=draw_reason_form,
        show=draw_answers,
    )
)
