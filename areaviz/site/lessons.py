"""The lessons of the site: a list of questions, and a page for each question."""

from __future__ import annotations

from typing import Any

from areaviz.app.texts import sentence
from areaviz.draw.labels import make_data_block, make_element
from areaviz.learn.questions import QUESTIONS, make_question_data
from areaviz.page.body import render_stage
from areaviz.page.page import make_mount_script
from areaviz.show.parts import read_parts, read_text
from areaviz.site.page_frame import Files, Site, render_site_page
from areaviz.texts.catalogue import message

DESCRIPTION = message(
    "Guess first, then see the answer. Each question is about one idea of area attention, and what"
    " it shows is computed from a model or by the arithmetic of the paper."
)
STILL = message("This page needs scripts to ask its question.")


def make_files(site: Site) -> Files:
    """Return the list of questions, and a page for each."""
    items = []
    asked = {number: _collect_question(site, number) for number in QUESTIONS}
    for number, data in asked.items():
        link = make_element("a", data["texts"]["title"], href=f"lessons/{number}.html")
        items.append(make_element("li", link))
    main = [make_element("p", sentence(DESCRIPTION)), make_element("ol", *items)]
    yield "lessons.html", render_site_page(site, sentence("Lessons"), main)
    style = read_parts("lesson").css
    script = f"{make_mount_script(['lesson'], site.language)}\n{read_text('site/question.js')}"
    for number, data in asked.items():
        drawn = [
            make_element("section", make_element("p", sentence(STILL)), id="without-script"),
            render_stage("lesson", site.language),
            make_data_block({"questions": {number: data}, "place": number}, id="question"),
        ]
        page = render_site_page(site, data["texts"]["title"], drawn, 1, [style], script=script)
        yield f"lessons/{number}.html", page


def _collect_question(site: Site, number: int) -> dict[str, Any]:
    """Return the data of the component for a question. Its links lead to files of the site."""
    data = make_question_data(number, site.language)
    links = {"all": "../lessons.html"}
    links["back"] = f"{number - 1}.html" if data["links"]["back"] else ""
    links["next"] = f"{number + 1}.html" if data["links"]["next"] else ""
    links["own"] = f"../{site.best_page('token-boundary')}" if data["links"]["own"] else ""
    return {**data, "links": links}
