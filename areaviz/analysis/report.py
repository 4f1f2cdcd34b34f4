"""The report of an analysis: one HTML file that needs neither the app nor a network."""

from __future__ import annotations

from areaviz import __version__
from areaviz.analysis.report_content import MAX_SYSTEMS, Report
from areaviz.analysis.report_examples import render_examples
from areaviz.analysis.report_figures import (
    render_buckets,
    render_comparison_with_baseline,
    render_dataset_scores,
    render_marked_errors,
    render_word_scores,
)
from areaviz.analysis.report_themes import render_themes
from areaviz.draw.labels import make_document, make_element, pluralise
from areaviz.show.parts import read_text
from areaviz.trace.errors import InputError

FOOTER = (
    f"Made with areaviz {__version__}. All of this page is in this one file: it fetches nothing and"
    " sends nothing."
)


def report_page(report: Report) -> str:
    """Return the report as HTML.

    Raises:
        InputError: there are no examples to report, or there are too many systems.
    """
    if len(report.systems) > MAX_SYSTEMS:
        raise InputError(
            f"A report compares at most {MAX_SYSTEMS} systems, but there are"
            f" {len(report.systems)}. Leave some out."
        )
    if report.frame.empty:
        raise InputError("There are no examples to report. Choose a slice or a search with some.")
    sections = {
        "The whole set": render_dataset_scores(report),
        "Themes": render_themes(report),
        "Which is better": render_comparison_with_baseline(report),
        "Scores by bucket": render_buckets(report),
        "Words": render_word_scores(report),
        "Errors that raters marked": render_marked_errors(report),
        "Examples": render_examples(report),
    }
    links, body = [], []
    for number, (title, parts) in enumerate(sections.items()):
        if parts:
            links.append(make_element("a", title, href=f"#part-{number}"))
            body.append(
                make_element("section", make_element("h2", title), *parts, id=f"part-{number}")
            )
    title = f"Analysis of {report.dataset.name}"
    header = make_element(
        "header",
        make_element("h1", title),
        make_element("p", _describe_facts(report), class_="facts"),
        make_element("nav", *links, aria_label="Parts"),
    )
    style = read_text("page/page.css") + read_text("page/report.css")
    return make_document(title, [style], [], [header, *body, make_element("footer", FOOTER)])


def _describe_facts(report: Report) -> str:
    count = pluralise(len(report.frame), "example")
    if report.places is not None:
        count += f" of {len(report.dataset.examples):,}"
    return " · ".join([count, *report.names])
