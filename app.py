"""The app: page settings, who is let in, and navigation, nothing else. Start it with `make run`."""

from pathlib import Path

import streamlit as st

from areaviz.ui.admission import admitted, ask_for_token
from areaviz.ui.returning import begin, take_up

st.set_page_config(page_title="areaviz", page_icon=Path(__file__).parent / "assets" / "favicon.png", layout="wide")
begin()
is_open = admitted()
page = st.navigation(
    [
        st.Page("pages/home.py", title="Home", default=True),
        st.Page("pages/translate.py", title="Translate"),
        st.Page("pages/caption.py", title="Caption"),
        st.Page("pages/translate_picture.py", title="Translate with a picture"),
        st.Page("pages/four_ways.py", title="Four ways to look"),
        st.Page("pages/analyse.py", title="Analyse"),
        st.Page("pages/your_tensors.py", title="Your tensors"),
        st.Page("pages/how_areas_work.py", title="How areas work"),
        st.Page("pages/models.py", title="Models"),
    ],
    position="top" if is_open else "hidden",
)
if is_open:
    page.run()
else:
    ask_for_token()
take_up(is_open)
