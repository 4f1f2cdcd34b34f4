"""A lesson of 45 minutes for teachers, and links to exercises that they make."""

from areaviz.app.frame import draw_page_frame
from areaviz.app.page import Page, State
from areaviz.learn.teach import draw_teach_page
from areaviz.texts.catalogue import message

draw_page_frame(
    Page(
        "teach",
        message(
            "What does a translator look at? For classes from 15 years, no programming, a browser"
            " for every two students."
        ),
        State(),
        heading=message("One lesson, 45 minutes"),
    )
)
draw_teach_page()
