"""The image grid as a Streamlit component."""

from areaviz.ui.grid.component import grid

__all__ = ["grid"]
