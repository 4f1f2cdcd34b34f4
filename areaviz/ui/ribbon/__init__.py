"""The token ribbon as a Streamlit component."""

from areaviz.ui.ribbon.component import Selection, ribbon

__all__ = ["Selection", "ribbon"]
