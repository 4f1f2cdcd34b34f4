"""The app: page settings, admission of visitors, and navigation. Start it with `make run`."""

from pathlib import Path

import streamlit as st

from areaviz.app.frame import apply_stashed_values, draw_refusal, is_admitted, stash_browser_values
from areaviz.app.page import HIDDEN_PARAMS, PAGE_GROUPS
from areaviz.app.texts import sentence
from areaviz.learn.tour import draw_tour_bar

ROOT = Path(__file__).parent
st.set_page_config(page_title="areaviz", page_icon=ROOT / "assets" / "favicon.png", layout="wide")
st.logo(ROOT / "assets" / "logo.svg", size="large")
stash_browser_values()
is_open = is_admitted()
groups: dict[str, list[st.Page]] = {}
for group, titles in PAGE_GROUPS.items():
    pages = groups.setdefault(sentence(group), [])
    for name, title in titles.items():
        path = ROOT / "pages" / f"{name}.py"
        shown = st.Page(
            path,
            title=sentence(title),
            default=name == "home",
            visibility="hidden" if name in HIDDEN_PARAMS else "visible",
        )
        pages.append(shown)
page = st.navigation(groups, position="top" if is_open else "hidden")
if is_open:
    page.run()
    draw_tour_bar()
else:
    draw_refusal()
apply_stashed_values(is_open)
