"""Run many examples through models, or upload outputs, and find where they are wrong."""

from areaviz.app.frame import draw_page_frame
from areaviz.app.page import Page
from areaviz.sets.app.page import draw_analyse_page
from areaviz.sets.app.state import AnalyseState

page = Page(
    "analyse",
    "Run many examples through models, or bring what systems wrote. Find where they go wrong, and"
    " see what models looked at there.",
    AnalyseState(),
)
draw_page_frame(page, is_brief=True)
draw_analyse_page(page)
