"""The app's pages in Streamlit: one package per part of the app, and one for what they share."""
