"""Themes of failure in a report: kinds of examples in which a system is worse."""

from __future__ import annotations

from areaviz.analysis.report_content import Report
from areaviz.analysis.themes.causes_of_lists import make_cause_key
from areaviz.analysis.themes.list_texts import (
    METHOD,
    NO_THEMES,
    describe_rare_conditions,
    list_title,
    split_parts,
)
from areaviz.analysis.themes.theme import Themes
from areaviz.draw.labels import Markup, make_element


def render_themes(report: Report) -> list[Markup]:
    """Return a list of themes for each system that has one, [] if there are no themes."""
    if not report.themes:
        return []
    parts = [make_element("p", METHOD)]
    for one in report.themes:
        parts += _render_theme_list(report, one)
    rare = describe_rare_conditions(report.themes)
    return [*parts, make_element("p", rare)] if rare else parts


def _render_theme_list(report: Report, themes: Themes) -> list[Markup]:
    parts = [make_element("h3", list_title(themes, len(report.systems)))]
    if not themes.found:
        return [*parts, make_element("p", NO_THEMES)]
    for part in split_parts(themes):
        parts.append(make_element("p", part.title, class_="label"))
        items = []
        for theme in part.themes:
            causes = report.causes.get(make_cause_key(themes, theme), ())
            found = (
                [make_element("ul", *(make_element("li", one) for one in causes))] if causes else []
            )
            items.append(make_element("li", theme.sentence, *found))
        parts.append(make_element("ul", *items))
    return parts
