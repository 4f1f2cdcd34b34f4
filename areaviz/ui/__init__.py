"""The app's pages, in Streamlit: what they share, a room for each part of it."""
