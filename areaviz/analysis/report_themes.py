"""The themes of failure in a report."""

from __future__ import annotations

from areaviz.analysis.reported import Report
from areaviz.analysis.themes.listed import METHOD, NOTHING, list_title, rare_note, split_parts
from areaviz.analysis.themes.theme import Themes
from areaviz.drawing.markup import Markup, element


def themes(report: Report) -> list[Markup]:
    """Return the themes of one system, or of each of two, as lists; [] if none were looked for."""
    if not report.themes:
        return []
    parts = [element("p", METHOD)]
    for one in report.themes:
        parts += _list(one, len(report.systems))
    rare = rare_note(report.themes)
    return [*parts, element("p", rare)] if rare else parts


def _list(themes: Themes, systems: int) -> list[Markup]:
    parts = [element("h3", list_title(themes, systems))]
    if not themes.found:
        return [*parts, element("p", NOTHING)]
    for part in split_parts(themes):
        parts.append(element("p", part.title, class_="label"))
        items = [element("li", theme.sentence) for theme in part.themes]
        parts.append(element("ul", *items))
    return parts
