"""Hear spoken digits with a trained listener, and see which moments it attended to."""

from areaviz.ui.forms.listen_form import ListenState, listen_form
from areaviz.ui.results.listen import show_heard
from areaviz.ui.results.result_page import ResultPage, result_page

result_page(
    ResultPage(
        name="listen",
        purpose="Choose, upload or record spoken digits, and see which moments of the sound a model"
        " listened to for every digit it wrote.",
        first=ListenState(),
        task="speech",
        form=listen_form,
        show=show_heard,
    )
)
