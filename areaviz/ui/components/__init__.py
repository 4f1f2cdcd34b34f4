"""Functions that draw the browser components in Streamlit. Similar components share a file.

The code that runs in the browser is in `areaviz/components`.
"""
