"""A row of small pictures to choose from, and pasting into a file uploader, as Streamlit components."""

from areaviz.ui.thumbnails.component import Thumbnail, paste_hint, picked, thumbnails

__all__ = ["Thumbnail", "paste_hint", "picked", "thumbnails"]
