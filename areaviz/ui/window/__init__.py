"""A window that is a transformation, to be dragged on a picture, as a Streamlit component."""

from areaviz.ui.window.component import window

__all__ = ["window"]
