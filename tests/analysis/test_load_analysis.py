"""An analysis as a data frame: one row per example and system, with the figures of the page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import areaviz
from areaviz import InputError, load_analysis
from areaviz.samples.dataset import Dataset, Example
from areaviz.sets.dataset import read_set
from areaviz.sets.measures import score_output
from areaviz.sets.notes.exchange import to_jsonl
from areaviz.sets.notes.notes import ErrorSpan, Judgement
from areaviz.sets.run import SETTING, Header, Row, format_header, format_row
from tests.rated_files import WMT_2025, lines_of

TABLE = (
    "id,source,reference,output_a,output_b,comet_a,domain,chrf\n"
    "s1,A dog.,Ein Hund.,Ein Hund.,Ein Hund?,0.5,news,x\n"
    "s2,A cat.,Eine Katze.,Eine Katze.,,0.25,chat,y\n"
)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "set.csv"
    path.write_text(TABLE, encoding="utf-8")
    return path


def analysis(path: Path, digest: str, model: str = "m") -> Path:
    """Write an analysis of two examples, the second of which was not run."""
    head = format_header(Header("set.csv", digest, model, "c" * 64))
    first = format_row(Row(0, "Ein Hund.", "", {"bleu": 100.0, "confidence": 0.75}))
    second = format_row(Row(1, error="Too long."))
    path.write_bytes(head + first + second)
    return path


def test_load_analysis_has_a_row_for_each_example_and_system(table: Path) -> None:
    frame = load_analysis(table, errors=())
    assert list(zip(frame["example"], frame["system"], strict=True)) == [
        *((1, "a"), (1, "b"), (2, "a"), (2, "b")),
    ]
    assert list(frame["name"]) == ["s1", "s1", "s2", "s2"]
    assert list(frame["text"]) == ["A dog.", "A dog.", "A cat.", "A cat."]
    assert list(frame["reference"])[2] == "Eine Katze."
    assert list(frame["output"]) == ["Ein Hund.", "Ein Hund?", "Eine Katze.", ""]
    assert list(frame["domain"]) == ["news", "news", "chat", "chat"]
    assert list(frame["comet"].dropna()) == [0.5, 0.25]
    wanted = score_output("Ein Hund?", Example("1", "A dog.", ("Ein Hund.",)))
    assert frame["chrf"][1] == pytest.approx(wanted["chrf"])
    assert list(frame["meta:chrf"]) == ["x", "x", "y", "y"], "metadata called like a measure"
    assert "file" not in frame and "marks" not in frame


def test_load_analysis_joins_rows_of_a_model(table: Path, tmp_path: Path) -> None:
    dataset = read_set({"set.csv": table}).dataset
    path = analysis(tmp_path / "rows.jsonl", dataset.digest, "a")
    frame = load_analysis([table, path], errors=())
    assert list(frame["system"]) == ["a", "b", "a (2)"] * 2
    model = frame[frame["system"] == "a (2)"]
    assert list(model["confidence"])[0] == 0.75 and list(model["error"]) == ["", "Too long."]
    assert list(model["text"]) == ["A dog.", "A cat."]


def test_load_analysis_reads_analyses_without_set(tmp_path: Path) -> None:
    frame = load_analysis(str(analysis(tmp_path / "rows.jsonl", "d" * 64)), errors=())
    assert list(frame.columns) == ["example", "system", "output", "error", "bleu", "confidence"]
    assert list(frame["bleu"])[0] == 100 and pd.isna(frame["bleu"][1])


def test_load_analysis_has_marks_with_their_raters(table: Path, tmp_path: Path) -> None:
    dataset: Dataset = read_set({"set.csv": table}).dataset
    span = ErrorSpan("output", 8, 9, None, "Punctuation", "major", "a question")
    marked = Judgement(dataset.digest, 0, "b", "Ada", "A dog.", "Ein Hund?", (span,), 60)
    old = Judgement(dataset.digest, 0, "a", "Ada", "A dog.", "Der Hund.", (span,), 60)
    path = tmp_path / "errors.jsonl"
    program = replace(marked, rater="xCOMET (automatic)", score=None)
    path.write_bytes(to_jsonl([marked, old, program]))
    frame = load_analysis(table, errors=[path])
    of_b = frame[(frame["system"] == "b") & (frame["example"] == 1)].iloc[0]
    mark, by_program = of_b["marks"]
    assert by_program == {**mark, "rater": "xCOMET (automatic)"}
    assert (mark["rater"], mark["marked"], mark["severity"]) == ("Ada", "?", "major")
    assert (of_b["mqm"], of_b["judged"]) == (5, 60)
    assert pd.isna(frame["mqm"][0]), "the judged output is another one now"


def test_load_analysis_has_the_marks_in_the_files_of_a_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SETTING, str(tmp_path / "rows"))
    path = tmp_path / "humeval.jsonl"
    path.write_bytes(lines_of(WMT_2025))
    frame = load_analysis(path)
    first = frame[(frame["system"] == "alpha") & (frame["example"] == 1)].iloc[0]
    assert [mark["marked"] for mark in first["marks"]] == ["Hund"] and first["judged"] == 80
    assert "marks" not in load_analysis(path, errors=())


def test_load_analysis_accepts_roles_of_columns(table: Path) -> None:
    frame = load_analysis(table, columns={"output_b": "ignore", "domain": "ignore"}, errors=())
    assert set(frame["system"]) == {"a"} and "domain" not in frame


def test_load_analysis_refuses_several_analyses(table: Path, tmp_path: Path) -> None:
    other = analysis(tmp_path / "rows.jsonl", "d" * 64)
    with pytest.raises(
        InputError, match=r'"rows.jsonl" is an analysis of the set "set.csv", whose'
    ):
        load_analysis([table, other], errors=())
    second = analysis(tmp_path / "more.jsonl", "e" * 64)
    with pytest.raises(InputError, match="Load each set by itself"):
        load_analysis([other, second], errors=())
    with pytest.raises(InputError, match="is a folder. Give the files in it"):
        load_analysis(tmp_path)
    bare = tmp_path / "bare.txt"
    bare.write_text("One line.\n", encoding="utf-8")
    with pytest.raises(InputError, match="hold no outputs"):
        load_analysis(bare, errors=())


@pytest.mark.parametrize("given", [None, 7, b"set.csv", [None], "\0", object()])
def test_load_analysis_refuses_invalid_path(given: Any, table: Path) -> None:
    with pytest.raises(InputError, match="A path is needed but this is"):
        load_analysis(given)
    if given is not None:
        with pytest.raises(InputError, match="A path is needed but this is"):
            load_analysis(table, errors=given)


def test_load_analysis_names_a_missing_file(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert len(load_analysis("~/set.csv", errors=())) == 4
    with pytest.raises(InputError, match=r'File ".*none.csv" does not exist. Check the path'):
        load_analysis("~/none.csv")
    with pytest.raises(InputError, match=r'File ".*marks.jsonl" does not exist'):
        load_analysis(table, errors=tmp_path / "marks.jsonl")


@pytest.mark.parametrize("columns", [7, "mt", ["mt"], {"mt": None}, {1: "output"}])
def test_load_analysis_refuses_invalid_role(columns: Any, table: Path) -> None:
    with pytest.raises(InputError, match="The option columns= must give a role for each name"):
        load_analysis(table, columns=columns, errors=())


def test_load_analysis_is_a_public_name() -> None:
    assert areaviz.load_analysis is load_analysis
