"""Tables and charts of a report: the whole dataset, wins, buckets, words, and rated errors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from areaviz.analysis.buckets import (
    bucket_by_metadata,
    bucket_table,
    build_word_table,
    list_bucketings,
)
from areaviz.analysis.model_comparison import (
    compare_corpus_scores,
    count_wins,
    find_distinguishing_ngrams,
    mean_change,
)
from areaviz.analysis.rating_metrics import Agreement, compute_agreement, count_error_kinds
from areaviz.analysis.report_content import DEFAULT_METRIC, Report
from areaviz.analysis.report_parts import render_bar_chart, render_table
from areaviz.analysis.table import (
    WHOLE_SET_METRICS,
    list_metadata_columns,
    summarise_table,
    with_changes,
)
from areaviz.draw.labels import Markup, make_element, number_text

# Largest number of error kinds listed.
KINDS = 20


def render_dataset_scores(report: Report) -> list[Markup]:
    """Return the scores of the whole dataset and the mean of every metric."""
    places = list(report.frame.index)
    figures = []
    for run in report.runs:
        figures.append(summarise_table(report.dataset, {place: run[place] for place in places}))
    names = [name for name in WHOLE_SET_METRICS if any(name in one for one in figures)]
    rows = []
    for one, found in zip(report.written, figures, strict=True):
        rows.append((one.title, *(found.get(name, np.nan) for name in names)))
    means = []
    for name, measure in report.measures.items():
        columns = [report.frame[f"{name}_{run}"].mean() for run in range(len(report.runs))]
        means.append((measure.title, *columns, measure.about))
    heads = ["Measure, mean of the examples", *report.names, "What it is"]
    more = make_element(
        "details", make_element("summary", "All measures"), render_table(heads, means)
    )
    return [render_table(["System", *(WHOLE_SET_METRICS[name] for name in names)], rows), more]


def render_comparison_with_baseline(report: Report) -> list[Markup]:
    """Compare each other system with the baseline by wins, losses and corpus tests."""
    parts: list[Markup] = []
    for pair in report.pairs:
        if len(report.pairs) > 1:
            first, second = (report.names[number] for number in pair)
            parts.append(make_element("h3", f"{second} compared with {first}"))
        parts += _render_compared_pair(report, pair)
    return parts


def _render_compared_pair(report: Report, pair: tuple[int, int]) -> list[Markup]:
    rows: list[tuple[object, ...]] = []
    frame = with_changes(report.frame, *pair)
    for name, measure in report.measures.items():
        change = frame[f"{name}_change"].to_numpy(float)
        if measure.better and np.isfinite(change).any():
            mean, low, high = (number_text(value, "+.3g") for value in mean_change(change))
            rows.append(
                (measure.title, *count_wins(change, measure.better), mean, f"{low} to {high}")
            )
    first, second = (report.names[number] for number in pair)
    about = (
        f"Wins are examples in which {second} is better than {first}. The interval contains"
        " the mean change of 95 % of 1,000 resampled sets (bootstrap, seed 1). If it excludes"
        " 0, the change is unlikely to be chance."
    )
    heads = ("Measure", "Wins", "Ties", "Losses", "Mean change", "95 % interval")
    parts = [make_element("p", about), render_table(heads, rows)]
    for name, one in compare_corpus_scores(frame, pair).items():
        title = "BLEU" if name == "bleu" else "chrF"
        parts.append(
            make_element(
                "p",
                f"{title} of the whole set: {one.baseline:.2f} and {one.system:.2f}, a difference"
                f" of {one.difference:+.2f}. The probability of one as large in either direction,"
                f" were the systems alike, is {one.p_value:.3f} (two-sided approximate"
                " randomisation, 1,000 draws).",
            )
        )
    return parts


def render_buckets(report: Report) -> list[Markup]:
    """Return scores by bucket, and the number of examples per bucket in which both systems fail."""
    frame, runs = report.frame, len(report.runs)
    has_references = bool((frame["reference"] != "").any())
    if not report.leading and not has_references:
        return []
    column = "corpus_chrf" if has_references else "mean"
    title = "chrF of the bucket" if has_references else report.measures[report.leading].title
    failing = set(report.failing[0])
    parts: list[Markup] = []
    ways = dict(list_bucketings(report.corpus))
    for name, title_of_column in list_metadata_columns(frame).items():
        if by := bucket_by_metadata(frame, name, title_of_column):
            ways[name] = by
    for name, how in ways.items():
        found = bucket_table(frame, how, report.leading or "length", runs)
        if found.empty or (name == "score" and DEFAULT_METRIC not in report.measures):
            continue
        values = {title: list(found[f"{column}_{run}"]) for run, title in enumerate(report.names)}
        names = list(found["bucket"])
        axes = (how.about, title)
        parts.append(render_bar_chart(names, values, axes, f"{title} by {how.caption}"))
        heads = [how.title, "Examples", *values]
        rows = [[*row] for row in zip(names, found["examples"], *values.values(), strict=True)]
        if runs > 1:
            heads.append(f"{report.everybody} fail")
            for row, places in zip(rows, found["places"], strict=True):
                row.append(len(failing.intersection(places)))
        parts.append(render_table(heads, rows))
    return parts


def render_word_scores(report: Report) -> list[Markup]:
    """Return scores of rare words, and the words that one system matches more often."""
    frame = report.frame
    if not (frame["reference"] != "").any():
        return []
    found = build_word_table(frame, len(report.runs), report.corpus)
    values = {title: list(found[f"f1_{run}"]) for run, title in enumerate(report.names)}
    who = "references have" if report.corpus is None else "the corpus has"
    axes = (f"how often {who} the word", "F-measure")
    parts = [
        render_bar_chart(
            list(found["bucket"]), values, axes, "F-measure of words by their frequency"
        ),
        render_table(
            ["Frequency", "Words", *values],
            list(zip(found["bucket"], found["words"], *values.values(), strict=True)),
        ),
    ]
    for pair in report.pairs:
        names = [report.names[number] for number in pair]
        sides: list[Markup] = []
        for size, noun in ((1, "Words"), (2, "Pairs of words")):
            for some, title, other in zip(
                find_distinguishing_ngrams(frame, size, pair), names, names[::-1], strict=True
            ):
                if some:
                    rows = [(gram.text, gram.first, gram.second) for gram in some]
                    said = f"{noun} that {title} gets right more often"
                    said += f" than {other}" if len(report.pairs) > 1 else ""
                    sides.append(
                        make_element(
                            "div", make_element("h3", said), render_table((noun, *names), rows)
                        )
                    )
        parts.append(make_element("div", *sides, class_="sides"))
    return parts


def render_marked_errors(report: Report) -> list[Markup]:
    """Return the errors that raters marked: their cost, their kinds, and the raters' agreement."""
    judged = [one.judged for one in report.written]
    if not any(judged):
        return []
    rows = []
    for one in report.written:
        all_of_it = [judgement for some in one.judged.values() for judgement in some]
        raters = {judgement.rater for judgement in all_of_it}
        costs = [np.mean([each.mqm for each in some]) for some in one.judged.values()]
        mean = float(np.mean(costs)) if costs else np.nan
        rows.append((one.title, len(one.judged), len(raters), mean))
    about = (
        "Cost by MQM: neutral 0, minor 1 (punctuation 0.1), major 5 (no translation 25), critical"
        " 25. An example has the mean of its raters, and a system the mean of its examples."
    )
    parts = [
        make_element("p", about),
        render_table(("System", "Outputs judged", "Raters", "Cost by MQM"), rows),
    ]
    kinds = count_error_kinds(judged)
    if kinds:
        lines = [(category, severity, *counts) for category, severity, counts in kinds[:KINDS]]
        heads = ("Category", "Severity", *report.names)
        parts.append(render_table(heads, lines))
    shown = [one for by_place in judged for some in by_place.values() for one in some]
    return [*parts, *_render_agreement(compute_agreement(shown))]


def _render_agreement(found: Sequence[Agreement]) -> list[Markup]:
    if not found:
        return [
            make_element("p", "No output has two ratings yet, so agreement cannot be computed.")
        ]
    lines = [(one.about, one.alpha, one.raters, one.units) for one in found]
    heads = ("Agreement on", "Krippendorff's alpha", "Raters", "Rated by two or more")
    about = "1 is full agreement, 0 is agreement by chance."
    return [make_element("p", about), render_table(heads, lines)]
