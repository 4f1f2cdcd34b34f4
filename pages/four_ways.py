"""Compare the survey's four mechanisms of attention on one picture."""

from areaviz.app.four_ways import MechanismsState, draw_four_ways, draw_mechanisms_form
from areaviz.app.result import ResultPage, draw_result_page

draw_result_page(
    ResultPage(
        name="four_ways",
        purpose="Models find and read the digits in one and the same picture, each with its own"
        " kind of attention.",
        first=MechanismsState(),
        task="digits",
        form=draw_mechanisms_form,
        show=draw_four_ways,
    )
)
