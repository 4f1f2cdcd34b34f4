"""`areaviz figures`: write the tables of results in README.md and docs/ from the cards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from areaviz.cards.card import Card, read_cards
from areaviz.cards.finding_tables import FINDING_TABLES
from areaviz.cards.result_tables import format_markdown_row, format_results, format_summary
from areaviz.samples.paths import CHECKPOINTS, FINDINGS, README, RESULTS
from areaviz.trace.errors import InputError
from areaviz.trace.safe_files import write_whole

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
