"""Files with rated outputs become sets: sources, references, outputs, scores and metadata."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from areaviz.sets import files as rated_files
from areaviz.sets import rated_outputs
from areaviz.sets.dataset import BuiltDataset, read_set
from areaviz.sets.pearmut import find_counted_places
from areaviz.trace.errors import InputError
from tests.rated_files import (
    ANNOTATIONS,
    CAMPAIGN,
    COMET,
    ITEMS,
    WMT_2024,
    WMT_2025,
    json_of,
    lines_of,
)


def read(name: str, data: bytes) -> BuiltDataset:
    return read_set({name: data})


def sources(brought: BuiltDataset) -> list[str]:
    return [one.text for one in brought.dataset.examples]


def test_wmt_2025_has_outputs_scores_and_documents() -> None:
    found = read("humeval.jsonl", lines_of(WMT_2025))
    assert sources(found) == ["The dog runs.", "It rains.", "It rains."]
    assert found.outputs["alpha"] == ("Der Hund rennt.", "Es regnet.", None)
    assert found.outputs["beta"] == ("Die Katze rennt.", "Es schneit.", "Es regnet.")
    assert found.scores["alpha"]["human"][0] == 80, "the mean of two raters"
    assert found.scores["beta"]["human"][::2] == (40, 55.5)
    assert found.dataset.metadata["domain"] == ("news", "news", "chat")
    assert found.dataset.metadata["langs"] == ("en-de_DE",) * 3
    documents = ("en-de_DE_#_news_#_paper.1",) * 2
    assert found.dataset.metadata["doc"] == (*documents, "en-de_DE_#_chat_#_talk")
    assert found.dataset.examples[1].name == "en-de_DE_#_news_#_paper.1_#_1"
    assert '"humeval.jsonl" also contains ratings and marked errors.' in found.notes
    assert list(found.marked) == ["humeval.jsonl"]


def test_wmt_2025_control_tasks_have_lists_of_ratings() -> None:
    ratings = [{"human": 80, "annotator": "a", "errors": []}, {"human": 60, "annotator": "b"}]
    line = {"scores": {"x": ratings}, "src_text": "A", "tgt_text": {"x": "B"}, "doc_id": "s"}
    found = read("control.jsonl", lines_of([line]))
    assert found.scores["x"]["human"] == (70,) and not found.dataset.metadata


def test_wmt_2024_ratings_of_one_output_are_one_row() -> None:
    found = read("wmt24_esa.jsonl", lines_of(WMT_2024))
    assert sources(found) == ["The dog runs."] and found.outputs == {"alpha": ("Der Hund rennt.",)}
    assert found.scores["alpha"]["human"] == (66,)
    assert found.dataset.metadata == {"langs": ("en-de",), "domain": ("news",), "doc": ("test_1",)}


@pytest.mark.parametrize("by_task", [True, False])
def test_pearmut_campaign_is_read_as_dataset(by_task: bool) -> None:
    campaign = copy.deepcopy(CAMPAIGN)
    if not by_task:
        campaign |= {"info": {"assignment": "single-stream"}, "data": [ITEMS]}
    for data in (json_of(campaign), json.dumps(campaign).encode()):
        found = read("campaign.json", data)
        assert sources(found) == ["The dog runs.", "It rains."], "two tasks have the same items"
        assert found.outputs["beta"] == ("Die\nKatze rennt.", "Ja.")
        assert [one.references for one in found.dataset.examples] == [("Der Hund läuft.",), ()]
        assert [one.name for one in found.dataset.examples] == ["doc_1_#_0", "doc_1_#_1"]
        assert found.dataset.metadata["domain"] == ("news", "")


@pytest.mark.parametrize("data", [lines_of(ANNOTATIONS), json_of({"demo": ANNOTATIONS})])
def test_pearmut_annotations_are_read_as_dataset(data: bytes) -> None:
    found = read("a.json" if data.startswith(b"{\n") else "a.jsonl", data)
    assert sources(found) == ["The dog runs.", "It rains."]
    assert found.scores["alpha"]["human"] == (85, 100), "only the later of two annotations counts"
    assert found.scores["beta"]["human"][0] == 25


def test_comet_json_has_systems_and_scores() -> None:
    for data in (json_of(COMET), json.dumps(COMET).encode()):
        found = read("scores.json", data)
        assert list(found.outputs) == ["hyp.a.txt", "hyp.b.txt"]
        assert found.outputs["hyp.b.txt"] == ("Katze", "Es regnet.")
        assert found.scores["hyp.a.txt"] == {"COMET": (0.875, 1.0)}
        assert [one.references for one in found.dataset.examples][1] == ("Es regnet.",)


def test_outputs_with_only_error_spans_are_read() -> None:
    span = {"text": "B", "confidence": 0.5, "severity": "minor", "start": 0, "end": 1}
    marked = {"src": "A", "mt": "B", "error_spans": [span]}
    entries: list[dict[str, Any]] = [marked, {"src": "C", "mt": "D"}]
    for name, data in (("mine.json", json_of(entries)), ("mine.jsonl", lines_of(entries))):
        assert read(name, data).outputs == {"mine": ("B", "D")}


def test_empty_error_span_is_refused() -> None:
    span = {"text": "", "confidence": 0.5, "severity": "minor", "start": 1, "end": 1}
    entries = [{"src": "A", "mt": "Be", "error_spans": [span]}]
    with pytest.raises(InputError, match='needs a whole number as "start" and a larger one'):
        read("mine.json", json_of(entries))


def test_pearmut_counts_units_of_utf_16_without_breaks() -> None:
    assert find_counted_places("a🐕\nb") == [0, 1, 1, 3, 4]


def broken(entries: list[dict[str, Any]], change: Callable[[Any], None]) -> bytes:
    changed = copy.deepcopy(entries)
    change(changed)
    return lines_of(changed)


def test_damaged_ratings_are_refused_with_their_line() -> None:
    def refused(name: str, data: bytes) -> str:
        with pytest.raises(InputError) as error:
            read(name, data)
        return str(error.value)

    def late(entries: Any) -> None:
        entries[0]["scores"]["alpha"]["errors1"][0]["end_i"] = 16

    said = refused("x.jsonl", broken(WMT_2025, late))
    assert said == (
        'Line 1 of "x.jsonl", system "alpha", error 1 goes from character 4 to 16, but the output'
        " has 15. Correct it."
    )
    for change, wanted in (
        (
            lambda one: one[0].update(src_text=3),
            'Line 1 of "x.jsonl" has no text in "src_text"',
        ),
        (lambda one: one[0].update(scores=[]), 'has a "scores" that is not an object'),
        (lambda one: one[0]["tgt_text"].pop("alpha"), "has scores but no output"),
        (lambda one: one[0]["scores"].update(alpha=3), "ratings that are not an object"),
        (
            lambda one: one[0]["scores"]["alpha"].update(human1="x"),
            'its "human1", which is not a number',
        ),
        (lambda one: one[0]["scores"]["alpha"].update(human1=1e999), "is not a number"),
        (lambda one: one[0]["scores"]["alpha"].update(errors1={}), "not a list of objects"),
        (lambda one: one[1].clear(), 'Line 2 of "x.jsonl" is not a line of a human evaluation'),
    ):
        assert wanted in refused("x.jsonl", broken(WMT_2025, change))
    for change, wanted in (
        (lambda one: one[1].update(tgt="Ja."), "different output of the system"),
        (lambda one: one[1].update(esa_spans=[{"start_i": None}]), "no whole numbers"),
    ):
        assert wanted in refused("x.jsonl", broken(WMT_2024, change))


def test_damaged_campaigns_are_refused() -> None:
    changes: tuple[tuple[Callable[[Any], object], str], ...] = (
        (lambda one: one.update(data=3), '"data" that is not a list of tasks'),
        (lambda one: one.update(data=[[3]]), "needs a list of documents"),
        (lambda one: one.update(data=[[[3]]]), "task 1, document 1, item 1 is not an object"),
        (lambda one: one["data"][0][0][0].update(tgt="x"), '"tgt" that is not an object'),
        (lambda one: one["data"][0][0][0]["tgt"].update(alpha=1), 'no text in "alpha"'),
        (lambda one: one["data"][0][0][0]["tgt"].pop("alpha"), "but not its output"),
        (lambda one: one.update(data=[]), "has no segments"),
    )
    for change, wanted in changes:
        campaign = copy.deepcopy(CAMPAIGN)
        change(campaign)
        with pytest.raises(InputError, match=wanted):
            read("c.json", json_of(campaign))
    lines = copy.deepcopy(ANNOTATIONS)
    lines[1]["annotation"].pop()
    with pytest.raises(InputError, match="one annotation for each item"):
        read("a.jsonl", lines_of(lines))


def test_error_spans_outside_the_output_are_refused() -> None:
    comet = copy.deepcopy(COMET)
    comet["out/hyp.a.txt"][0]["errors"][0]["text"] = "Katze"
    with pytest.raises(InputError) as error:
        read("c.json", json_of(comet))
    assert str(error.value) == (
        '"c.json", entry 1 of "out/hyp.a.txt", error 1 marks "Katze" from character 3 to 8, but'
        " the output (15 characters) does not contain this text. Score the outputs again."
    )


def test_ratings_and_systems_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    many = {f"s{number}": "x" for number in range(201)}
    line = {"scores": {}, "src_text": "A", "tgt_text": many, "doc_id": "s"}
    with pytest.raises(InputError, match='"x.jsonl" has more than 200 systems'):
        read("x.jsonl", lines_of([line]))
    monkeypatch.setattr(rated_outputs, "MAX_RATED", 6)
    assert read("x.jsonl", lines_of(WMT_2025[:1])).outputs, "three ratings and an error"
    with pytest.raises(InputError, match="more than 6 ratings and marked errors"):
        read("x.jsonl", lines_of(WMT_2025))
    item = {"src": "A", "tgt": {"a": "B"}, **{f"m{number}": "x" for number in range(200)}}
    campaign = {"campaign_id": "c", "info": {}, "data": [[[item]]]}
    with pytest.raises(InputError, match="columns, but the limit is 200"):
        read("c.json", json_of(campaign))


def test_long_first_line_is_not_parsed_to_find_the_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: object) -> None:
        pytest.fail("the line is parsed")

    monkeypatch.setattr(rated_files, "parse_json_object", refuse)
    assert (
        rated_files.parse_first_object("x.jsonl", b'{"a": "' + b"x" * 2**18 + b'"}\n{}\n') is None
    )


def test_files_with_marked_errors_next_to_table_are_found() -> None:
    head = "system\tdoc\tdocSegId\tglobalSegId\trater\tsource\ttarget\tcategory\tseverity\tmetadata"
    errors = head + "\nalpha\td\t1\t1\tAda\tA dog.\t<v>Ein</v> Hund.\tStyle\tminor\t{}\n"
    files = {
        "set.csv": b"source,output_alpha\nA dog.,Ein Hund.\n",
        "mqm.tsv": errors.encode(),
        "mqm.csv": errors.replace("\t", ",").encode(),
    }
    found = read_set(files)
    assert list(found.marked) == ["mqm.tsv"] and list(found.outputs) == ["alpha"]
    assert '"mqm.tsv" contains errors that raters marked in a set.' in found.notes
    assert any("It is not used. Save it as Marot's TSV" in note for note in found.notes)
    unrated = [{**WMT_2025[1]}]
    assert not read("humeval.jsonl", lines_of(unrated)).marked
