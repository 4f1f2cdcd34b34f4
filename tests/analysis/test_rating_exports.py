"""Ratings are exported in WMT's format and sets as Pearmut campaigns, and imported again."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from areaviz.samples.dataset import Dataset, Example
from areaviz.sets.dataset import read_set
from areaviz.sets.notes.exchange import MAX_RATERS, to_campaign, to_wmt
from areaviz.sets.notes.marot import read_judgements
from areaviz.sets.notes.notes import ErrorSpan, Judgement
from areaviz.sets.pearmut import find_counted_span
from areaviz.trace.errors import InputError
from tests.rated_files import lines_of

EXAMPLES = (
    Example("a", "It rains.", ("Es regnet.",)),
    Example("b", "The dog runs."),
    Example("c", "It rains."),
)
SET = Dataset("my set", EXAMPLES, {}, metadata={"doc": ("d1", "d1", "d2")})
OUTPUTS = {
    "hyp.a.txt": {0: "Es regnet.", 1: "Der 🐕\nrennt.", 2: "Es schneit."},
    "7": {0: "Ja.", 2: "Nein."},
}
MARKS = (
    ErrorSpan("output", 6, 11, None, "Style", "critical", "too plain"),
    ErrorSpan("whole", 0, 0, None, "Omission", "major", "the word"),
    ErrorSpan("source", 0, 3, None, "", "neutral"),
)
ADA = Judgement(SET.digest, 1, "hyp.a.txt", "Ada", "The dog runs.", "Der 🐕\nrennt.", MARKS, 62.5)
BO = replace(ADA, rater="Bo", spans=(), score=None)
PROGRAM = replace(ADA, rater="xCOMET (automatic)", spans=MARKS[:1], score=None)
STALE = replace(ADA, model="7", example=0, source="It rains.", output="Nun.", spans=())


def words(judgements: list[Judgement]) -> list[tuple[object, ...]]:
    return sorted((one.words() for one in judgements), key=repr)


def test_to_wmt_ratings_match_their_examples() -> None:
    data = to_wmt([BO, ADA, PROGRAM, STALE], SET, OUTPUTS)
    found = read_judgements("x.jsonl", data, SET, list(OUTPUTS))
    assert words(found) == words(
        [
            replace(ADA, spans=(MARKS[0], MARKS[1], MARKS[2])),
            BO,
        ]
    ), "programs and earlier outputs are left out"
    lines = [json.loads(line) for line in data.decode().splitlines()]
    names = [f"und_#_unknown_#_{name}" for name in ("d1_#_a", "d1_#_b", "d2_#_c")]
    assert [line["doc_id"] for line in lines] == names
    assert lines[1]["tgt_text"] == {"hyp.a.txt": "Der 🐕\nrennt."}, "the other one was not run"
    first = lines[1]["scores"]["hyp.a.txt"]
    assert (first["human1"], first["annotator1"], first["annotator2"]) == (62.5, "Ada", "Bo")
    assert first["errors1"][0]["start_i"] == 6 and first["errors1"][0]["end_i"] == 10


def test_to_wmt_is_a_set_again() -> None:
    brought = read_set({"x.jsonl": to_wmt([ADA], SET, OUTPUTS)})
    assert [one.text for one in brought.dataset.examples] == [one.text for one in EXAMPLES]
    assert brought.outputs["7"] == ("Ja.", None, "Nein.")
    documents = tuple(f"und_#_unknown_#_{name}" for name in ("d1", "d1", "d2"))
    assert brought.dataset.metadata["doc"] == documents


def campaign(**given: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(to_campaign(SET, OUTPUTS, [ADA, PROGRAM], **given))
    return found


def test_to_campaign_has_documents_and_automatic_marks() -> None:
    made = campaign(raters=2)
    assert made["campaign_id"] == f"my_set_{SET.digest[:8]}"
    assert made["info"] == {"assignment": "task-based", "protocol": "ESA", "shuffle": False}
    first, second = made["data"]
    assert first == second and [len(document) for document in first] == [2, 1]
    (rain, dog), (_,) = first
    assert rain["tgt"] == {"hyp_a_txt": "Es regnet.", "system_7": "Ja."}
    assert (rain["src"], rain["ref"], rain["doc"]) == ("It rains.", "Es regnet.", "d1")
    assert dog["error_spans"] == {
        "hyp_a_txt": [{"start_i": 6, "end_i": 10, "severity": "major", "category": "Style"}]
    }, "a dog counts twice and a break of lines not at all"
    assert "error_spans" not in str(campaign(protocol="DA"))


def test_imported_campaign_equals_exported_set() -> None:
    brought = read_set({"c.json": to_campaign(SET, OUTPUTS)})
    assert brought.dataset.digest == SET.digest
    assert brought.dataset.metadata == SET.metadata
    assert brought.outputs["hyp.a.txt"] == tuple(OUTPUTS["hyp.a.txt"].values())
    assert brought.outputs["7"] == ("Ja.", None, "Nein.")


def test_annotations_of_a_campaign_come_back_to_its_examples() -> None:
    """Check the last example, which has the first one's source and is the only rated one."""
    (document,) = campaign()["data"][0][1:]
    spans = [{"start_i": 0, "end_i": 1, "severity": "minor", "category": None}]
    annotation = {"system_7": {"score": 50, "error_spans": spans}}
    line = {"user_id": "ada", "item_i": 1, "item": document, "annotation": [annotation]}
    (found,) = read_judgements("a.jsonl", lines_of([line]), SET, list(OUTPUTS))
    assert (found.example, found.model, found.rater, found.score) == (2, "7", "ada", 50)
    assert found.get_marked_text(found.spans[0]) == "Ne"


def test_to_campaign_refuses_sets_unsupported_by_pearmut() -> None:
    for given, said in (
        ({"protocol": "X"}, "X"),
        ({"raters": 0}, f"1 to {MAX_RATERS} raters"),
        ({"raters": MAX_RATERS + 1}, "Choose a number"),
    ):
        with pytest.raises(InputError, match=said):
            campaign(**given)
    with pytest.raises(InputError, match="No system has an output"):
        to_campaign(SET, {"a": {}})
    pictures = Dataset("p", (Example("1", "", file="a.png"),), {"a.png": b"x"})
    with pytest.raises(InputError, match="this set has pictures"):
        to_campaign(pictures, {"a": {0: "A dog."}})


def test_counted_span_ignores_line_breaks() -> None:
    assert find_counted_span("a\n🐕b", 1, 2) is None
    assert find_counted_span("a\n🐕b", 0, 3) == (0, 2)
    assert find_counted_span("a\n🐕b", 3, 4) == (3, 3)
