"""Your own attention weights, from a file, in every view that fits them."""

from areaviz.ui.look.your_tensors import TensorsState, your_tensors
from areaviz.ui.shell.frame import page_frame
from areaviz.ui.shell.page import Page

page = Page(
    "your_tensors",
    "Open attention weights of your own model, as NumPy arrays, and see which items and areas every"
    " head attends to.",
    TensorsState(),
)
page_frame(page)
your_tensors(page)
