"""Transcribe spoken digits with a model, and see which moments it attended to."""

from areaviz.app.result import ResultPage, draw_result_page
from areaviz.app.tasks import ListenState, draw_listen_form, draw_transcripts

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
