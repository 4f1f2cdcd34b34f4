"""The examples of a report: where both systems fail, where one wins, and rated examples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from areaviz.analysis.buckets import BUCKETINGS, bucket_table
from areaviz.analysis.report_parts import example_card
from areaviz.analysis.reported import MAX_SYSTEMS, Report
from areaviz.drawing.labels import counted
from areaviz.drawing.markup import Markup, element
from areaviz.drawing.numbers import three_digits

# Number of examples shown per kind, per bucket, and with ratings.
EXAMPLES, OF_BUCKET, JUDGED = 6, 3, 12


def examples(report: Report) -> list[Markup]:
    """Return the most telling examples: both fail, one wins, the worst ones, and rated ones."""
    if not report.leading:
        return _judged(report)
    measure, frame = report.measures[report.leading], report.frame
    parts: list[Markup] = []
    if len(report.runs) == MAX_SYSTEMS:
        parts += _both_fail(report)
        change = frame[f"{report.leading}_change"].dropna().sort_values(kind="stable")
        if measure.better == "low":
            change = -change[::-1]
        first, second = report.names
        gains = [int(place) for place in change[change > 0].index[::-1]]
        losses = [int(place) for place in change[change < 0].index]
        parts += _cards(report, f"{second} is better, by {measure.title}", gains[:EXAMPLES])
        parts += _cards(report, f"{first} is better, by {measure.title}", losses[:EXAMPLES])
    else:
        values = frame[f"{report.leading}_0"].dropna().sort_values(kind="stable")
        places = [int(place) for place in values.index]
        worst = places[::-1] if measure.better == "low" else places
        parts += _cards(report, f"Worst by {measure.title}", worst[:EXAMPLES])
    return [*parts, *_judged(report)]


def _judged(report: Report) -> list[Markup]:
    """Return examples with rated outputs, the most costly errors first."""
    costs: dict[int, float] = {}
    for one in report.written:
        for place, some in one.judged.items():
            costs[place] = max(costs.get(place, 0), *(each.mqm for each in some))
    known = set(report.frame.index)
    places = sorted((place for place in costs if place in known), key=lambda one: -costs[one])
    return _cards(report, "With errors that raters marked", places[:JUDGED])


def _both_fail(report: Report) -> list[Markup]:
    """Return examples of each length bucket in which both systems fail."""
    failing, limit = report.failing
    measure = report.measures[report.leading]
    if not failing:
        return []
    beyond = "at least" if measure.better == "low" else "at most"
    about = (
        f"{counted(len(failing), 'example')}: the {measure.title} of both is {beyond}"
        f" {three_digits(limit)}, as that of the worst quarter of all outputs is."
    )
    parts = [element("h3", "Both fail"), element("p", about)]
    how = BUCKETINGS["length"]
    for row in bucket_table(report.frame, how, report.leading, len(report.runs)).to_dict("records"):
        here = [place for place in failing if place in row["places"]]
        if here:
            head = f"{row['bucket']} {how.about}: {len(here):,} of {row['examples']:,}"
            cards = [_card(report, place) for place in here[:OF_BUCKET]]
            parts.append(element("details", element("summary", head), *cards))
    return parts


def _cards(report: Report, title: str, places: Sequence[int]) -> list[Markup]:
    if not places:
        return []
    return [element("h3", title), *(_card(report, place) for place in places)]


def _card(report: Report, place: int) -> Markup:
    row = report.frame.loc[place].to_dict()
    figures = []
    for run in range(len(report.runs)):
        known = []
        for name, measure in report.measures.items():
            value = float(row[f"{name}_{run}"])
            if measure.better and np.isfinite(value):
                known.append(f"{measure.title} {three_digits(value)}")
        figures.append(", ".join(known))
    return example_card(report.dataset, place, report.written, figures)
