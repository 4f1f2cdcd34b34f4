"""The app's pages in Streamlit: one package per part of the app, and `app` for shared code."""
