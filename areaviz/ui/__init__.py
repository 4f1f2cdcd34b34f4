"""The app's pages in Streamlit: one package per part of the app, and `shell` for shared code."""
