"""Streamlit's side of the browser components: one file per component, with an equal function name.

The code that runs in the browser is in `areaviz/components`.
"""
