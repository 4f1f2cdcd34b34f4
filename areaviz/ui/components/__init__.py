"""Streamlit's side of the browser components: a function for each, alike ones in one file.

The code that runs in the browser is in `areaviz/components`.
"""
