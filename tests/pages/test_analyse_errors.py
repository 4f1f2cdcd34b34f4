"""Analyse: errors that raters mark, scores from files, shared failures, and the report."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from areaviz.backend.backend import Backend
from areaviz.sets.app import error_marking, form
from areaviz.sets.app import error_marking as blind
from areaviz.sets.app.state import open_note_store
from areaviz.sets.notes.exchange import to_jsonl
from areaviz.sets.notes.notes import ErrorSpan, Judgement
from areaviz.sets.notes.records import Stale
from areaviz.sets.run import SETTING
from tests.pages.analysed import Translating, hold, listed, opened_first, ran, uploading
from tests.pages.conftest import Open, shown
from tests.rated_files import WMT_2025, lines_of
from tests.sets import read_lines

Use = Callable[[Backend], None]
FILES = {
    "my.en.txt": b"A dog.\nA cat.\nIt rains.\n",
    "my.de.txt": b"Ein Hund.\nDie Katze.\nEs regnet.\n",
    "hyp.a.txt": b"Ein Hund.\nEine Katze.\nx\n",
    "hyp.b.txt": b"Hund.\nDie Katze.\ny\n",
    "hyp.a.comet.csv": b"COMET\n0.9\n0.8\n0.1\n",
    "hyp.b.comet.csv": b"COMET\n0.7\n0.95\n0.2\n",
}
SET = read_lines("my.en.txt", FILES, ["my.de.txt"])
SPAN = ErrorSpan("output", 0, 4, None, "Accuracy/<b>", "major", "the $article$")
ADA = Judgement(SET.digest, 1, "hyp.a.txt", "Ada", "A cat.", "Eine Katze.", (SPAN,), 60.0)
BO = Judgement(SET.digest, 1, "hyp.a.txt", "Bo", "A cat.", "Eine Katze.", (), 90.0)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SETTING, str(tmp_path / "rows"))


def given(open_page: Open, files: dict[str, bytes] = FILES) -> AppTest:
    """Open the page with the outputs of two systems."""
    app = uploading(open_page("analyse", new="1"))
    sent = [(name, content, "text/plain") for name, content in files.items()]
    return app.file_uploader(key=form.FILES_KEY_PREFIX).set_value(sent).run()


def said(error: Any) -> str:
    """Return an error as readers see it."""
    return str(error.value).replace("\\", "")


def sheet(app: AppTest) -> dict[str, Any]:
    """Return the data of the marking sheet that the browser gets."""
    for one in app.get("bidi_component"):
        if one.proto.component_name == "areaviz.judging":
            found: dict[str, Any] = json.loads(one.proto.json)
            return found
    return {}


def test_rater_errors_become_metrics_of_examples(open_page: Open, use_backend: Use) -> None:
    use_backend(Translating())
    app = given(open_page)
    assert not app.error and "MQM (1)" not in listed(app).columns
    for one in (ADA, BO):
        open_note_store().judgements.save(one)
    seen = listed(app.run())
    assert seen.loc[1, "MQM (1)"] == "2.5" and seen.loc[1, "Judged (1)"] == "75"
    assert seen.loc[0, "MQM (1)"] == "–" and "MQM (2)" not in seen.columns
    tables = [table.value for table in app.table]
    assert any("Krippendorff's alpha" in table.columns for table in tables)
    assert any("Accuracy/<b>" in table.to_numpy() for table in tables)


def test_rater_judges_by_name_and_shows_other_raters_on_demand(
    open_page: Open, use_backend: Use
) -> None:
    use_backend(Translating())
    open_note_store().judgements.save(ADA)
    app = hold(given(open_page), example=1)
    # Differences in favour of the first system come first, so the second one is judged first.
    assert app.button_group(key="analyse_judged").value == "hyp.b.txt"
    app.button_group(key="analyse_judged").set_value("hyp.a.txt").run()
    assert not app.error and not sheet(app) and "Type your name to mark errors" in shown(app)
    app.text_input(key=blind.RATER_NAME_KEY).set_value(" Ada ").run()
    sent = sheet(app)
    assert (sent["score"], sent["version"]) == (60, 1) and len(sent["spans"]) == 1
    assert [one["text"] for one in sent["texts"]] == ["A cat.", "Eine Katze."]
    assert "the $article$" not in shown(app)
    app.text_input(key=blind.RATER_NAME_KEY).set_value("Bo").run()
    assert sheet(app)["spans"] == [] and "Accuracy/<b>" in sheet(app)["categories"]
    assert "major, Accuracy/<b> “Eine”: the $article$" in shown(app)
    app.button_group(key="analyse_judged").set_value("hyp.b.txt").run()
    assert sheet(app)["texts"][1]["text"] == "Die Katze."


@pytest.mark.long
def test_late_rater_of_a_name_chooses_a_version(open_page: Open, use_backend: Use) -> None:
    use_backend(Translating())
    store = open_note_store().judgements
    first = store.save(ADA)
    app = hold(given(open_page), example=1)
    app.text_input(key=blind.RATER_NAME_KEY).set_value("Ada").run()
    app.session_state[error_marking.STALE_KEY] = Stale(first, BO)
    app.run()
    assert "Nothing was overwritten" in app.warning[0].value and "Ada: score 60" in shown(app)


def test_judgement_of_a_former_output_is_reported(open_page: Open, use_backend: Use) -> None:
    use_backend(Translating())
    open_note_store().judgements.save(ADA)
    changed = FILES | {"hyp.a.txt": b"Ein Hund.\nDie Kuh.\nx\n"}
    app = hold(given(open_page, changed), example=1, judged="hyp.a.txt")
    app.text_input(key=blind.RATER_NAME_KEY).set_value("Ada").run()
    assert "Another output of this system was judged" in shown(app)
    assert sheet(app)["spans"] == [] and sheet(app)["version"] == 1
    assert "MQM (1)" not in listed(app).columns


def test_scores_from_files_order_the_table_and_both_fail(open_page: Open, use_backend: Use) -> None:
    use_backend(Translating())
    app = given(open_page)
    assert "scores: COMET" in shown(app)
    app = hold(app, measure="score:COMET_1")
    assert list(listed(app)["COMET (2)"]) == ["0.2", "0.7", "0.95"]
    app.toggle(key="analyse_both_fail").set_value(True).run()
    assert list(listed(app).index) == [2] and "COMET of both of at most 0.325" in shown(app)


def test_scores_without_output_and_invalid_scores_are_refused(open_page: Open) -> None:
    alone = {name: FILES[name] for name in ("my.en.txt", "my.de.txt", "hyp.a.comet.csv")}
    (error,) = given(open_page, alone).error
    assert "Choose the file with the outputs, too" in said(error)
    (error,) = given(open_page, FILES | {"hyp.a.comet.csv": b"COMET\n1\nx\n2\n"}).error
    assert 'has "x" as its COMET, which is not a number' in said(error)


@pytest.mark.long
def test_errors_are_imported_and_bad_file_gives_one_sentence(
    open_page: Open, use_backend: Use
) -> None:
    use_backend(Translating())
    app = given(open_page)
    marot = b"hyp.a\td\t2\t2\tCy\tA cat.\t<v>Eine</v> Katze.\tAccuracy\tMajor\t{}\n"
    for name, content, wanted in (
        ("e.jsonl", to_jsonl([ADA, BO]), "2 judged outputs read, 2 new."),
        ("m.tsv", marot, "1 judged output read, 1 new."),
    ):
        sent = [(name, content, "text/plain")]
        app.file_uploader(key="judged_given").set_value(sent).run()
        assert not app.error and wanted in shown(app)
    assert {one.rater for one in open_note_store().judgements.list_all(SET.digest)} == {
        "Ada",
        "Bo",
        "Cy",
    }
    app.file_uploader(key="judged_given").set_value([("x.tsv", b"a\tb\n", "text/plain")]).run()
    (error,) = app.error
    assert "but a TSV of Marot has" in said(error)


def test_errors_can_be_marked_in_model_outputs(open_page: Open, use_backend: Use) -> None:
    use_backend(Translating())
    app = opened_first(ran(open_page("analyse", new="1")))
    app.text_input(key=blind.RATER_NAME_KEY).set_value("Ada").run()
    assert not app.error and len(sheet(app)["texts"]) == 2


@pytest.mark.long
def test_automatic_errors_are_separate_and_can_be_adopted(
    open_page: Open, use_backend: Use
) -> None:
    use_backend(Translating())
    span = {"text": "Die", "confidence": 0.5, "severity": "major", "start": 0, "end": 3}
    entries = [{"src": "A cat.", "mt": "Die Katze.", "COMET": 0.5, "errors": [span]}]
    app = given(open_page)
    file = json.dumps({"hyp.b.txt": entries}).encode()
    app.file_uploader(key="judged_given").upload("xcomet.json", file, "application/json").run()
    assert not app.error and "MQM (2)" not in listed(app).columns, "a program counts in no figure"
    app = hold(app, example=1)
    assert "Marked by xCOMET" in shown(app)
    assert "• major “Die”: confidence 0.50" in [one.value for one in app.text]
    assert not [one for one in app.button if one.label == "Start from these"], "nobody is named"
    app.text_input(key=blind.RATER_NAME_KEY).set_value("Ada").run()
    (take,) = [one for one in app.button if one.label == "Start from these"]
    assert sheet(app)["spans"] == []
    take.click().run()
    (mine,) = sheet(app)["spans"]
    assert (mine["start"], mine["end"], mine["severity"]) == (0, 3, "major")
    assert sheet(app)["version"] == 0, "nothing is saved before the rater saves"
    app.text_input(key=blind.RATER_NAME_KEY).set_value("x (automatic)").run()
    assert "belong to programs" in shown(app) and not sheet(app)


def test_ratings_in_files_of_a_set_are_imported_by_click(open_page: Open, use_backend: Use) -> None:
    use_backend(Translating())
    app = given(open_page, {"humeval.jsonl": lines_of(WMT_2025)})
    assert not app.error and "MQM (1)" not in listed(app).columns
    app = app.button(key="set_marks").click().run()
    assert not app.error and not app.exception
    assert listed(app).loc[0, "MQM (1)"] == "0.5" and listed(app).loc[0, "Judged (1)"] == "80"
    assert not [one for one in app.button if one.key == "set_marks"]


def test_ratings_and_campaigns_are_downloads(open_page: Open, use_backend: Use) -> None:
    use_backend(Translating())
    app = given(open_page)
    labels = [one.proto.label for one in app.get("download_button")]
    assert "Campaign (JSON)" in labels and "WMT JSON Lines" not in labels
    open_note_store().judgements.save(ADA)
    app.run()
    assert "WMT JSON Lines" in [one.proto.label for one in app.get("download_button")]
