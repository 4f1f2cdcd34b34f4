"""Values derived from an analysis' rows are computed once until rows are added.

They are never those of other rows.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from areaviz.samples.dataset import Dataset, Example
from areaviz.sets.app import state
from areaviz.sets.app.state import build_examples_table, compute_figures, read_stored_rows
from areaviz.sets.run import Header, Row, RowFile
from areaviz.sets.table import build_table, summarise_table

SET = Dataset(
    "set",
    tuple(Example(text, text, ("Ein Hund rennt.",)) for text in ("A dog runs.", "A cat sits.")),
    {},
)
HEADER = Header("set", SET.digest, "model", "card")


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the computed values."""
    done: list[str] = []

    def counting(name: str, work: Callable[..., object]) -> None:
        def counted(*given: object) -> object:
            done.append(name)
            return work(*given)

        monkeypatch.setattr(state, name, counted)

    counting("summarise_table", summarise_table)
    counting("build_table", build_table)
    return done


def test_figures_are_cached_until_a_row_is_added(tmp_path: Path, counted: list[str]) -> None:
    path = tmp_path / "rows.jsonl"
    with RowFile.open(path, HEADER) as file:
        file.add(Row(0, "Ein Hund rennt."))
        first = [compute_figures(read_stored_rows(path, SET)) for _ in range(3)]
        tables = [build_examples_table((read_stored_rows(path, SET),)) for _ in range(3)]
        assert counted == ["summarise_table", "build_table"]
        assert first[0]["corpus_chrf"] == pytest.approx(100) and len(tables[0]) == 1
        file.add(Row(1, "Eine Katze."))
        now = read_stored_rows(path, SET)
        assert compute_figures(now)["corpus_chrf"] < 100 and len(build_examples_table((now,))) == 2
    assert counted == ["summarise_table", "build_table"] * 2


def test_every_choice_of_examples_has_its_own_figures(tmp_path: Path, counted: list[str]) -> None:
    path = tmp_path / "rows.jsonl"
    with RowFile.open(path, HEADER) as file:
        file.add(Row(0, "Ein Hund rennt."))
        file.add(Row(1, "Eine Katze."))
    found = read_stored_rows(path, SET)
    for _ in range(2):
        assert [
            compute_figures(found, places)["examples"]
            for places in (None, (0,), (1,), (0, 1), (7,))
        ] == [2, 1, 1, 2, 0]
        assert (
            compute_figures(found, (0,))["corpus_chrf"]
            > compute_figures(found, (1,))["corpus_chrf"]
        )
    assert counted == ["summarise_table"] * 5


def test_files_of_equal_size_are_distinguished(tmp_path: Path) -> None:
    for name, output in (("a", "Ein Hund rennt."), ("b", "Ein Hund rannt.")):
        with RowFile.open(tmp_path / name, HEADER) as file:
            file.add(Row(0, output))
    one, other = (read_stored_rows(tmp_path / name, SET) for name in ("a", "b"))
    assert compute_figures(one)["corpus_chrf"] > compute_figures(other)["corpus_chrf"]
    table = build_examples_table((one, other))
    assert (table["output_0"][0], table["output_1"][0]) == ("Ein Hund rennt.", "Ein Hund rannt.")


def test_missing_file_has_no_rows(tmp_path: Path) -> None:
    assert not read_stored_rows(tmp_path / "none", SET).rows


def test_damaged_lines_are_reported_and_skipped(tmp_path: Path) -> None:
    path = tmp_path / "rows"
    with RowFile.open(path, HEADER) as file:
        file.add(Row(0, "Ein Hund rennt."))
    for damaged, said in (
        (1, "Line 3 of rows is damaged"),
        (7, "Lines 3, 4, 5, 6, 7 and 2 more of rows are damaged"),
    ):
        with path.open("ab") as lines:
            lines.write(b"x\n" * (damaged - 1 or 1))
        found = read_stored_rows(path, SET)
        assert said in found.damage and list(found.rows) == [0]
