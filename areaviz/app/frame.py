"""The frame of every page, and recovery of open pages after a restart of the app."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping

import streamlit as st
from streamlit.proto.WidgetStates_pb2 import WidgetState

from areaviz.app.components import get_component, ignore_report
from areaviz.app.page import TOUR, AnyPage, set_open_page
from areaviz.app.run import (
    get_session_id,
    get_widget_key,
    has_files,
    is_drawn,
    keep_session_while_open,
    leave_pages_folder,
    rerun_with,
    take_unread_widgets,
)
from areaviz.app.texts import (
    draw_language_switch,
    get_language,
    get_language_params,
    sentence,
    show_error,
)
from areaviz.backend.access import KEY_SETTING, is_admission, is_loopback, name_admission_cookie
from areaviz.samples.paths import ROOT
from areaviz.texts.catalogue import is_right_to_left

# The frame of every page: the access check, the title, and the purpose in one line.
#
# This is the second check, behind the gateway that `python -m areaviz serve` puts in front of the
# app. If an access token is required, a page is drawn only for a session whose socket sent the
# admission cookie. If none is required, it is drawn only while the app listens on this machine
# only.


FIRST_TOUR_STEP: Mapping[str, str] = {TOUR: "1"}
"""The URL parameters of Home with which the guided tour begins."""
_STYLE = """
[data-testid="stHeader"] { height: 52px; min-height: 52px; }
[data-testid="stElementContainer"]:has([data-testid="stMarkdownContainer"] > style) {
  display: none; }
.st-key-restart_recovery, .st-key-page_language, [class*="st-key-clicks_"] { display: none; }
[data-testid="stMainBlockContainer"] {
  max-width: calc(1120px + 10rem); padding-top: 3.5rem; padding-bottom: 3rem; }
[data-testid="stMainBlockContainer"] p, [data-testid="stCaptionContainer"] { max-width: 46rem; }
:is([data-testid="stCaptionContainer"], [data-testid="stMetricDelta"]) {
  opacity: 0.8; color: inherit !important; }
[data-testid="stMetricDelta"], [data-testid="stMetricDelta"] * {
  white-space: normal !important; }
.js-plotly-plot :is(.xtick, .ytick, .annotation, .g-xtitle, .g-ytitle, .colorbar) text {
  fill: light-dark(#3F4A50, #B4BEBF) !important; }
[data-testid="stButton"] button { min-width: 32px; }
[data-testid="stExpander"] summary { min-height: 32px; }
[data-testid="stTooltipIcon"] button { min-width: 32px; min-height: 32px; margin: -8px; }
[data-testid="stButton"] [data-testid="stTooltipIcon"] button { margin: 0; }
.st-key-purpose [data-testid="stCaptionContainer"],
.st-key-purpose [data-testid="stCaptionContainer"] p { max-width: none; }
a:focus-visible, [data-testid="stTopNavSection"]:focus-visible {
  outline: 2px solid currentColor !important; outline-offset: 2px; border-radius: 4px; }
[data-testid="stText"] { white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: plaintext; }
[class*="st-key-translation"] [data-testid="stText"] { font-size: 1.3rem; line-height: 1.5; }
[data-testid="stPageLink-NavLink"] {
  padding-left: 0; padding-right: 0; min-height: 32px; background: none; }
[data-testid="stPageLink-NavLink"] p { text-decoration: underline; text-underline-offset: 0.2em; }
[data-testid="stPageLink-NavLink"]:hover { background: none; }
[data-testid="stLayoutWrapper"]:has(> .st-key-tour_link) { position: absolute; }
.stHorizontalBlock.st-key-tour_link { position: fixed; top: 8px; inset-inline-end: 1.5rem;
  align-items: center; width: max-content; z-index: 999991; }
.st-key-tour_link [data-testid="stPageLink-NavLink"] p {
  font-size: 15px; font-weight: 400; text-decoration: none; }
.st-key-tour_link button p { font-size: 15px; }
@media (max-width: 48rem) {
  .stHorizontalBlock.st-key-tour_link { inset-inline-end: 110px; }
  .st-key-tour_link .stElementContainer:has([data-testid="stPageLink"]) { display: none; } }
[dir="rtl"] [data-testid="stSidebar"][data-collapsed="true"] { display: none; }
[dir="rtl"] :is([data-testid="stHeading"], [data-testid="stMarkdownContainer"],
  [data-testid="stCaptionContainer"]) * { text-align: start; }
button:is([data-variant="segmented_control"], [data-variant="pills"])[data-selected="true"] {
  color: inherit !important; }
[class*="st-key-heading_"] [data-testid="stText"] { font-weight: 600; }
[data-testid="stButtonGroup"] > div:has(> button) { flex-wrap: wrap; }
[data-testid="stSliderThumbValue"] { color: inherit !important; }
:is([class*="_input"], [class*="_subject"]) [data-testid="stTextInput"] input {
  font-size: 17px; height: 44px; }
[class*="_input"] :is([data-baseweb="select"] > div, button) { min-height: 44px; }
@media (max-width: 40rem) {
  :is([class*="_input"], [class*="_try"]) { gap: 8px; }
  [class*="_try"] { flex-wrap: nowrap; overflow-x: auto; padding: 4px; }
  [class*="_try"] > * { flex: none; }
  :is([class*="_input"], [class*="_subject"]) > :has([data-testid="stTextInput"]),
  [class*="_input"] > :has([data-testid="stSelectbox"]) {
    min-width: 100%; } }
@media (min-width: 40rem) and (max-width: 62rem) {
  .st-key-translate_input > :has([data-testid="stTextInput"]) { min-width: 100%; }
  [class*="_input"] > :has([data-testid="stSelectbox"]) { min-width: 310px; }
  :is(.st-key-caption_input, .st-key-translate_picture_input) > :first-child { min-width: 100%; }
  .st-key-sights { flex-direction: row; }
  .st-key-sights > * { flex: 1 1 0; min-width: 0; }
  [class*="_try"] { flex-wrap: nowrap; }
  [class*="_try"] > :has([data-testid="stButton"]) { flex: 0 1 auto; }
  [class*="_try"] > :not(:has([data-testid="stButton"])) { flex: none; }
  [class*="_try"] > :has([data-testid="stButton"]), [class*="_try"] [data-testid="stButton"] * {
    min-width: 0; max-width: 100%; }
  [class*="_try"] button p { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; } }
.st-key-read_below { margin-top: -8px; }
@media (min-width: 62rem) {
  .st-key-reason_subject { margin: -4.5rem 7rem 0 10rem; width: auto; }
  .st-key-translate_picture_subject { margin: -4.6rem 7rem 0 24rem; width: auto;
    position: relative; top: -16px; }
  .st-key-analyse_head { margin: -4.2rem 0 0 15rem; width: auto; } }
.st-key-analyse_summary h2 { padding: 0.25rem 0; }
.st-key-analyse_example .stMarkdownBadge { color: inherit !important; }
.st-key-analyse_first_text .stMarkdownColoredBackground { background: #009E7333 !important; }
.st-key-analyse_second_text .stMarkdownColoredBackground { background: #D55E0033 !important; }
[class*="_try"] button {
  border: 1px solid color-mix(in srgb, currentColor 22%, transparent);
  border-radius: 999px; padding: 0.2rem 0.9rem; }
.st-key-focus { row-gap: 0.75rem; }
.st-key-focus [data-testid="stButtonGroup"] {
  display: flex; align-items: center; gap: 0.75rem; }
.st-key-focus [data-testid="stButtonGroup"] > label { flex: none; }
.st-key-tabs { row-gap: 0; justify-content: flex-end; }
.st-key-tabs > :has([data-testid="stButtonGroup"]) { margin-inline-end: auto; }
.st-key-tabs { border-bottom: 1px solid color-mix(in srgb, currentColor 22%, transparent); }
.st-key-tabs button[data-variant="segmented_control"] {
  border: 0; border-bottom: 3px solid transparent; border-radius: 0; background: none; }
.st-key-tabs button[data-selected="true"] { border-bottom-color: currentColor; font-weight: 600; }
:is(div, button):has(> [data-testid="stHeaderLogo"])::after {
  content: "areaviz"; margin-inline: 8px 12px; font: 600 20px "Source Serif", serif; }
:is(div, button):has(> [data-testid="stHeaderLogo"]) {
  display: flex; align-items: center; min-height: 36px; }
[data-testid="stHeaderLogo"] { margin: 0; height: 22px; }
:is([data-testid="stTopNavLink"], [data-testid="stTopNavSection"]) { min-height: 36px; }
:is([data-testid="stTopNavLink"], [data-testid="stTopNavSection"], [data-testid="stSidebarNav"]) p {
  font-size: 15px; }
[data-testid="stSidebarNavLink"] { min-height: 36px; }
[data-testid="stExpandSidebarButton"] {
  position: fixed; top: 10px; inset-inline-end: 16px; width: auto; height: 36px; padding: 0 14px;
  border: 1px solid color-mix(in srgb, currentColor 25%, transparent); border-radius: 8px; }
[data-testid="stExpandSidebarButton"] > span { display: none; }
[data-testid="stExpandSidebarButton"]::after { content: "Menu"; font-size: 15px; font-weight: 600; }
.st-key-sights [data-testid="stMarkdown"] p { font-size: 1.1rem; }
@media (max-width: 62rem) { [class*="st-key-pair"] [data-testid="stColumn"] { min-width: 100%; } }
"""


def draw_page_frame(
    page: AnyPage, is_brief: bool = False, draw_right: Callable[[], None] | None = None
) -> None:
    """Draw the title and purpose of a page. Draw nothing for a session that was not admitted.

    app.py makes an equal check. A page repeats it, so that no other way to the page avoids it.

    Args:
        page: the page.
        is_brief: whether the purpose is the help text of the title, because the content explains
            itself.
        draw_right: draws the elements to the right of the title.
    """
    # The first visitor after a start may come by a link, before app.py has run.
    if leave_pages_folder():
        st.rerun()
    if not is_admitted():
        draw_refusal()
        st.stop()
    keep_session_while_open()
    set_open_page(page)
    set_browser_language()
    add_styles(_STYLE.replace("Menu", sentence("Menu")))
    with st.container(key="tour_link", horizontal=True, width="content"):
        draw_language_switch()
        draw_page_link("pages/home.py", sentence("90-second tour"), FIRST_TOUR_STEP)
    purpose = sentence(page.purpose)
    with st.container(key="title", horizontal=True, vertical_alignment="center"):
        st.title(sentence(page.title), anchor=False, help=purpose if is_brief else None)
        if draw_right is not None:
            draw_right()
    if page.purpose and not is_brief:
        with st.container(key="purpose"):
            st.caption(purpose)


def is_admitted() -> bool:
    """Return whether this session may see the app."""
    key = os.environ.get(KEY_SETTING, "")
    if not key:
        return is_loopback(st.get_option("server.address"))
    given = st.context.cookies.get(name_admission_cookie(st.get_option("server.port")), "")
    return is_admission(given, key)


def draw_refusal() -> None:
    """Draw the requirements for seeing the page, instead of the page."""
    st.title("areaviz", anchor=False)
    if os.environ.get(KEY_SETTING):
        show_error("This app is not public. Load this page again to sign in with its access token.")
    else:
        show_error(
            "This app listens beyond its own machine without an access token, so it shows nothing. "
            "Start it with: python -m areaviz serve --host HOST --token-file FILE."
        )


def draw_page_link(
    page: str, label: str, query_params: Mapping[str, str] | None = None, help: str | None = None
) -> None:
    """Draw a link to a page, given by its path from the repository's root.

    Args:
        page: the path of the page.
        label: the text of the link, in Markdown.
        query_params: the URL parameters.
        help: the tooltip.
    """
    # Use an absolute path: Streamlit resolves relative paths from the script that it runs.
    params = {**(query_params or {}), **get_language_params()}
    st.page_link(str(ROOT / page), label=label, query_params=params, help=help)


def set_browser_language() -> None:
    """Tell the browser the language of the page and its direction of reading.

    The menu's links have no parameters, so write the chosen language into the address again.
    """
    for name, chosen in get_language_params().items():
        if st.query_params.get(name) != chosen:
            st.query_params[name] = chosen
    direction = "rtl" if is_right_to_left(get_language()) else "ltr"
    get_component("language")(
        key="page_language", data={"language": get_language(), "direction": direction}
    )


def add_styles(rules: str) -> None:
    """Add CSS rules to the page, the frame's own rules first."""
    # Use Markdown, which is in Streamlit's main bundle. `st.html` is loaded on demand, and in some
    # page loads it drew nothing (Streamlit 1.67 on a busy machine: 3 of 16). The rules hide their
    # own element.
    st.markdown(f"<style>{rules}</style>", unsafe_allow_html=True)


# Recovery of a page that stayed open while the app was restarted.
#
# With every action, the browser sends the values of all widgets of the page. A new app would take
# them for initial values, and then reset them from the URL or to their defaults, so the action
# would be lost. The page is therefore first drawn from its URL only, as in a new tab. The values
# from the browser are then applied as actions of the user, each once, as soon as its widget is
# drawn. Uploaded files cannot be recovered, because they were lost with the old app.


SETTABLE_VALUES = (
    "string_value",
    "int_value",
    "double_value",
    "bool_value",
    "string_array_value",
    "double_array_value",
)
"""Kinds of values that a page may set. Values of buttons and files cannot be set."""
FILES_LOST_TEXT = (
    "The app was started again and has lost the files that were here. Choose them again."
)
_BROUGHT_KEY, _TAKEN_KEY, _DRAWN_KEY, _LOST_KEY = (
    "restart_brought",
    "restart_taken",
    "restart_drawn",
    "restart_lost",
)
"""Session keys: values that wait for their widget, values already applied, whether a page was
drawn to its end, and whether files were lost.
"""


def stash_browser_values() -> None:
    """Set aside the values that a browser sends to a new session. Call this before drawing."""
    back = get_component("restart_recovery")(
        key="restart_recovery", on_back_change=ignore_report
    ).back
    state = st.session_state
    if get_session_id() is None:
        return
    if _DRAWN_KEY not in state:
        # Keep the values that came first. Later values may repeat those that an unfinished drawing
        # sent to the browser.
        earlier = state.get(_BROUGHT_KEY)
        unread = take_unread_widgets()
        if unread:
            unfinished = back["writing"] if back else ""
            brought = earlier or [one for one in unread if _get_css_class(one) != unfinished]
            state[_BROUGHT_KEY] = brought
            state[_LOST_KEY] = any(map(has_files, brought))
    # Send all values each time, because the browser may see only the last of two drawings in a row.
    for one in state.get(_TAKEN_KEY, ()):
        _show_value(one)


def apply_stashed_values(is_open: bool) -> None:
    """Apply the waiting values whose widgets are drawn by now. Call this after drawing.

    If the page is not open, but asks for the access token, the values still wait.
    """
    state = st.session_state
    state[_DRAWN_KEY] = True
    brought: list[WidgetState] = state.get(_BROUGHT_KEY, [])
    if get_session_id() is None or not is_open:
        return
    here = [one for one in brought if is_drawn(one)]
    if here:
        state[_BROUGHT_KEY] = [one for one in brought if one not in here]
        state[_TAKEN_KEY] = [*state.get(_TAKEN_KEY, ()), *here]
        rerun_with(here)
    state[_BROUGHT_KEY] = state[_TAKEN_KEY] = []
    if state.pop(_LOST_KEY, False):
        st.toast(FILES_LOST_TEXT, icon=":material/upload_file:", duration="infinite")


def _show_value(widget: WidgetState) -> None:
    """Make the browser show a value, because the first drawing has sent it another one."""
    state, key = st.session_state, get_widget_key(widget)
    is_settable = widget.WhichOneof("value") in SETTABLE_VALUES
    if is_settable and key in state and not isinstance(state[key], Mapping):
        state[key] = state[key]


def _get_css_class(widget: WidgetState) -> str:
    """Return the CSS class of a widget, which identifies the field in which the user types."""
    return "st-key-" + re.sub(r"[^a-zA-Z0-9_-]", "-", get_widget_key(widget).strip())
