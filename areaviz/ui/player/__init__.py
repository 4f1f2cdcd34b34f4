"""Pictures played one after another, as a Streamlit component."""

from areaviz.ui.player.component import player

__all__ = ["player"]
