"""The results of an analysis: scores by bucket, comparisons, ratings, and the whole page.

`draw_results` in the last section draws the others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd
import streamlit as st

from areaviz.app.texts import draw_lazy_expander, draw_text_table, escape_markdown
from areaviz.backend.backend import Backend
from areaviz.cards.card import Card
from areaviz.draw.charts import draw_bars
from areaviz.draw.labels import escape_controls, format_three_digits, number_text
from areaviz.sets.app.error_marking import draw_alias_key, drop_measures
from areaviz.sets.app.examples import draw_examples_table, draw_open_example, draw_table_download
from areaviz.sets.app.filter import (
    Column,
    draw_failing_filter,
    draw_filter_table,
    draw_kept_filter,
    draw_metadata_filter,
    draw_search_and_filter,
    format_run_mark,
    read_mark_number,
    sort_rows,
)
from areaviz.sets.app.notes import draw_errors_import_export, draw_notes_import_export
from areaviz.sets.app.state import (
    AnalysePage,
    RowFilter,
    Systems,
    build_examples_table,
    can_write,
    clear_filter,
    compute_figures,
    draw_download_button,
    filter_rows,
    list_judgements,
    open_note_store,
)
from areaviz.sets.app.themes import (
    draw_slice_filter,
    draw_slice_menu,
    draw_slice_table,
    draw_themes,
    list_known_causes,
    list_slices,
    list_value_slices,
)
from areaviz.sets.buckets import (
    BUCKETINGS,
    Frequency,
    Gram,
    bucket_by_metadata,
    bucket_by_values,
    bucket_table,
    build_word_table,
    compare_corpus_scores,
    count_wins,
    find_distinguishing_ngrams,
    list_bucketings,
    mean_change,
)
from areaviz.sets.notes.notes import Judgement
from areaviz.sets.report import MAX_SYSTEMS, Report, report_page
from areaviz.sets.table import (
    WHOLE_SET_METRICS,
    average_ratings,
    compute_agreement,
    count_error_kinds,
    group_by_example,
    list_measures,
    list_metadata_columns,
    with_changes,
    with_scores,
)
from areaviz.sets.themes.themes import Themes

# Scores by bucket: by length, difficulty and word frequency.
#
# If the user clicks a bar or a row, the table of examples shows only the examples of that bucket.


# Keys of widgets.
BUCKETS_KEY, TABLE_KEY = "buckets", "analyse_bucket_table"
WORD_FREQUENCY, SORTING_MEASURE = "words", "measure"
CORPUS_SCORES = {"corpus_bleu": "BLEU of the bucket", "corpus_chrf": "chrF of the bucket"}


@dataclass(frozen=True, slots=True)
class Buckets:
    """The content of the chart and table of buckets.

    Args:
        table: one row per bucket, with its name, the indices of its examples and a column per run.
        kind: how examples are sorted into buckets: a key of `BUCKETINGS`, `WORD_FREQUENCY`,
            `SORTING_MEASURE` or the name of a metadata column.
        column: the prefix of the shown columns. The number of the run follows the prefix.
        size_column: the column with the size of each bucket.
        axes: the titles of the x and y axes.
        title: the title of the chart.
    """

    table: pd.DataFrame
    kind: str
    column: str
    size_column: str
    axes: tuple[str, str]
    title: str

    def build_filter(self, number: int) -> RowFilter:
        """Return the examples of the bucket with this number, as a filter."""
        row = self.table.iloc[number]
        title = f"{row['bucket']} ({self.axes[0]})"
        return RowFilter(title, tuple(row["places"]), (f"{BUCKETS_KEY} {self.kind}", number))


def draw_bucket_section(
    page: AnalysePage, table: pd.DataFrame, titles: Sequence[str], corpus: Frequency | None
) -> None:
    """Draw scores and attention for each bucket of examples."""
    if table.empty:
        return
    # Compute scores only while the expander is open, because a thousand examples take a second.
    opened = draw_lazy_expander("Scores by length and frequency", BUCKETS_KEY)
    if not opened.open:
        return
    with opened:
        draw_buckets(page, table, titles, corpus)


def draw_buckets(
    page: AnalysePage, table: pd.DataFrame, titles: Sequence[str], corpus: Frequency | None
) -> None:
    """Draw the choice of buckets, and their scores as bars and as a table."""
    shown = _choose_buckets(page, table, len(titles), corpus)
    _draw_chart(page, shown, titles)
    _draw_table(page, shown, titles)


def _choose_buckets(
    page: AnalysePage, table: pd.DataFrame, runs: int, corpus: Frequency | None
) -> Buckets:
    """Let the user choose buckets and a metric, and compute the buckets."""
    kinds = {name: how.title for name, how in BUCKETINGS.items()}
    if "chrf_0" not in table:
        del kinds["score"]
    has_references = bool((table["reference"] != "").any())
    names = dict(CORPUS_SCORES) if has_references else {}
    if has_references:
        kinds[WORD_FREQUENCY] = "Frequency of words"
    measures = list_measures(table)
    names |= {name: f"{measure.title}, mean" for name, measure in measures.items()}
    # Offer buckets by the values of the metric that sorts the table, such as a score from a file.
    own, column = None, page.state.measure
    if column in table:
        run = column.rpartition("_")[2]
        mark = "change" if run == "change" else f"({int(run) + 1})" if runs > 1 else ""
        title = f"{measures[column.rpartition('_')[0]].title} {mark}".strip()
        own = bucket_by_values(table, column, title)
        if own:
            kinds[SORTING_MEASURE] = title
    ways = dict(list_bucketings(corpus))
    for name, title in list_metadata_columns(table).items():
        if by := bucket_by_metadata(table, name, title):
            ways[name], kinds[name] = by, title
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        kind = page.choose_segment("Sort by", "bucket", kinds)
        if kind == WORD_FREQUENCY:
            who = "references have" if corpus is None else "the corpus has"
            return Buckets(
                build_word_table(table, runs, corpus),
                kind,
                "f1",
                WORD_FREQUENCY,
                (f"how often {who} the word", "F-measure"),
                "F-measure of words, by the frequency of the words",
            )
        shown = page.choose(st.selectbox, "Show", "bucket_shown", names, width=260)
    is_corpus = shown in CORPUS_SCORES
    how = own if own and kind == SORTING_MEASURE else ways[kind]
    found = bucket_table(table, how, "length" if is_corpus else shown, runs)
    title = f"{names[shown]} by {how.caption}"
    axes = how.about, names[shown]
    return Buckets(found, kind, shown if is_corpus else "mean", "examples", axes, title)


def _draw_chart(page: AnalysePage, shown: Buckets, titles: Sequence[str]) -> None:
    """Draw the bars. A click on a bar filters the examples."""
    key = f"analyse_bucket_bars_{shown.kind}_{page.state.filter_clears}"

    def click() -> None:
        points = st.session_state[key]["selection"]["points"]
        if points:
            filter_rows(page, shown.build_filter(read_mark_number(points[0]["customdata"])))
        else:
            clear_filter(page)

    values = {
        name: list(shown.table[column]) for column, name in _list_run_columns(shown, titles).items()
    }
    st.plotly_chart(
        draw_bars(list(shown.table["bucket"]), values, shown.axes, shown.title),
        key=key,
        on_select=click,
        selection_mode="points",
        config={"displayModeBar": False},
        alt=shown.title,
    )


def _draw_table(page: AnalysePage, shown: Buckets, titles: Sequence[str]) -> None:
    """Draw the numbers as a table. A click on a row filters the examples."""
    columns = [Column("Bucket"), Column(shown.size_column.capitalize(), is_number=True)]
    cells = [
        list(shown.table["bucket"]),
        [f"{count:,}" for count in shown.table[shown.size_column]],
    ]
    for name, title in _list_run_columns(shown, titles).items():
        columns.append(Column(title, is_number=True))
        cells.append([number_text(value, ".3g") for value in shown.table[name]])
    st.caption("Click a bar or a row to see only its examples in the table of examples.")
    draw_filter_table(
        page, shown.title, columns, list(zip(*cells, strict=True)), shown.build_filter, TABLE_KEY
    )


def _list_run_columns(shown: Buckets, titles: Sequence[str]) -> Mapping[str, str]:
    """Return the columns of the runs with their titles."""
    return {f"{shown.column}_{run}": title for run, title in enumerate(titles)}


# Comparison of two systems: wins, a test for chance differences, and telling words.


# Keys of widgets.
COMPARISON_KEY, WORDS_KEY = "against", "analyse_words"
# Session key: the last test of the whole dataset, with the outputs that it compared.
TESTED_OUTPUTS_KEY = "analyse_test"
NGRAM_SIZES = {1: "1", 2: "2", 3: "3", 4: "4"}


def choose_pair(page: AnalysePage, table: pd.DataFrame, titles: Sequence[str]) -> pd.DataFrame:
    """Let the user choose two of several systems. Return the table with their changes."""
    if len(titles) < 3:
        page.set(first=0, second=1)
        return table
    names = {number: escape_controls(title) for number, title in enumerate(titles)}
    with st.container(horizontal=True, gap="medium"):
        second = page.choose(st.selectbox, "Compare", "second", names, width=260)
        others = {number: name for number, name in names.items() if number != second}
        first = page.choose(st.selectbox, "With", "first", others, width=260)
    st.caption("Changes, wins and losses are those of the first of these against the second.")
    return with_changes(table, first, second)


def _list_pair_marks(page: AnalysePage) -> tuple[str, str]:
    """Return the marks of the two compared systems, such as "(1)" and "(3)"."""
    return f"({page.state.first + 1})", f"({page.state.second + 1})"


def draw_system_comparison(page: AnalysePage, table: pd.DataFrame, titles: Sequence[str]) -> None:
    """Draw how often each of two systems wins, whether this may be chance, and telling words."""
    if len(titles) < 2 or table.empty:
        return
    which = "two" if len(titles) == 2 else "two chosen"
    opened = draw_lazy_expander(f"Compare the {which} systems", COMPARISON_KEY)
    if not opened.open:
        return
    with opened:
        draw_wins_and_words(page, table, titles)


def draw_wins_and_words(page: AnalysePage, table: pd.DataFrame, titles: Sequence[str]) -> None:
    """Draw wins and mean changes of two systems, and words that one matches more often."""
    pair = page.state.first, page.state.second
    names = [escape_markdown(titles[number]) for number in pair]
    st.caption(
        f"Wins are examples in which {names[1]} is better than {names[0]}. The interval holds"
        " the mean change of 95 % of 1,000 sets drawn anew from these examples (bootstrap,"
        " seed 1). If it does not contain 0, the change is hardly chance."
    )
    draw_text_table(_build_change_table(table))
    if bool((table["reference"] != "").any()):
        st.button("Test BLEU and chrF of the whole set", on_click=_draw_test, args=(table, pair))
        _run_test(table, pair)
        _draw_words(page, table)


def _build_change_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return wins and mean changes, one row per metric."""
    rows = []
    for name, measure in list_measures(table).items():
        change = table[f"{name}_change"].to_numpy(float)
        counts = [f"{count:,}" for count in count_wins(change, measure.better)]
        if not measure.better:
            counts[0] = counts[2] = "–"
        mean, low, high = (number_text(value, "+.3g") for value in mean_change(change))
        rows.append((measure.title, *counts, mean, f"{low} to {high}"))
    heads = ["Measure", "Wins", "Ties", "Losses", "Mean change", "95 % interval"]
    return pd.DataFrame(rows, columns=heads)


def _draw_test(table: pd.DataFrame, pair: tuple[int, int]) -> None:
    with st.spinner("Drawing 1,000 sets"):
        st.session_state[TESTED_OUTPUTS_KEY] = (
            _make_outputs_key(table, pair),
            compare_corpus_scores(table, pair),
        )


def _run_test(table: pd.DataFrame, pair: tuple[int, int]) -> None:
    mark, found = st.session_state.get(TESTED_OUTPUTS_KEY, (None, {}))
    if mark != _make_outputs_key(table, pair):
        return
    for name, title in (("bleu", "BLEU"), ("chrf", "chrF")):
        one = found[name]
        st.caption(
            f"{title}: {one.baseline:.2f} and {one.system:.2f}, a difference of"
            f" {one.difference:+.2f}. If the models were equally good, a difference as large in"
            f" either direction would have probability {one.p_value:.3f} (two-sided approximate"
            " randomisation by sacrebleu, 1,000 draws)."
        )


def _make_outputs_key(table: pd.DataFrame, pair: tuple[int, int]) -> int:
    """Return a key that identifies these outputs."""
    first, second = (tuple(table[f"output_{run}"]) for run in pair)
    return hash((tuple(table.index), first, second))


def _draw_words(page: AnalysePage, table: pd.DataFrame) -> None:
    """Draw the words that one system matches more often. A click filters the examples."""
    size = page.choose_segment("Words in a row", "gram", NGRAM_SIZES)
    sides = find_distinguishing_ngrams(table, size, (page.state.first, page.state.second))
    marks = _list_pair_marks(page)
    for side, (column, found) in enumerate(zip(st.columns(2, gap="medium"), sides, strict=True)):
        with column:
            right, wrong = marks if side == 0 else marks[::-1]
            st.caption(f"Words that {right} gets right more often than {wrong}")
            if found:
                _draw_word_table(page, found, side, size)
            else:
                st.caption("none")


def _draw_word_table(page: AnalysePage, found: Sequence[Gram], side: int, size: int) -> None:
    """Draw a table of words. A click on a row filters the examples."""
    marks = _list_pair_marks(page)
    columns = [Column("Words")]
    columns += [Column(title, is_number=True) for title in (*marks, "Examples")]
    cells = []
    for gram in found:
        counts = (gram.first, gram.second, len(gram.examples))
        cells.append((gram.text, *[f"{count:,}" for count in counts]))

    def build_filter(number: int) -> RowFilter:
        gram, chart = found[number], f"{WORDS_KEY} {side} {size} {marks}"
        return RowFilter(f"with “{gram.text}” right in one alone", gram.examples, (chart, number))

    draw_filter_table(
        page, f"Words, side {side + 1}", columns, cells, build_filter, f"{WORDS_KEY}_{side}"
    )


# Comparison of a model's alignment and pointing with the same network before training.
#
# An analysis runs only trained models. The values of the untrained network, and of guessing by the
# position alone, were measured once on the test examples of the model's card.


ALIGNMENT, POINTING = "alignment_error", "pointing"
"""The metrics that need a comparison."""


def describe_untrained_models(cards: Sequence[Card], measured: Collection[str]) -> Iterator[str]:
    """Yield a sentence for every model whose card has the untrained network's values.

    Args:
        cards: The cards of the compared models.
        measured: The metrics of the analyses.
    """
    for card in cards:
        links = card.attention.get("word links", {})
        best = card.attention.get("best alignment", {})
        if ALIGNMENT in measured and "aer_untrained" in links:
            blind = (
                f", and by the position alone {_format_share(best, 'best_position')}"
                if best
                else ""
            )
            yield (
                f"On the test captions of its card, {card.name} has an alignment error of"
                f" {_format_share(links, 'aer')} in its best head,"
                f" {_format_share(links, 'aer_untrained')} before training{blind}."
            )
        looks = _find_test_attention(card)
        if POINTING in measured and "pointing_untrained" in looks:
            yield (
                f"On the test pictures of its card, {card.name} points right in"
                f" {_format_share(looks, 'pointing')} in its best head,"
                f" {_format_share(looks, 'pointing_untrained')} before training, and by the"
                f" position alone {_format_share(looks, 'pointing_position')}."
            )


def _find_test_attention(card: Card) -> Mapping[str, float]:
    """Return the card's measurements of where the model looks on test examples, {} for none."""
    for place, values in card.attention.items():
        if place.endswith(", test"):
            return values
    return {}


def _format_share(values: Mapping[str, float], key: str) -> str:
    return f"{values[key]:.1%}"


# Results of rating: metrics of examples, agreement, and the report.


MAX_ERROR_KINDS = 12


def build_scored_table(systems: Systems, judgements: Sequence[Judgement]) -> pd.DataFrame:
    """Return the table of examples with the scores from files and from raters."""
    more = []
    for analysis, judged in zip(
        systems.analyses, _list_current_ratings(systems, judgements), strict=True
    ):
        scores = average_ratings(judged, len(systems.dataset.examples))
        more.append({**analysis.scores, **scores})
    return with_scores(build_examples_table(systems.runs), more)


def _list_current_ratings(
    systems: Systems, judgements: Sequence[Judgement]
) -> list[dict[int, list[Judgement]]]:
    """Return the ratings of each system's present outputs, by index of the example."""
    names = zip(systems.names, systems.runs, strict=True)
    return [group_by_example(judgements, name, run.rows) for name, run in names]


def draw_rater_agreement(systems: Systems, judgements: Sequence[Judgement]) -> None:
    """Draw a summary of the marked errors: their kinds, and the raters' agreement."""
    judged = _list_current_ratings(systems, judgements)
    if not any(judged):
        return
    with st.expander("Errors by kind, and agreement", key="raters", type="compact"):
        st.caption(
            "Errors cost by MQM: neutral 0, minor 1 (punctuation 0.1), major 5 (no translation 25),"
            " critical 25."
        )
        kinds = []
        for category, severity, counts in count_error_kinds(judged)[:MAX_ERROR_KINDS]:
            kinds.append((category, severity, *map(str, counts)))
        heads = ["Category", "Severity"]
        for run, one in enumerate(systems.analyses):
            heads.append(f"{one.title}{format_run_mark(run, len(systems))}")
        draw_text_table(pd.DataFrame(kinds, columns=heads))
        _draw_agreement([one for some in judged for each in some.values() for one in each])


def _draw_agreement(judgements: Sequence[Judgement]) -> None:
    found = compute_agreement(judgements)
    if not found:
        st.caption("No output was judged by two raters, so nobody knows how far they agree.")
        return
    rows = []
    for one in found:
        alpha = number_text(one.alpha, ".3f")
        rows.append((one.about, alpha, str(one.raters), f"{one.units:,}"))
    heads = ["Agreement on", "Krippendorff's alpha", "Raters", "Rated by two or more"]
    draw_text_table(pd.DataFrame(rows, columns=heads))
    st.caption("1 is full agreement, 0 is agreement by chance.")


def draw_report_download(
    page: AnalysePage,
    systems: Systems,
    judgements: Sequence[Judgement],
    table: pd.DataFrame,
    corpus: Frequency | None,
    themes: Sequence[Themes] = (),
) -> None:
    """Draw a button that downloads the analysis of these examples as one HTML page."""
    made = Report(
        systems.dataset,
        systems.names,
        [one.title for one in systems.analyses],
        [run.rows for run in systems.runs],
        [one.scores for one in systems.analyses],
        judgements,
        [int(place) for place in table.index],
        page.state.measure.rpartition("_")[0],
        corpus,
        themes,
        list_known_causes(page.state.themes),
        page.state.first,
    )
    store = open_note_store().judgements

    def build_page() -> bytes:
        # Other users may have marked errors since this page was drawn.
        now = replace(made, judgements=store.list_all(made.dataset.digest))
        return report_page(now).encode("utf-8", "replace")

    draw_download_button(
        "Report as a page",
        build_page,
        "areaviz-report.html",
        "text/html",
        "analyse_report",
        disabled=table.empty or len(systems) > MAX_SYSTEMS,
        help="Figures, buckets, wins and losses, and examples with their errors, in one file. A"
        f" report compares at most {MAX_SYSTEMS} systems.",
    )


# The results of an analysis: scores of the whole dataset, filters, table and open example.


def draw_results(
    page: AnalysePage, backend: Backend, systems: Systems, corpus: Frequency | None = None
) -> None:
    """Draw all results. Word frequencies come from the corpus, or else from the references."""
    dataset, runs, titles = systems.dataset, systems.runs, systems.titles
    # A saved slice has priority over a metadata value with an equal name.
    slices = {**list_value_slices(dataset), **list_slices(dataset.digest)}
    judgements = list_judgements(dataset.digest)
    whole, themes = build_scored_table(systems, judgements), tuple[Themes, ...]()
    if page.state.is_blind:
        whole = drop_measures(whole)
    else:
        st.header("The whole set", anchor=False)
        _draw_whole_set(systems, whole)
        _draw_untrained_comparison(backend, systems, whole)
        draw_alias_key(systems)
        draw_rater_agreement(systems, judgements)
        draw_slice_table(runs, slices)
        whole = choose_pair(page, whole, titles)
        themes = draw_themes(page, backend, systems, whole)
    st.header("Example by example", anchor=False)
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        table = draw_metadata_filter(page, draw_slice_filter(page, whole, slices))
    found = draw_search_and_filter(page, table, len(runs))
    chosen = sort_rows(page, draw_failing_filter(page, draw_kept_filter(page, found)))
    draw_examples_table(page, chosen, len(runs))
    if len(chosen):
        with st.container(horizontal=True):
            if can_write():
                draw_slice_menu(dataset.digest, chosen)
            if not page.state.is_blind:
                draw_table_download(page, chosen, len(runs))
                draw_report_download(page, systems, judgements, found, corpus, themes)
    draw_open_example(page, backend, systems, [int(place) for place in chosen.index], whole)
    if not page.state.is_blind:
        draw_bucket_section(page, found, titles, corpus)
        draw_system_comparison(page, found, titles)
    if can_write():
        draw_notes_import_export(systems)
        draw_errors_import_export(systems, judgements)


def _draw_whole_set(systems: Systems, table: pd.DataFrame) -> None:
    titles = systems.titles
    found = pd.DataFrame([compute_figures(run) for run in systems.runs])
    whole = found[[name for name in WHOLE_SET_METRICS if name in found]].map(format_three_digits)
    whole = whole.rename(columns=WHOLE_SET_METRICS)
    whole.insert(0, "System", titles)
    draw_text_table(whole)
    measures = list_measures(table)
    if not measures:
        # No example could be run.
        return
    with st.expander("All measures, mean of the examples", key="analyse_means", type="compact"):
        columns = {"Measure": [one.title for one in measures.values()]}
        for run, title in enumerate(titles):
            means = [table[f"{name}_{run}"].mean() for name in measures]
            columns[title] = list(map(format_three_digits, means))
        columns["What it is"] = [one.about for one in measures.values()]
        draw_text_table(columns)


def _draw_untrained_comparison(backend: Backend, systems: Systems, table: pd.DataFrame) -> None:
    """Say what the models reach before training, if alignment or pointing was measured."""
    named = {one.request.model for one in systems.analyses if one.request is not None}
    cards = [card for name, card in backend.models().items() if name in named]
    for sentence in describe_untrained_models(cards, list_measures(table)):
        st.caption(escape_markdown(sentence))
