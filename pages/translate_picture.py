"""Translate a sentence with its picture, without a picture and with a wrong one, side by side."""

from areaviz.app.result import ResultPage, draw_result_page
from areaviz.app.translate_picture import (
    PictureTranslationState,
    draw_picture_translation_form,
    draw_side_by_side,
)

draw_result_page(
    ResultPage(
        name="translate_picture",
        purpose="Give an English sentence and a picture: every German word looks at both. Hide a"
        " word of the sentence, and see whether the picture tells it.",
        first=PictureTranslationState(),
        task="picture translation",
        form=draw_picture_translation_form,
        show=draw_side_by_side,
    )
)
