"""Tables of results for README.md and docs, written from the cards.

The tables come first. `figures` at the end is the command that writes them into the documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from areaviz.app.key_forms import (
    FORM_TABLES,
    FormTable,
    describe_baselines,
    list_missing_runs,
    read_forms,
)
from areaviz.cards.card import ATTENDING_SITE, Card, TargetResult, judge_targets, read_cards
from areaviz.cards.tasks import LOOK_MEASURES, TASKS, Task
from areaviz.samples.paths import CHECKPOINTS, FINDINGS, README, RESULTS
from areaviz.trace.derived import BestAlignment, describe_heads
from areaviz.trace.errors import InputError
from areaviz.trace.safe_files import write_whole

# Tables of where models look, next to uninformed baselines, for docs/results.md.


ON_TEST = ", test"
"""Suffix of the entries of `Card.attention` that were measured on the test set."""


def look_lines(task: str, cards: Sequence[Card]) -> Iterator[str]:
    """Yield a question, a table with a row per model and metric, and an explanation of it.

    Args:
        task: A key of `TASKS`. There are no lines for a task that only reads or writes text.
        cards: The cards of the task. Models that were not measured have no row.
    """
    looks = LOOK_MEASURES.get(task)
    rows = list(_iterate_rows(looks.shares, cards)) if looks else []
    if not looks or not rows:
        return
    endings = [end for end in looks.beside if any(key + end in found for _, key, found in rows)]
    titles = ["Model", "Share", "Measured", *(looks.beside[end] for end in endings)]
    yield from (f"**{looks.question}**", "", _format_row(titles))
    yield _format_row(["---", "---", *["--:"] * (len(titles) - 2)])
    for name, key, found in rows:
        values = [found.get(key + end) for end in ("", *endings)]
        yield _format_row([f"`{name}`", looks.shares[key], *map(_format_look_share, values)])
    yield from ("", looks.meaning, "")


def _iterate_rows(
    shares: Mapping[str, str], cards: Sequence[Card]
) -> Iterator[tuple[str, str, Mapping[str, float]]]:
    for card in cards:
        for place, found in card.attention.items():
            if place.endswith(ON_TEST):
                yield from ((card.name, key, found) for key in shares if key in found)


def _format_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _format_look_share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


# Tables of results in Markdown, written from the cards for README.md and docs/results.md.


_NOT_MEASURED = "not measured"


def format_summary(cards: Sequence[Card]) -> list[str]:
    """Return a small table with the model that each page shows first, and its regular twin.

    The twin is the model with the same `pair` and regular attention. If there is no card of the
    model that a task's page shows first, the table has a row for each model of the task.
    """
    lines = [
        format_markdown_row(["Task", "Model", "Metric", "Result", "Regular attention"]),
        format_markdown_row(["---"] * 3 + ["--:"] * 2),
    ]
    for task in TASKS.values():
        of_task = [card for card in cards if card.task == task.key and task.measures]
        for card in [card for card in of_task if card.name == task.opens] or of_task:
            lines.append(_format_summary_row(task, card, of_task))
    return lines


def format_results(cards: Sequence[Card]) -> list[str]:
    """Return the full tables: for each task a heading, a table, published results and targets."""
    by_name = {card.name: card for card in cards}
    lines: list[str] = []
    for task in TASKS.values():
        of_task = [card for card in cards if card.task == task.key]
        if not of_task:
            continue
        lines += ["", f"## {task.title}", "", f"{task.about}.".replace("..", "."), ""]
        if task.by_size:
            lines += [*_size_table(task, of_task), "", *_format_differences(task, of_task)]
            lines += _format_paper_tables(task, of_task)
        else:
            lines += _format_task_table(task, of_task)
        lines += ["", *look_lines(task.key, of_task)]
        lines += [*_format_published(task), *_format_other_datasets(task, of_task)]
        lines += _format_targets(of_task, by_name)
    return lines or ["No model is shipped yet."]


def format_markdown_row(cells: Sequence[str]) -> str:
    """Return one row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def _format_summary_row(task: Task, card: Card, of_task: Sequence[Card]) -> str:
    measure, name = next(iter(task.measures.items()))
    twins = [
        other
        for other in of_task
        if other.pair == card.pair and other.mechanism == "regular" and other.name != card.name
    ]
    ours = card.figures.get(task.headline, {}).get(measure)
    theirs = twins[0].figures.get(task.headline, {}).get(measure) if twins else None
    cells = [task.title, f"`{card.name}`: {card.title}", name]
    return format_markdown_row(
        [*cells, _format_value(task, measure, ours), _format_value(task, measure, theirs)]
    )


def _format_task_table(task: Task, cards: Sequence[Card]) -> Iterator[str]:
    """Yield a table with one row per model, or one per model and condition."""
    results = [card.figures.get(task.headline, {}) for card in cards]
    measures = [key for key in task.measures if any(key in result for result in results)]
    has_conditions = len(task.conditions) > 1
    heads = ["Model", "Attention", "Parameters", *(["Sees"] if has_conditions else [])]
    yield format_markdown_row([*heads, *(task.measures[key] for key in measures)])
    yield format_markdown_row(
        ["---", "---", "--:", *["---"] * has_conditions, *["--:"] * len(measures)]
    )
    for card, result in zip(cards, results, strict=True):
        for condition, values in task.by_condition(result).items():
            cells = [f"`{card.name}`", card.mechanism, f"{card.parameters:,}"]
            if has_conditions:
                cells.append(condition)
            yield format_markdown_row(
                [*cells, *(_format_value(task, key, values.get(key)) for key in measures)]
            )


def _format_value(task: Task, key: str, value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.2%}" if key in task.percent else f"{value:.{task.decimals.get(key, 2)}f}"


def _size_table(task: Task, cards: Sequence[Card]) -> Iterator[str]:
    """Yield a table of our results and the BLEU that the paper reports for the same size."""
    names = task.measures.values()
    heads = ["Model", "Size", "Attention", "Parameters", *names, "The paper's BLEU, other data"]
    yield format_markdown_row(heads)
    yield format_markdown_row(["---"] * 3 + ["--:"] * (len(heads) - 3))
    for card in cards:
        cells = [f"`{card.name}`", card.size, card.mechanism, f"{card.parameters:,}"]
        cells += [
            _format_number(_get_headline_value(task, card, measure)) for measure in task.measures
        ]
        yield format_markdown_row(
            [
                *cells,
                _format_number(_get_published_value(task, card)) + _format_significance(task, card),
            ]
        )


def _format_differences(task: Task, cards: Sequence[Card]) -> Iterator[str]:
    """Yield one line per pair of models that differ only in their attention."""
    pairs: dict[str, dict[str, Card]] = {}
    for card in cards:
        if card.pair:
            pairs.setdefault(card.pair, {})[card.mechanism] = card
    for pair in sorted(pairs):
        regular, area = pairs[pair].get("regular"), pairs[pair].get("area")
        if regular and area:
            yield _format_difference(task, regular, area)


def _format_difference(task: Task, regular: Card, area: Card) -> str:
    first = next(iter(task.measures))
    ours = _format_change(
        _get_headline_value(task, regular, first), _get_headline_value(task, area, first)
    )
    where = f"{regular.level.capitalize()} level" + (f", {regular.size}" if regular.size else "")
    published = _get_published_value(task, regular), _get_published_value(task, area)
    theirs = f", and by {_format_change(*published)} in the paper."
    if None in published:
        theirs = ". The paper has no such size."
    return f"- {where}: areas change BLEU by {ours} here{theirs}"


def _format_paper_tables(task: Task, cards: Sequence[Card]) -> Iterator[str]:
    """Yield a table per kind of network, with the paper's result and ours for each size."""
    for network, reported in task.by_network.items():
        yield ""
        heads = ["Level", f"{network}, size", "Paper, regular", "Paper, area"]
        yield format_markdown_row([*heads, "Ours, regular", "Ours, area"])
        yield format_markdown_row(["---"] * 2 + ["--:"] * 4)
        for (level, size), paper in reported.items():
            cells = [level, size, _format_number(paper.regular)]
            cells.append(_format_number(paper.area) + paper.area_sign.replace("*", r"\*"))
            for mechanism in ("regular", "area"):
                cells.append(_format_number(_get_our_result(task, cards, (level, size, mechanism))))
            yield format_markdown_row(cells)


def _get_our_result(task: Task, cards: Sequence[Card], place: tuple[str, str, str]) -> float | None:
    """Return our result for a level, a size and a mechanism of the paper, or None.

    Models whose areas differ from those of the paper do not count.
    """
    for card in cards:
        # If models differ only in their seed, the first one counts.
        if (card.level, card.size, card.mechanism) == place and card.is_as_published:
            return _get_headline_value(task, card, next(iter(task.measures)))
    return None


def _format_other_datasets(task: Task, cards: Sequence[Card]) -> Iterator[str]:
    """Yield a table of the results on all datasets except the headline one."""
    rows = []
    for card in cards:
        for dataset in sorted(set(card.figures) - {task.headline}):
            known = card.figures[dataset]
            if any(key in known for key in task.measures):
                values = [_format_value(task, key, known.get(key)) for key in task.measures]
                rows.append([f"`{card.name}`", f"`{dataset}`", *values])
    if not rows:
        return
    yield format_markdown_row(["Model", "Other dataset", *task.measures.values()])
    yield format_markdown_row(["---", "---", *["--:"] * len(task.measures)])
    yield from map(format_markdown_row, rows)
    yield ""


def _format_change(before: float | None, after: float | None) -> str:
    return _format_number(None if before is None or after is None else after - before, "+")


def _get_headline_value(task: Task, card: Card, measure: str) -> float | None:
    value = card.figures.get(task.headline, {}).get(measure)
    return None if value is None else float(value)


def _get_published_value(task: Task, card: Card) -> float | None:
    published = task.by_size.get((card.level, card.size))
    return published.of(card.mechanism) if published and card.is_as_published else None


def _format_significance(task: Task, card: Card) -> str:
    """Return the paper's mark of significance, escaped for Markdown."""
    published = task.by_size.get((card.level, card.size))
    is_area = card.mechanism == "area" and card.is_as_published
    return published.area_sign.replace("*", r"\*") if published and is_area else ""


def _format_number(value: float | None, sign: str = "") -> str:
    return _NOT_MEASURED if value is None else f"{value:{sign}.1f}"


def _format_published(task: Task) -> Iterator[str]:
    """Yield a table of results that papers report for this task."""
    if not task.published:
        return
    yield format_markdown_row(["Published result, on other data or with a larger network", "Value"])
    yield format_markdown_row(["---", "---"])
    for system, value in task.published.items():
        yield format_markdown_row([system, value])
    yield ""


def _format_targets(cards: Sequence[Card], by_name: Mapping[str, Card]) -> Iterator[str]:
    """Yield how many targets the models reached, and a table of those that they missed."""
    all_judged = [(card.name, one) for card in cards for one in judge_targets(card, by_name)]
    if not all_judged:
        yield "These models have no targets."
        return
    reached = sum(one.reached is True for _, one in all_judged)
    yield f"The models reached {reached} of {len(all_judged)} targets."
    missed = [(name, one) for name, one in all_judged if not one.reached]
    if missed:
        yield ""
        yield format_markdown_row(["Model", "Missed target", "Wanted", "Measured", "Why"])
        yield format_markdown_row(["---"] * 5)
        for name, one in missed:
            yield format_markdown_row(
                [f"`{name}`", one.what, one.wanted, one.measured, _explain_missed_target(one)]
            )


def _explain_missed_target(target: TargetResult) -> str:
    if target.reached is None:
        return "It is not measured yet."
    return target.why or "Not known."


# Tables of best alignments in Markdown, written from the cards for docs/findings.md.


LINKS, ALIGNMENT = "word links", "best alignment"
"""Entries of `Card.attention` of translators."""
OTHERS = {
    "aer_aligner": "a statistical aligner, trained on the same corpus",
    "aer_diagonal": "the diagonal",
}
"""Labels of table rows that are not about a model, by metric."""
POINTING = ("pointing", "hit", "peak")
"""The pointing metrics, one of which a card has."""


def format_alignment_table(cards: Sequence[Card]) -> Iterator[str]:
    """Yield the table of translators: alignment errors in per cent, lowest first."""
    rows = []
    for card in cards:
        found = card.attention.get(ALIGNMENT)
        for best in card.bests.values():
            if found is not None:
                rows.append((found["best"], _format_alignment_row(card, best, found)))
    yield from _format_table(
        ["Model", "Heads", "Validation", "Test, 95 %", "Best head or mean of a layer, test"],
        ["Untrained set", "Position only"],
        [row for _, row in sorted(rows)],
    )
    links = next((card.attention[LINKS] for card in cards if LINKS in card.attention), None)
    if links is not None:
        for key, name in OTHERS.items():
            yield format_markdown_row([name, "", "", _format_percent(links[key]), "", "", ""])


def format_pointing_table(cards: Sequence[Card]) -> Iterator[str]:
    """Yield the table of models that look at places: shares of right words on test, in per cent."""
    rows = []
    for card in cards:
        for site, best in card.bests.items():
            found = card.attention.get(f"{site}, test", {})
            measure = next((one for one in POINTING if f"best_{one}" in found), None)
            if measure is not None:
                rows.append(_format_pointing_row(card, best, found, measure))
    yield from _format_table(
        ["Model", "Heads", "Validation", "Test, 95 %", "Best single head, test"],
        ["Untrained set", "Position only", "Middle or equal distances"],
        rows,
    )


def _format_alignment_row(card: Card, best: BestAlignment, found: Mapping[str, float]) -> list[str]:
    return [
        f"`{card.name}`",
        _format_heads(best),
        _format_percent(best.error),
        _format_interval(found, "best"),
        _format_percent(card.attention[LINKS]["aer"]),
        _format_percent(found["best_untrained"]),
        _format_percent(found["best_position"]),
    ]


def _format_pointing_row(
    card: Card, best: BestAlignment, found: Mapping[str, float], measure: str
) -> list[str]:
    key = f"best_{measure}"
    middle = found.get(f"{key}_middle", found.get(f"{key}_diagonal"))
    return [
        f"`{card.name}`",
        _format_heads(best),
        _format_percent(1 - best.error),
        _format_interval(found, key),
        _format_percent(found[measure]),
        _format_percent(found[f"{key}_untrained"]),
        _format_percent(found[f"{key}_position"]),
        _format_percent(middle),
    ]


def _format_table(
    heads: Sequence[str], beside: Sequence[str], rows: Sequence[Sequence[str]]
) -> Iterator[str]:
    yield format_markdown_row([*heads, *beside])
    yield format_markdown_row(["---", "---", *["--:"] * (len(heads) + len(beside) - 2)])
    yield from map(format_markdown_row, rows)


def _format_heads(best: BestAlignment) -> str:
    return describe_heads(best.heads).removeprefix("Heads ").removeprefix("Head ")


def _format_interval(found: Mapping[str, float], key: str) -> str:
    low, high = _format_percent(found[f"{key}_low"]), _format_percent(found[f"{key}_high"])
    return f"{_format_percent(found[key])} ({low} to {high})"


def _format_percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"


# Tables of docs/findings.md about single heads with their baselines, written from the cards.
#
# Next to every share is the share of the untrained network and that of a baseline of positions.


Lines = Callable[[Sequence[Card]], Iterator[str]]
TEST_SPLIT = "test"
POINTING_COLUMNS = {
    "pointing": "Points at the named thing",
    "pointing_untrained": "Untrained: points at it",
    "pointing_middle": "Middle of the picture",
    "pointing_position": "Position only",
}
"""Figures of a captioner's best head, with the baselines of its heaviest cell."""
AREA_COLUMNS = {
    "multi_words": "Heaviest area has several cells",
    "multi_words_untrained": "Untrained: several cells",
    "area_hit": "Middle of the heaviest area is on the thing",
    "area_hit_untrained": "Untrained: middle on the thing",
    "area_hit_fixed": "Areas of the same sizes at the best fixed place",
}
"""Figures of the heaviest areas of that head."""
SPAN_COLUMNS = {
    "span": "Top areas of several items that contain the linked word",
    "span_untrained": "Untrained: contain it",
    "span_diagonal": "Areas of the same sizes on the diagonal",
    "span_random": "Areas of the same sizes anywhere",
    "linked_span_share": "Linked words with several items on top",
    "linked_span_share_untrained": "Untrained: several items on top",
    "single": "Single items on top that contain the linked word",
    "best_pair": "Heaviest item and its heavier neighbour contain it, best head",
}
"""Figures of a translator's head chosen for spans, on captions with words linked by hand."""


def format_photo_table(cards: Sequence[Card]) -> Iterator[str]:
    """Yield the table of captioners of photos: caption scores, and where the best head points."""
    found = [
        card
        for card in _select_captioners(cards, "photos")
        if "pointing" in _get_pointing_figures(card)
    ]
    measures = {"cider_d": ("CIDEr-D", "{:.3f}")}
    yield from _format_pointing_table(found, measures)


def format_scene_table(cards: Sequence[Card]) -> Iterator[str]:
    """Yield the table of captioners of shape scenes."""
    found = [
        card
        for card in _select_captioners(cards, "scenes")
        if "pointing" in _get_pointing_figures(card)
    ]
    measures = {
        "true": ("True captions", "{:.1f} %"),
        "true_tie": ("with either relation near a tie", "{:.1f} %"),
    }
    yield from _format_pointing_table(found, measures)


def format_span_table(cards: Sequence[Card]) -> Iterator[str]:
    """Yield the table of translators with a head whose top areas have several items."""
    yield from _format_header(["Model", "Layer.head", "Areas"], SPAN_COLUMNS.values())
    for card in cards:
        found = card.attention.get("linked words", {})
        if "span" in found:
            place = f"{int(found['layer']) + 1}.{int(found['head']) + 1}"
            cells = [f"`{card.name}`", place, f"{int(found['spans']):,}"]
            yield format_markdown_row(
                [*cells, *(_format_share(found.get(key)) for key in SPAN_COLUMNS)]
            )


def format_character_table(cards: Sequence[Card]) -> Iterator[str]:
    """Yield the table of character translators: quality, alignment and spans of single heads."""
    heads = ["Model", "BLEU, validation", "Test 2016", "Test 2017", "AER, test"]
    beside = ["AER of the untrained network", "AER of the diagonal"]
    spans = ["encoder self: spans on top (before training)", "a word, times chance (before)"]
    spans += ["encoder-decoder: spans on top (before training)", "a word, times chance (before)"]
    yield from _format_header(heads, [*beside, *spans])
    for card in cards:
        if card.level == "character" and "word links" in card.attention:
            yield format_markdown_row([f"`{card.name}`", *_format_character_cells(card)])


def _format_character_cells(card: Card) -> Iterator[str]:
    for split in ("val", "test_2016_flickr", "test_2017_flickr"):
        yield f"{card.figures[split]['bleu']:.1f}"
    links = card.attention["word links"]
    for key in ("aer", "aer_untrained", "aer_diagonal"):
        yield _format_share(links[key])
    for site in ("encoder self", ATTENDING_SITE):
        found = card.attention[f"{site}, spans"]
        if found["multi_share"]:
            yield _format_with_baseline(found, "multi_share", _format_share)
            yield _format_with_baseline(found, "long_exact_lift", "{:.1f}".format)
        else:
            yield "–"
            yield "–"


def _select_captioners(cards: Sequence[Card], pictures: str) -> list[Card]:
    return [card for card in cards if card.task == "caption" and card.pictures == pictures]


def _get_pointing_figures(card: Card) -> Mapping[str, float]:
    return card.attention.get(f"{ATTENDING_SITE}, {TEST_SPLIT}", {})


def _format_pointing_table(
    cards: Sequence[Card], measures: Mapping[str, tuple[str, str]]
) -> Iterator[str]:
    columns = POINTING_COLUMNS | AREA_COLUMNS
    titles = [title for title, _ in measures.values()]
    yield from _format_header(["Model"], [*titles, *columns.values()])
    for card in cards:
        looks, figures = _get_pointing_figures(card), card.figures[TEST_SPLIT]
        cells = [f"`{card.name}`" + (", told" if card.told_head else "")]
        for key, (_, pattern) in measures.items():
            cells.append(pattern.format(figures[key]) if key in figures else "–")
        yield format_markdown_row([*cells, *(_format_share(looks.get(key)) for key in columns)])


def _format_header(first: Sequence[str], rest: Iterable[str]) -> Iterator[str]:
    titles = [*first, *rest]
    yield format_markdown_row(titles)
    yield format_markdown_row(["---", *["--:"] * (len(titles) - 1)])


def _format_with_baseline(
    found: Mapping[str, float], key: str, shown: Callable[[float], str]
) -> str:
    before = found.get(f"{key}_untrained")
    return shown(found[key]) + ("" if before is None else f" ({shown(before)})")


def _format_share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


FINDING_TABLES: Mapping[str, Lines] = {
    "best alignment": format_alignment_table,
    "best pointing": format_pointing_table,
    "letters": format_character_table,
    "photos": format_photo_table,
    "scenes": format_scene_table,
    "spans": format_span_table,
}
"""Each table by the name in its markers in docs/findings.md."""


# `areaviz figures`: write the tables of results in README.md and docs/ from the cards.


MARK = "figures"
"""Name in the two comments around the tables of models in README.md and docs/results.md."""


def figures(
    checkpoints: Annotated[Path, typer.Option(help="Folder of the models.")] = CHECKPOINTS,
    readme: Annotated[Path, typer.Option(help="File for the table of main results.")] = README,
    results: Annotated[Path, typer.Option(help="File for the tables of all results.")] = RESULTS,
    findings: Annotated[Path, typer.Option(help="File for the tables of findings.")] = FINDINGS,
) -> None:
    """Write the tables of results into README.md, docs/results.md and docs/findings.md."""
    cards = read_cards(checkpoints)
    for path, lines in ((readme, format_summary(cards)), (results, format_results(cards))):
        text = replace_marked(path.read_text(encoding="utf-8"), MARK, lines)
        write_whole(path, text.encode())
        typer.echo(f"{path}: {len(cards)} models.")
    text = with_findings(findings.read_text(encoding="utf-8"), cards)
    text = with_forms(text, FORM_TABLES, checkpoints)
    write_whole(findings, text.encode())
    typer.echo(f"{findings}: {len(FORM_TABLES) + len(FINDING_TABLES)} tables.")


def with_findings(text: str, cards: Sequence[Card]) -> str:
    """Return `text` with each table of `FINDING_TABLES` between its two comments.

    Raises:
        InputError: a comment is missing.
    """
    for mark, lines in FINDING_TABLES.items():
        text = replace_marked(text, mark, list(lines(cards)))
    return text


def with_forms(text: str, tables: Mapping[str, FormTable], checkpoints: Path) -> str:
    """Return `text` with the rows of each table of variants between its two comments.

    Args:
        text: the document.
        tables: the tables by the name in their comments.
        checkpoints: the folder of the models that the tables use as baselines.

    Raises:
        InputError: a comment is missing.
    """
    for mark, table in tables.items():
        rows, columns = read_forms(table), table.columns
        lines = [columns, ["---", *["--:"] * (len(columns) - 1)]]
        lines += [row.cells(table) for row in rows]
        written = [format_markdown_row([cell.strip() for cell in line]) for line in lines]
        notes = [
            note
            for note in (list_missing_runs(table, rows), describe_baselines(table, checkpoints))
            if note
        ]
        text = replace_marked(text, mark, [*written, "", " ".join(notes)])
    return text


def replace_marked(text: str, mark: str, lines: Sequence[str]) -> str:
    """Return `text` with `lines` between the comments <!-- MARK:begin --> and <!-- MARK:end -->.

    Raises:
        InputError: one of the comments is missing.
    """
    begin, end = f"<!-- {mark}:begin -->", f"<!-- {mark}:end -->"
    before, first, rest = text.partition(begin)
    _, last, after = rest.partition(end)
    if not (first and last):
        raise InputError(f"The file has no place for the tables. Add the lines {begin} and {end}.")
    return "\n".join([before + first, *lines, last + after])
