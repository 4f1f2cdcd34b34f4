"""The report of an analysis as one HTML file, from its content to the page.

The content and the building blocks come first. Figures, examples and themes follow, and the
last section joins them.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd

from areaviz import __version__
from areaviz.draw.charts import draw_bars_for_print
from areaviz.draw.labels import (
    Markup,
    format_three_digits,
    join_markup,
    make_document,
    make_element,
    number_text,
    pluralise,
)
from areaviz.draw.view import encode_figure
from areaviz.samples.dataset import Dataset, Example
from areaviz.sets.buckets import (
    BUCKETINGS,
    Frequency,
    bucket_by_metadata,
    bucket_table,
    build_word_table,
    compare_corpus_scores,
    count_wins,
    find_distinguishing_ngrams,
    find_joint_failures,
    list_bucketings,
    mean_change,
)
from areaviz.sets.measures import Measure
from areaviz.sets.notes.notes import OUTPUT, SEVERITIES, SOURCE, ErrorSpan, Judgement
from areaviz.sets.run import Row
from areaviz.sets.table import (
    WHOLE_SET_METRICS,
    Agreement,
    average_ratings,
    build_table,
    compute_agreement,
    count_error_kinds,
    group_by_example,
    list_measures,
    list_metadata_columns,
    summarise_table,
    with_changes,
    with_scores,
)
from areaviz.sets.themes.causes import Causes, make_cause_key
from areaviz.sets.themes.themes import (
    METHOD,
    NO_THEMES,
    Themes,
    describe_rare_conditions,
    list_title,
    split_parts,
)
from areaviz.trace.errors import InputError
from areaviz.views.grid.grid import encode_webp
from areaviz.views.parts import read_text

# The content of a report: a dataset, its systems, and their ratings.


# Maximum number of systems in a report, because more columns cannot be compared at a glance. The
# page allows six systems and a model.
MAX_SYSTEMS = 8
# The metric that tells good examples from bad ones if the dataset has references.
DEFAULT_METRIC = "chrf"


@dataclass(frozen=True, slots=True)
class SystemOutputs:
    """A system's outputs for a dataset, and their ratings."""

    # The displayed name, with a number if there are several systems.
    title: str
    rows: Mapping[int, Row]
    judged: Mapping[int, Sequence[Judgement]]


@dataclass(frozen=True)
class Report:
    """Everything that a report shows.

    Args:
        dataset: the dataset.
        systems: the names of the systems in ratings.
        titles: the displayed names of the systems.
        runs: the rows of each system.
        scores: additional metrics of each system by name (`with_scores`).
        judgements: the ratings of the dataset.
        places: indices of the reported examples, None for all.
        measure: the metric that tells good examples from bad ones, "" for chrF.
        corpus: word frequencies of a corpus. None uses those of the references.
        themes: themes of failure, () if they were not computed.
        causes: findings about the themes in the attention of the models.
        baseline: the number of the system that the others are compared with, from 0.
    """

    dataset: Dataset
    systems: Sequence[str]
    titles: Sequence[str]
    runs: Sequence[Mapping[int, Row]]
    scores: Sequence[Mapping[str, Sequence[float]]]
    judgements: Sequence[Judgement] = ()
    places: Sequence[int] | None = None
    measure: str = ""
    corpus: Frequency | None = None
    themes: Sequence[Themes] = ()
    causes: Causes = field(default_factory=dict)
    baseline: int = 0

    @cached_property
    def written(self) -> list[SystemOutputs]:
        """The outputs and ratings of each system."""
        found = []
        for number, system in enumerate(self.systems):
            title = self.titles[number]
            numbered = f"({number + 1}) {title}" if len(self.systems) > 1 else title
            judged = group_by_example(self.judgements, system, self.runs[number])
            found.append(SystemOutputs(numbered, self.runs[number], judged))
        return found

    @cached_property
    def frame(self) -> pd.DataFrame:
        """All examples with all metrics."""
        made = build_table(self.dataset, self.runs)
        more = []
        for one, scores in zip(self.written, self.scores, strict=True):
            more.append({**scores, **average_ratings(one.judged, len(self.dataset.examples))})
        made = with_scores(made, more)
        return made if self.places is None else made.loc[made.index.isin(self.places)]

    @cached_property
    def measures(self) -> Mapping[str, Measure]:
        """The metrics of the table."""
        return list_measures(self.frame)

    @cached_property
    def leading(self) -> str:
        """The metric that tells good examples from bad ones, "" if there is none."""
        known = [name for name, one in self.measures.items() if one.better]
        for name in (self.measure, DEFAULT_METRIC):
            if name in known:
                return name
        return next(iter(known), "")

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The baseline with each other system, by their numbers."""
        numbers = range(len(self.runs))
        return [(self.baseline, number) for number in numbers if number != self.baseline]

    @property
    def everybody(self) -> str:
        """The word for all systems together: "Both" for two systems, "All" otherwise."""
        return "Both" if len(self.runs) == 2 else "All"

    @cached_property
    def failing(self) -> tuple[tuple[int, ...], float]:
        """The examples where all systems fail, and the limit, see `find_joint_failures`."""
        if len(self.runs) < 2 or not self.leading:
            return (), float("nan")
        return find_joint_failures(self.frame, self.leading, self.measures[self.leading].better)

    @property
    def names(self) -> list[str]:
        """The displayed names of the systems."""
        return [one.title for one in self.written]


# Building blocks of a report: tables, charts, and examples with marked errors.


MAX_REFERENCES = 3


def render_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Markup:
    """Return an HTML table with right-aligned numbers."""
    lines = [make_element("tr", *(make_element("th", head, scope="col") for head in columns))]
    for row in rows:
        cells = []
        for cell in row:
            is_number = isinstance(cell, int | float)
            text = format_three_digits(cell) if isinstance(cell, int | float) else str(cell)
            cells.append(make_element("td", text, class_="number" if is_number else "word"))
        lines.append(make_element("tr", *cells))
    return make_element("div", make_element("table", *lines), class_="scrolled")


def render_bar_chart(
    names: Sequence[str], values: Mapping[str, Sequence[float]], axes: tuple[str, str], title: str
) -> Markup:
    """Return a bar chart as an image in the page, or only its title if there is a single bucket."""
    if len(names) < 2:
        return make_element("h3", title)
    drawn = encode_figure(draw_bars_for_print(names, values, axes, title), "svg")
    source = f"data:image/svg+xml;base64,{base64.b64encode(drawn).decode()}"
    return make_element("img", class_="figure", alt=f"{title}, in the table below", src=source)


def render_example_card(
    dataset: Dataset, place: int, systems: Sequence[SystemOutputs], figures: Sequence[str]
) -> Markup:
    """Return an example: its input, every system's output with marked errors, and references.

    Args:
        dataset: the dataset with the example.
        place: the index of the example.
        systems: the systems with their outputs.
        figures: the metrics of each system as text.
    """
    example = dataset.examples[place]
    parts = [make_element("h3", f"Example {example.name}")]
    marks = [one for system in systems for one in system.judged.get(place, ())]
    if example.file:
        parts.append(_render_picture(dataset, example, marks))
    if example.text:
        parts += [
            make_element("p", "Source", class_="label"),
            make_element("p", example.text, class_="text"),
        ]
    for judgement in marks:
        if any(span.side == SOURCE for span in judgement.spans):
            parts.append(make_element("p", f"Source, by {judgement.rater}", class_="label"))
            parts.append(_render_marked_text(judgement.source, judgement.spans, SOURCE))
    for system, measured in zip(systems, figures, strict=True):
        parts += _render_output(system, place, measured)
    for reference in example.references[:MAX_REFERENCES]:
        parts.append(make_element("p", "Reference", class_="label"))
        parts.append(make_element("p", reference, class_="text"))
    return make_element("article", *parts, class_="example")


def _render_output(system: SystemOutputs, place: int, measured: str) -> list[Markup]:
    """Return the output of a system, once per rater if it was rated."""
    row = system.rows[place]
    parts = [make_element("p", f"{system.title} · {measured}", class_="label")]
    judged = system.judged.get(place, ())
    if not judged:
        return [*parts, make_element("p", row.output or row.error or "(nothing)", class_="text")]
    for one in judged:
        score = "" if one.score is None else f", score {format_three_digits(one.score)}"
        about = f"{one.rater}{score}, cost by MQM {format_three_digits(one.mqm)}"
        parts.append(make_element("p", about, class_="label"))
        parts.append(_render_marked_text(one.output, one.spans, OUTPUT))
        errors = [
            make_element("li", one.describe(span), class_=span.severity) for span in one.spans
        ]
        parts += [make_element("ul", *errors)] if errors else []
    return parts


def _render_marked_text(text: str, spans: Sequence[ErrorSpan], side: str) -> Markup:
    """Return a text with the errors of one side marked.

    Where errors overlap, the worst one is shown.
    """
    here = [span for span in spans if span.side == side]
    cuts = sorted({0, len(text), *(span.start for span in here), *(span.end for span in here)})
    parts: list[str] = []
    for start, end in zip(cuts, cuts[1:], strict=False):
        over = [span for span in here if span.start <= start and end <= span.end]
        if over:
            worst = max((span.severity for span in over), key=SEVERITIES.index)
            about = "; ".join(f"{span.severity} {span.category}".strip() for span in over)
            parts.append(make_element("mark", text[start:end], class_=worst, title=about))
        else:
            parts.append(text[start:end])
    return make_element("p", join_markup(parts), class_="text")


def _render_picture(dataset: Dataset, example: Example, marks: Sequence[Judgement]) -> Markup:
    """Return the picture with the boxes of marked errors."""
    picture = dataset.picture(example)
    if picture is None:
        return Markup()
    source = f"data:image/webp;base64,{base64.b64encode(encode_webp(picture).tobytes()).decode()}"
    image = make_element("img", alt=f"The picture of example {example.name}", src=source)
    boxes = []
    for span in (span for one in marks for span in one.spans):
        if span.box:
            left, top, right, bottom = span.box
            size = {"width": f"{right - left:.4f}", "height": f"{bottom - top:.4f}"}
            corner = {"x": f"{left:.4f}", "y": f"{top:.4f}"}
            boxes.append(make_element("rect", class_=span.severity, **corner, **size))
    drawn = make_element("svg", *boxes, viewBox="0 0 1 1", preserveAspectRatio="none")
    return make_element("div", image, drawn, class_="shown")


# Tables and charts of a report: the whole dataset, wins, buckets, words, and rated errors.


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


# The examples of a report: joint failures, examples where one system wins, and rated examples.


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


# Themes of failure in a report: kinds of examples in which a system is worse.


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


# The report of an analysis: one HTML file that needs neither the app nor a network.


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
