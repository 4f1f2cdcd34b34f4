"""Scores from files are read, given to their systems, measured; what is no number is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from areaviz.analysis.run import rows_of_outputs
from areaviz.analysis.score_files import read_scores, scores_of
from areaviz.analysis.table import measures_of, score_columns, table_of, with_scores
from areaviz.data.examples import Dataset, Example
from areaviz.trace.errors import InputError


def read(content: str, count: int = 2, name: str = "x.csv") -> dict[str, tuple[float, ...]]:
    return read_scores(name, {name: content.encode()}, count)


def test_a_number_a_line_and_a_table_with_a_header() -> None:
    assert read("0.5\n.75\n", name="x.txt") == {"Score": (0.5, 0.75)}
    assert read("COMET\n0.5\n-1e-2\n") == {"COMET": (0.5, -0.01)}
    assert read("id,COMET;x,mt\n1,0.5,a\n2,1,b\n") == {"COMET;x": (0.5, 1.0)}
    assert read("COMET\tTER\n0.5\t30\n1\t40\n", name="x.tsv")["TER"] == (30.0, 40.0)
    lines = '{"COMET": 0, "mt": "a"}\n{"COMET": 1}\n'
    assert read(lines, name="x.jsonl") == {"COMET": (0.0, 1.0)}


def test_what_is_not_known_is_left_out() -> None:
    first, second = read("COMET\nNA\n0.5\n")["COMET"]
    assert math.isnan(first) and second == 0.5
    assert math.isnan(read("a,COMET\nx\ny,1\n")["COMET"][0])


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=9))
def test_numbers_come_back_as_they_were_written(values: list[float]) -> None:
    content = "COMET\n" + "\n".join(map(repr, values)) + "\n"
    assert read(content, len(values)) == {"COMET": tuple(values)}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            "COMET\n0.5\ngood\n",
            'Line 3 of "x.csv" has "good" as its COMET, which is no number; fix',
        ),
        ("Score\n0.5\ngood\n", 'Line 3 of "x.csv" has "good" as its Score'),
        ("0.5\ngood\n", 'Line 2 of "x.csv" has "good" as its Score, which is no number'),
        ("COMET\n0.5\ninf\n", 'has "inf" as its COMET, which is no number'),
        ("COMET\n0.5\n", '"x.csv" has 1 lines of scores but the set has 2 examples'),
        ("mt\na\nb\n", '"x.csv" has no column of numbers'),
        ("a,b\n1,2\n1,2,3\n", 'Row 2 of "x.csv" has 3 cells but its header 2'),
        (",".join("abcdefg" * 6) + "\n1\n2\n", "has 42 columns but at most 40"),
    ],
)
def test_other_files_are_refused_in_one_sentence(content: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        read(content)
    assert said in str(refused.value)


def test_a_file_has_the_scores_of_the_system_it_is_named_like_else_of_the_next() -> None:
    files = {"b.comet.txt": b"1\n", "some.csv": b"TER\n2\n", "ab.csv": b"X\n3\n"}
    found = scores_of([*files], files, ["a.txt", "b.txt", "ab.txt"], 1)
    assert found == [{"TER": (2.0,)}, {"comet": (1.0,)}, {"X": (3.0,)}]
    both = {"a.txt.x": b"1\n", "a-y.csv": b"Y\n2\n"}
    assert scores_of([*both], both, ["a.txt"], 1) == [{"txt": (1.0,), "Y": (2.0,)}]
    with pytest.raises(InputError, match='"v.txt" has the scores of no system; .* each of: a.txt'):
        scores_of(["u.txt", "v.txt"], {"u.txt": b"1\n", "v.txt": b"1\n"}, ["a.txt"], 1)


def test_scores_are_measures_with_a_change_and_a_better_side() -> None:
    dataset = Dataset("set", (Example("1", "a"), Example("2", "b")), {})
    runs = [rows_of_outputs(dataset, ["x", "y"]), rows_of_outputs(dataset, ["x", "z"])]
    scores = [{"COMET": (0.5, 0.7), "TER 2": (1.0, 2.0)}, {"COMET": (0.6, math.nan)}]
    made = with_scores(table_of(dataset, runs), [score_columns(one) for one in scores])
    measures = measures_of(made)
    assert [*measures] == ["length", "score:COMET", "score:TER 2"]
    assert measures["score:COMET"].better == "high" and measures["score:TER 2"].better == "low"
    np.testing.assert_allclose(made["score:COMET_change"], [0.1, np.nan], atol=1e-12)
    assert made["score:TER 2_1"].isna().all()
