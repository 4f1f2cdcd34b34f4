"""Translate a sentence with a picture, without it and with a wrong one, and see what each word is
taken from.
"""

from areaviz.ui.forms.picture_translation_form import (
    picture_translation_form,
    recall_picture_translation,
)
from areaviz.ui.look.result_page import result_page
from areaviz.ui.look.side_by_side import side_by_side
from areaviz.ui.shell.chrome import page_frame

page_frame(
    "Translate with a picture",
    "Give an English sentence and a picture: every German word looks at both. Hide a word of the"
    " sentence, and see whether the picture tells it.",
)
result_page(
    "picture translation", recall_picture_translation, picture_translation_form, side_by_side
)
