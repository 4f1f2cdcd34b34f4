"""`areaviz figures`: the tables of README.md and docs/findings.md, from cards and trained forms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from areaviz.cards.card import Card, read_card
from areaviz.cards.gates import judged
from areaviz.cards.tasks import TASKS, Task
from areaviz.data.places import CHECKPOINTS, FINDINGS, README
from areaviz.evaluation.form_tables import FORM_TABLES, FormTable
from areaviz.evaluation.forms import missing, read_forms
from areaviz.trace.errors import InputError
from areaviz.trace.files import write_whole

BEGIN, END = "<!-- figures:begin -->", "<!-- figures:end -->"
SIZES = ("Tiny", "Small", "Base", "Big")


def figures(
    checkpoints: Annotated[Path, typer.Option(help="The folder of the models.")] = CHECKPOINTS,
    readme: Annotated[
        Path, typer.Option(help="The file to write the models' figures in.")
    ] = README,
    findings: Annotated[
        Path, typer.Option(help="The file to write the trained forms in.")
    ] = FINDINGS,
) -> None:
    """Write the tables of figures in README.md and docs/findings.md, from cards and forms."""
    cards = read_cards(checkpoints)
    write_whole(readme, filled(readme.read_text(encoding="utf-8"), cards).encode())
    write_whole(findings, with_forms(findings.read_text(encoding="utf-8"), FORM_TABLES).encode())
    typer.echo(f"{readme}: {len(cards)} models. {findings}: {len(FORM_TABLES)} tables of forms.")


def read_cards(checkpoints: Path) -> list[Card]:
    """The cards of a folder of checkpoints: by task, character level first, small before large, by
    what pictures show, regular before area.

    Raises:
        BackendError: a card that cannot be read; the sentence names it.
    """
    tasks = list(TASKS)

    def place(card: Card) -> tuple[object, ...]:
        size = SIZES.index(card.size) if card.size in SIZES else 0
        is_regular = card.mechanism == "regular"
        return tasks.index(card.task), card.level, size, card.pictures, not is_regular, card.name

    cards = [read_card(path) for path in checkpoints.glob("*/card.json")]
    return sorted(cards, key=place)


def filled(text: str, cards: Sequence[Card]) -> str:
    """`text` with everything between the two marks replaced by the figures of `cards`.

    Raises:
        InputError: when a mark is missing.
    """
    lines: list[str] = []
    for task in TASKS.values():
        ours = [card for card in cards if card.task == task.key]
        if not ours:
            continue
        lines += _size_lines(task, ours) if task.by_size else _task_lines(task, ours)
    return _between(text, BEGIN, END, lines or ["No model is shipped yet."])


def with_forms(text: str, tables: Mapping[str, FormTable]) -> str:
    """`text` with everything between the two marks of each table replaced by its rows.

    Raises:
        InputError: when a mark is missing.
    """
    for mark, table in tables.items():
        rows, columns = read_forms(table), table.columns
        lines = [columns, ["---", *["--:"] * (len(columns) - 1)]]
        lines += [row.cells(table) for row in rows]
        written = [_row([cell.strip() for cell in line]) for line in lines]
        begin, end = f"<!-- {mark}:begin -->", f"<!-- {mark}:end -->"
        text = _between(text, begin, end, [*written, "", missing(table, rows)])
    return text


def _between(text: str, begin: str, end: str, lines: Sequence[str]) -> str:
    before, first, rest = text.partition(begin)
    _, last, after = rest.partition(end)
    if not (first and last):
        raise InputError(f"The file has no place for the figures; add the lines {begin} and {end}.")
    return "\n".join([before + first, *lines, last + after])


def _size_lines(task: Task, cards: Sequence[Card]) -> Iterator[str]:
    """A table with what a paper reports for each size, and what areas change."""
    yield from _size_table(task, cards)
    yield ""
    yield from _differences(task, cards)
    yield from ("", _gates(cards))


def _task_lines(task: Task, cards: Sequence[Card]) -> Iterator[str]:
    """A heading, a table of our figures, and what papers report."""
    taken = [card.figures.get(task.headline, {}) for card in cards]
    measures = [key for key in task.measures if any(key in figures for figures in taken)]
    yield from ("", f"**{task.title}.** {task.about}.".replace("..", "."), "")
    heads = ["Model", "Attention", "Parameters"]
    dashes = ["---", "---", "--:"]
    if len(task.conditions) > 1:
        heads.append("Sees")
        dashes.append("---")
    yield _row([*heads, *(task.measures[key] for key in measures)])
    yield _row([*dashes, *["--:"] * len(measures)])
    for card, all_figures in zip(cards, taken, strict=True):
        for condition, figures in task.by_condition(all_figures).items():
            cells = [f"`{card.name}`", card.mechanism, f"{card.parameters:,}"]
            if len(task.conditions) > 1:
                cells.append(condition)
            cells += [_measured(task, key, figures.get(key)) for key in measures]
            yield _row(cells)
    yield from ("", _gates(cards))
    if task.published:
        reported = [f"{system}: {figure}" for system, figure in task.published.items()]
        yield ""
        yield f"Papers report, on other data or with larger networks: {'; '.join(reported)}."


def _gates(cards: Sequence[Card]) -> str:
    """How many gates of the cards were reached, which were not, and which cannot be judged yet."""
    by_name = {card.name: card for card in cards}
    reached, missed, unknown = 0, [], []
    for card in cards:
        for gate in judged(card, by_name):
            if gate.reached is None:
                unknown.append(f"`{card.name}`: {gate.what}")
            elif gate.reached:
                reached += 1
            else:
                measured = f"wanted {gate.wanted}, measured {gate.measured}"
                missed.append(f"`{card.name}`: {gate.what}, {measured}")
    count = reached + len(missed) + len(unknown)
    if not count:
        return "No gate is set."
    sentences = [f"{reached} of {count} gates were reached."]
    if missed:
        sentences.append(f"Missed: {'; '.join(missed)}.")
    if unknown:
        sentences.append(f"Not measured yet: {'; '.join(unknown)}.")
    return " ".join(sentences)


def _measured(task: Task, key: str, value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.2%}" if key in task.percent else f"{value:.{task.decimals.get(key, 2)}f}"


def _size_table(task: Task, cards: Sequence[Card]) -> Iterator[str]:
    names = task.measures.values()
    heads = ["Model", "Size", "Attention", "Parameters", *names, "The paper's BLEU, other data"]
    yield _row(heads)
    yield _row(["---"] * 3 + ["--:"] * (len(heads) - 3))
    for card in cards:
        cells = [f"`{card.name}`", card.size, card.mechanism, f"{card.parameters:,}"]
        cells += [_number(_headline(task, card, measure)) for measure in task.measures]
        yield _row([*cells, _number(_published(task, card)) + _sign(task, card)])


def _differences(task: Task, cards: Sequence[Card]) -> Iterator[str]:
    """One line a pair of models that differ in mechanism only."""
    pairs: dict[str, dict[str, Card]] = {}
    for card in cards:
        if card.pair:
            pairs.setdefault(card.pair, {})[card.mechanism] = card
    for pair in sorted(pairs):
        regular, area = pairs[pair].get("regular"), pairs[pair].get("area")
        if regular and area:
            yield _difference(task, regular, area)


def _difference(task: Task, regular: Card, area: Card) -> str:
    first = next(iter(task.measures))
    ours = _change(_headline(task, regular, first), _headline(task, area, first))
    where = f"{regular.level.capitalize()} level" + (f", {regular.size}" if regular.size else "")
    published = _published(task, regular), _published(task, area)
    theirs = f", by {_change(*published)} in the paper."
    if None in published:
        theirs = "; the paper has no such size."
    return f"- {where}: areas change BLEU by {ours} here{theirs}"


def _change(before: float | None, after: float | None) -> str:
    return _number(None if before is None or after is None else after - before, "+")


def _headline(task: Task, card: Card, measure: str) -> float | None:
    value = card.figures.get(task.headline, {}).get(measure)
    return None if value is None else float(value)


def _published(task: Task, card: Card) -> float | None:
    published = task.by_size.get((card.level, card.size))
    return published.of(card.mechanism) if published and card.is_as_published else None


def _sign(task: Task, card: Card) -> str:
    """What the paper says of the significance of a figure, escaped for Markdown."""
    published = task.by_size.get((card.level, card.size))
    is_area = card.mechanism == "area" and card.is_as_published
    return published.area_sign.replace("*", r"\*") if published and is_area else ""


def _number(value: float | None, sign: str = "") -> str:
    return "not measured" if value is None else f"{value:{sign}.1f}"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
