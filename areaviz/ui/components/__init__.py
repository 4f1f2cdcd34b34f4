"""Streamlit's side of the browser components: one file a component, its function of the same name.

What runs in the browser is in `areaviz/components`.
"""
