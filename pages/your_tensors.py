"""Your own attention weights, from a file, in every view that fits them."""

from areaviz.ui.chrome import page_frame
from areaviz.ui.your_tensors import your_tensors

page_frame(
    "Your tensors",
    "Open attention weights of your own model, as NumPy arrays, and see which items and areas every head attends to.",
)
your_tensors()
