"""Your own attention weights, from a file, in every view that fits them."""

from areaviz.ui.look.your_tensors import your_tensors
from areaviz.ui.shell.chrome import page_frame

page_frame(
    "Your tensors",
    "Open attention weights of your own model, as NumPy arrays, and see which items and areas every"
    " head attends to.",
)
your_tensors()
