"""Errors and ratings from other tools reach the right examples, systems and characters."""

from __future__ import annotations

from dataclasses import replace

import pytest

from areaviz.samples.dataset import Dataset, Example
from areaviz.sets.dataset import read_set
from areaviz.sets.notes.marot import read_judgements, read_judgements_of_set
from areaviz.sets.notes.notes import ErrorSpan, Judgement
from areaviz.sets.rated_outputs import is_automatic
from areaviz.sets.run import make_rows_from_outputs
from areaviz.sets.table import average_ratings, compute_agreement, group_by_example
from areaviz.trace.errors import InputError
from tests.rated_files import (
    ANNOTATIONS,
    CAMPAIGN,
    COMET,
    WMT_2024,
    WMT_2025,
    json_of,
    lines_of,
)

SOURCES = ("It rains.", "The dog runs.", "It rains.")
SET = Dataset("set", tuple(Example(str(n), text, ()) for n, text in enumerate(SOURCES)), {})


def said(judgements: list[Judgement]) -> list[tuple[object, ...]]:
    return [(one.example, one.model, one.rater, one.score, one.spans) for one in judgements]


def output(start: int, end: int, severity: str, category: str = "") -> ErrorSpan:
    return ErrorSpan("output", start, end, category=category, severity=severity)


def test_read_judgements_of_wmt_2025() -> None:
    found = read_judgements("x.jsonl", lines_of(WMT_2025), SET, ("alpha.txt", "beta"))
    missing = ErrorSpan("whole", 0, 0, None, "", "major")
    assert said(found) == [
        (1, "alpha.txt", "ann1", 90, (output(4, 8, "minor"),)),
        (1, "alpha.txt", "ann2", 70, ()),
        (1, "beta", "ann1", 40, ()),
        (2, "beta", "ann2", 55.5, (missing, output(0, 2, "critical", "Style"))),
    ], "the first segment with this source was not judged"
    assert found[0].get_marked_text(found[0].spans[0]) == "Hund"


def test_read_judgements_of_wmt_2024() -> None:
    found = read_judgements("x.jsonl", lines_of(WMT_2024), SET, ("alpha",))
    assert said(found) == [
        (1, "alpha", rater, 66, (output(4, 8, "minor"),)) for rater in ("ann1", "ann2")
    ]


@pytest.mark.parametrize("data", [lines_of(ANNOTATIONS), json_of({"demo": ANNOTATIONS})])
def test_read_judgements_of_pearmut(data: bytes) -> None:
    name = "a.json" if data.startswith(b"{\n") else "a.jsonl"
    found = read_judgements(name, data, SET, ("alpha", "beta"))
    whole = ErrorSpan("whole", 0, 0, None, "", "neutral")
    assert said(found) == [
        (1, "alpha", "ada", 85, ()),
        (1, "beta", "ada", 20, ()),
        (1, "beta", "bo", 30, (output(4, 9, "neutral"),)),
        (0, "alpha", "bo", 100, (whole,)),
    ]
    assert found[2].get_marked_text(found[2].spans[0]) == "Katze", "a break of lines is not counted"


def test_comment_in_pearmut_is_a_note() -> None:
    (first, _) = read_judgements("a.jsonl", lines_of(ANNOTATIONS[:2]), SET, ())
    assert first.spans == (
        output(4, 5, "minor"),
        ErrorSpan("whole", 0, 0, None, "", "neutral", "Use a word."),
    )
    assert first.get_marked_text(first.spans[0]) == "🐕"


def test_read_judgements_of_campaign_are_automatic() -> None:
    found = read_judgements("c.json", json_of(CAMPAIGN), SET, ("alpha", "beta"))
    assert [(one.example, one.model, one.counts) for one in found] == [
        (1, "alpha", False),
        (1, "beta", False),
    ]
    assert [one.get_marked_text(one.spans[0]) for one in found] == ["🐕", "Katze"]
    assert all(is_automatic(one.rater) for one in found)


def test_read_judgements_of_xcomet() -> None:
    found = read_judgements("c.json", json_of(COMET), SET, ("hyp.a.txt",))
    assert [(one.example, one.model, one.rater) for one in found] == [
        (1, "hyp.a.txt", "xCOMET (automatic)"),
        (0, "hyp.a.txt", "xCOMET (automatic)"),
    ]
    assert found[0].spans == (
        replace(output(4, 8, "minor"), note="confidence 0.42"),
        replace(output(9, 14, "critical"), note="confidence 0.90"),
    ), "places are those of the texts, without the blank before them"
    assert found[0].score is None and found[1].spans == ()


def test_automatic_marks_count_in_no_figure() -> None:
    dataset = read_set({"c.json": json_of(COMET)}).dataset
    rows = make_rows_from_outputs(dataset, ("Der Hund rennt.", "Es regnet."))
    marked = read_judgements("c.json", json_of(COMET), dataset, ("hyp.a.txt",))
    human = [replace(marked[0], rater=name, spans=(), score=90) for name in ("Ada", "Bo")]
    judged = group_by_example([*marked, *human], "hyp.a.txt", rows)
    assert [one.rater for one in judged[0]] == ["Ada", "Bo"] and 1 not in judged
    assert average_ratings(judged, 2)["mqm"][0] == 0
    assert repr(compute_agreement([*marked, *human])) == repr(compute_agreement(human))


def test_ratings_come_back_to_the_set_in_the_same_file() -> None:
    data = lines_of(WMT_2025)
    brought = read_set({"x.jsonl": data})
    found = read_judgements("x.jsonl", data, brought.dataset, list(brought.outputs))
    for one in found:
        assert brought.outputs[one.model][one.example] == one.output


def test_read_judgements_refuses_other_sets_and_files() -> None:
    other = Dataset("set", (Example("1", "The dog runs."),), {})
    with pytest.raises(InputError) as error:
        read_judgements("x.jsonl", lines_of(WMT_2025), other, ())
    assert str(error.value) == (
        'Line 3 of "x.jsonl" has the source "It rains.", which is not in this set. Choose the set'
        " that was judged."
    )
    one = Dataset("set", SET.examples[1:], {})
    with pytest.raises(InputError, match="which this set has less often"):
        read_judgements("x.jsonl", lines_of(WMT_2025), one, ())
    for name in ("x.csv", "x.json", "x.jsonl"):
        with pytest.raises(InputError, match=f'"{name}" is not a file of marked errors'):
            read_judgements(name, b'{"a": 1}\n', SET, ())
    with pytest.raises(InputError, match="Check the file"):
        read_judgements("x.json", b'{"a": ', SET, ())
    with pytest.raises(InputError, match="but the limit is 20 MB"):
        read_judgements("x.json", b" " * (21 << 20), SET, ())
    high = lines_of([{**WMT_2024[0], "esa_score": 101}])
    with pytest.raises(InputError, match='Line 1 of "x.jsonl" cannot be imported: The score must'):
        read_judgements("x.jsonl", high, SET, ())


def test_judgements_in_set_keep_later_changes() -> None:
    files = {"x.jsonl": lines_of(WMT_2025)}
    found = read_judgements_of_set(files, SET, ("alpha", "beta"))
    assert found == read_judgements("x.jsonl", files["x.jsonl"], SET, ("alpha", "beta"))
    changed = replace(found[0], score=10, id="a" * 24)
    assert read_judgements_of_set(files, SET, ("alpha", "beta"), [changed]) == [changed, *found[1:]]
