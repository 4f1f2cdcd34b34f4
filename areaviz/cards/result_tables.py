"""Tables of results in Markdown, written from the cards for README.md and docs/results.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from areaviz.cards.attention_check_tables import look_lines
from areaviz.cards.card import Card, TargetResult, judge_targets
from areaviz.cards.tasks import TASKS, Task

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
