"""`python -m areaviz figures`: the tables of README.md and docs/findings.md, from cards and trained
forms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer

from areaviz.cards.card import Card, read_card
from areaviz.cards.gates import judged
from areaviz.cards.published import HEADLINE, PUBLISHED
from areaviz.cards.tasks import TASKS
from areaviz.data.places import CHECKPOINTS, FINDINGS, LETTERS, README
from areaviz.evaluation.forms import COLUMNS, FormRow, read_forms
from areaviz.trace.errors import InputError
from areaviz.trace.files import write_whole

BEGIN, END = "<!-- figures:begin -->", "<!-- figures:end -->"
FORMS_BEGIN, FORMS_END = "<!-- forms:begin -->", "<!-- forms:end -->"
MEASURES = {"bleu": "BLEU", "bleu_lowercase": "BLEU, lower-cased", "chrf": "chrF"}
SIZES = ("Tiny", "Small", "Base", "Big")


def figures(
    checkpoints: Annotated[Path, typer.Option(help="The folder of the models.")] = CHECKPOINTS,
    readme: Annotated[
        Path, typer.Option(help="The file to write the models' figures in.")
    ] = README,
    forms: Annotated[Path, typer.Option(help="The table of trained forms.")] = LETTERS,
    findings: Annotated[
        Path, typer.Option(help="The file to write the trained forms in.")
    ] = FINDINGS,
) -> None:
    """Write the tables of figures in README.md and docs/findings.md, from the models' cards and
    trained forms.
    """
    cards, rows = read_cards(checkpoints), read_forms(forms, "letters")
    write_whole(readme, filled(readme.read_text(encoding="utf-8"), cards).encode())
    write_whole(findings, with_forms(findings.read_text(encoding="utf-8"), rows).encode())
    typer.echo(
        f"{readme}: {len(cards)} models. {findings}: {sum(bool(row.seeds) for row in rows)} forms."
    )


def read_cards(checkpoints: Path) -> list[Card]:
    """The cards of a folder of checkpoints: by task, character level first, small before large, by
    what pictures show, regular before area.

    Raises:
        BackendError: a card that cannot be read; the sentence names it.
    """
    cards = [read_card(path) for path in sorted(checkpoints.glob("*/card.json"))]

    def place(card: Card) -> tuple[object, ...]:
        size = SIZES.index(card.size) if card.size in SIZES else 0
        return (
            list(TASKS).index(card.task),
            card.level,
            size,
            card.pictures,
            card.mechanism != "regular",
            card.name,
        )

    return sorted(cards, key=place)


def filled(text: str, cards: Sequence[Card]) -> str:
    """`text` with everything between the two marks replaced by the figures of `cards`.

    Raises:
        InputError: when a mark is missing.
    """
    translators = [card for card in cards if card.task == "translation"]
    lines = (
        [*_table(translators), "", *_differences(translators), "", _gates(translators)]
        if translators
        else []
    )
    for task in [task for task in TASKS if task != "translation"]:
        lines += _task_lines(task, [card for card in cards if card.task == task])
    return _between(text, BEGIN, END, lines or ["No model is shipped yet."])


def with_forms(text: str, rows: Sequence[FormRow]) -> str:
    """`text` with everything between its two marks replaced by the table of trained forms.

    Raises:
        InputError: when a mark is missing.
    """
    lines = [COLUMNS, ("---", *["--:"] * (len(COLUMNS) - 1)), *(row.cells() for row in rows)]
    cells = [[cell.strip() for cell in line] for line in lines]
    return _between(text, FORMS_BEGIN, FORMS_END, [f"| {' | '.join(line)} |" for line in cells])


def _between(text: str, begin: str, end: str, lines: Sequence[str]) -> str:
    before, first, rest = text.partition(begin)
    _, last, after = rest.partition(end)
    if not (first and last):
        raise InputError(f"The file has no place for the figures; add the lines {begin} and {end}.")
    return "\n".join([before + first, *lines, last + after])


def _task_lines(task: str, cards: Sequence[Card]) -> Iterator[str]:
    """A heading, a table of our figures, and what papers report; nothing without cards."""
    if not cards:
        return
    about = TASKS[task]
    measures = [
        key
        for key in about.measures
        if any(key in card.figures.get(about.headline, {}) for card in cards)
    ]
    yield from ("", f"**{about.title}.** {about.about}.".replace("..", "."), "")
    seen = ["Sees"] if len(about.conditions) > 1 else []
    yield _row(
        ["Model", "Attention", "Parameters", *seen, *(about.measures[key] for key in measures)]
    )
    yield _row(["---"] * 2 + ["--:"] + ["---"] * len(seen) + ["--:"] * len(measures))
    for card in cards:
        for condition, figures in about.by_condition(card.figures.get(about.headline, {})).items():
            cells = [_measured(figures.get(key), key in about.percent) for key in measures]
            told = [condition] if seen else []
            yield _row([f"`{card.name}`", card.mechanism, f"{card.parameters:,}", *told, *cells])
    yield from ("", _gates(cards))
    if about.published:
        yield ""
        yield (
            "Papers report, on other data or with larger networks: "
            + "; ".join(f"{system}: {figure}" for system, figure in about.published.items())
            + "."
        )


def _gates(cards: Sequence[Card]) -> str:
    """How many gates of the cards were reached, which were not, and which cannot be judged yet."""
    by_name = {card.name: card for card in cards}
    gates = [(f"`{card.name}`", gate) for card in cards for gate in judged(card, by_name)]
    if not gates:
        return "No gate is set."
    told = [f"{sum(bool(g.reached) for _, g in gates)} of {len(gates)} gates were reached"]
    missed = [
        f"{name}: {g.what}, wanted {g.wanted}, measured {g.measured}"
        for name, g in gates
        if g.reached is False
    ]
    unknown = [f"{name}: {g.what}" for name, g in gates if g.reached is None]
    told += [f"missed: {'; '.join(missed)}"] if missed else []
    told += [f"not measured yet: {'; '.join(unknown)}"] if unknown else []
    return f"{'. '.join(one[0].upper() + one[1:] for one in told)}."


def _measured(value: float | None, is_share: bool) -> str:
    if value is None:
        return "–"
    return f"{value:.2%}" if is_share else f"{value:.2f}"


def _table(cards: Sequence[Card]) -> Iterator[str]:
    heads = [
        "Model",
        "Size",
        "Attention",
        "Parameters",
        *MEASURES.values(),
        "The paper's BLEU, other data",
    ]
    yield _row(heads)
    yield _row(["---"] * 3 + ["--:"] * (len(heads) - 3))
    for card in cards:
        measured = [_number(card.figures.get(HEADLINE, {}).get(measure)) for measure in MEASURES]
        published = _number(_published(card))
        yield _row(
            [
                f"`{card.name}`",
                card.size,
                card.mechanism,
                f"{card.parameters:,}",
                *measured,
                published,
            ]
        )


def _differences(cards: Sequence[Card]) -> Iterator[str]:
    """One line a pair of models that differ in mechanism only."""
    paired = [card for card in cards if card.pair]
    for _, group in groupby(sorted(paired, key=lambda card: card.pair), key=lambda card: card.pair):
        by_mechanism = {card.mechanism: card for card in group}
        if {"regular", "area"} <= by_mechanism.keys():
            yield _difference(by_mechanism["regular"], by_mechanism["area"])


def _difference(regular: Card, area: Card) -> str:
    ours, theirs = (
        _number(None if with_area is None or without is None else with_area - without, sign="+")
        for with_area, without in (
            (_bleu(area), _bleu(regular)),
            (_published(area), _published(regular)),
        )
    )
    level = regular.level.capitalize()
    return (
        f"- {level} level, {regular.size}: areas change BLEU by {ours} here, by {theirs} in the"
        " paper."
    )


def _bleu(card: Card) -> float | None:
    value = card.figures.get(HEADLINE, {}).get("bleu")
    return None if value is None else float(value)


def _published(card: Card) -> float | None:
    published = PUBLISHED.get((card.level, card.size))
    return published.of(card.mechanism) if published else None


def _number(value: float | None, sign: str = "") -> str:
    return "not measured" if value is None else f"{value:{sign}.1f}"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
