"""The app: page settings, who is let in, and navigation, nothing else. Start it with `make run`."""

from pathlib import Path

import streamlit as st

from areaviz.ui.shell.admission import admitted, refuse
from areaviz.ui.shell.restart_recovery import begin, take_up

ROOT = Path(__file__).parent
st.set_page_config(page_title="areaviz", page_icon=ROOT / "assets" / "favicon.png", layout="wide")
begin()
is_open = admitted()
page = st.navigation(
    [
        st.Page(ROOT / "pages" / "home.py", title="Home", default=True),
        st.Page(ROOT / "pages" / "translate.py", title="Translate"),
        st.Page(ROOT / "pages" / "caption.py", title="Caption"),
        st.Page(ROOT / "pages" / "translate_picture.py", title="Translate with a picture"),
        st.Page(ROOT / "pages" / "four_ways.py", title="Four ways to look"),
        st.Page(ROOT / "pages" / "analyse.py", title="Analyse"),
        st.Page(ROOT / "pages" / "your_tensors.py", title="Your tensors"),
        st.Page(ROOT / "pages" / "how_areas_work.py", title="How areas work"),
        st.Page(ROOT / "pages" / "models.py", title="Models"),
    ],
    position="top" if is_open else "hidden",
)
if is_open:
    page.run()
else:
    refuse()
take_up(is_open)
