"""Describe a picture and see, word by word and cell by cell, which rectangles every attention head
attends to.
"""

from areaviz.ui.forms.caption_form import caption_form, recall_caption
from areaviz.ui.look.result_page import beside, result_page
from areaviz.ui.shell.chrome import page_frame

page_frame(
    "Caption",
    "Choose a picture, get it described in words, and point at any word or cell to see which"
    " rectangles of the picture the model attended to.",
)
result_page("caption", recall_caption, caption_form, beside("caption"))
