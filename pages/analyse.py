"""Run many examples through one or two models, find where they go wrong, and look at what they
attended to there.
"""

from areaviz.ui.analyse.page import analyse_page
from areaviz.ui.shell.chrome import page_frame

page_frame(
    "Analyse",
    "Run many examples through one or two models, find where they go wrong, and see what they"
    " attended to there.",
)
analyse_page()
