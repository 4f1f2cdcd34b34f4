"""The survey's four mechanisms of attention look at one and the same picture."""

from areaviz.ui.forms.mechanisms_form import WaysState, ways_form
from areaviz.ui.results.four_ways import four_ways
from areaviz.ui.results.result_page import ResultPage, result_page

result_page(
    ResultPage(
        name="four_ways",
        purpose="Models find and read the digits in one and the same picture, each with its own"
        " kind of attention.",
        first=WaysState(),
        task="digits",
        form=ways_form,
        show=four_ways,
    )
)
