"""The examples of a report: joint failures, examples where one system wins, and rated examples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from areaviz.analysis.buckets import BUCKETINGS, bucket_table
from areaviz.analysis.report_content import Report
from areaviz.analysis.report_parts import render_example_card
from areaviz.draw.labels import Markup, format_three_digits, make_element, pluralise

# Maximum number of examples per kind, per pair of systems, per bucket, and with ratings.
EXAMPLES, OF_PAIR, OF_BUCKET, JUDGED = 6, 3, 3, 12


def render_examples(report: Report) -> list[Markup]:
    """Return the most telling examples: joint failures, wins, the worst outputs, and rated ones."""
    if not report.leading:
        return _render_rated_outputs(report)
    measure, frame = report.measures[report.leading], report.frame
    parts: list[Markup] = []
    if report.pairs:
        parts += _render_joint_failures(report)
        for pair in report.pairs:
            parts += _render_better_outputs(report, pair)
    else:
        values = frame[f"{report.leading}_0"].dropna().sort_values(kind="stable")
        places = [int(place) for place in values.index]
        worst = places[::-1] if measure.better == "low" else places
        parts += _render_cards(report, f"Worst by {measure.title}", worst[:EXAMPLES])
    return [*parts, *_render_rated_outputs(report)]


def _render_better_outputs(report: Report, pair: tuple[int, int]) -> list[Markup]:
    """Return the examples with the largest gains of each of two systems over the other one."""
    measure = report.measures[report.leading]
    columns = [report.frame[f"{report.leading}_{number}"] for number in pair]
    change = (columns[1] - columns[0]).dropna().sort_values(kind="stable")
    if measure.better == "low":
        change = -change[::-1]
    gains = [int(place) for place in change[change > 0].index[::-1]]
    losses = [int(place) for place in change[change < 0].index]
    first, second = (report.names[number] for number in pair)
    than = [f" than {name}" if len(report.pairs) > 1 else "" for name in (first, second)]
    count = EXAMPLES if len(report.pairs) == 1 else OF_PAIR
    return [
        *_render_cards(report, f"{second} is better{than[0]}, by {measure.title}", gains[:count]),
        *_render_cards(report, f"{first} is better{than[1]}, by {measure.title}", losses[:count]),
    ]


def _render_rated_outputs(report: Report) -> list[Markup]:
    """Return examples with rated outputs, the most costly errors first."""
    costs: dict[int, float] = {}
    for one in report.written:
        for place, some in one.judged.items():
            costs[place] = max(costs.get(place, 0), *(each.mqm for each in some))
    known = set(report.frame.index)
    places = sorted((place for place in costs if place in known), key=lambda one: -costs[one])
    return _render_cards(report, "With errors that raters marked", places[:JUDGED])


def _render_joint_failures(report: Report) -> list[Markup]:
    """Return examples of each length bucket in which all systems fail."""
    failing, limit = report.failing
    measure = report.measures[report.leading]
    if not failing:
        return []
    beyond = "at least" if measure.better == "low" else "at most"
    about = (
        f"{pluralise(len(failing), 'example')}: the {measure.title} of {report.everybody.lower()}"
        " is"
        f" {beyond} {format_three_digits(limit)}, as that of the worst quarter of all outputs is."
    )
    parts = [make_element("h3", f"{report.everybody} fail"), make_element("p", about)]
    how = BUCKETINGS["length"]
    for row in bucket_table(report.frame, how, report.leading, len(report.runs)).to_dict("records"):
        here = [place for place in failing if place in row["places"]]
        if here:
            head = f"{row['bucket']} {how.about}: {len(here):,} of {row['examples']:,}"
            cards = [_render_card(report, place) for place in here[:OF_BUCKET]]
            parts.append(make_element("details", make_element("summary", head), *cards))
    return parts


def _render_cards(report: Report, title: str, places: Sequence[int]) -> list[Markup]:
    if not places:
        return []
    return [make_element("h3", title), *(_render_card(report, place) for place in places)]


def _render_card(report: Report, place: int) -> Markup:
    row = report.frame.loc[place].to_dict()
    figures = []
    for run in range(len(report.runs)):
        known = []
        for name, measure in report.measures.items():
            value = float(row[f"{name}_{run}"])
            if measure.better and np.isfinite(value):
                known.append(f"{measure.title} {format_three_digits(value)}")
        figures.append(", ".join(known))
    return render_example_card(report.dataset, place, report.written, figures)
