"""Show the user's own attention weights, from a file, in every view that supports them."""

from areaviz.app.frame import draw_page_frame
from areaviz.app.page import Page
from areaviz.app.your_tensors import TensorsState, draw_your_tensors

page = Page(
    "your_tensors",
    "Open attention weights of your own model, as NumPy arrays, and see which items and areas every"
    " head attends to.",
    TensorsState(),
)
draw_page_frame(page)
draw_your_tensors(page)
