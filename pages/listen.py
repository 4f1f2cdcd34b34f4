"""Transcribe spoken digits with a model, and see which moments it attended to."""

from areaviz.ui.forms.listen_form import ListenState, draw_listen_form
from areaviz.ui.results.listen import draw_transcripts
from areaviz.ui.results.result_page import ResultPage, draw_result_page

draw_result_page(
    ResultPage(
        name="listen",
        purpose="Choose, upload or record spoken digits, and see which moments of the sound a model"
        " listened to for every digit it wrote.",
        first=ListenState(),
        task="speech",
        form=draw_listen_form,
        show=draw_transcripts,
    )
)
