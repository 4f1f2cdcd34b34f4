"""Analyse: running a set, stopping it, showing its results, and opening an example."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from areaviz.backend.backend import OWN_WORK, Backend, Caller
from areaviz.sets import run as rows_module
from areaviz.sets.app import form
from areaviz.sets.app.notes import AUTHOR_KEY
from areaviz.sets.app.result import BUCKETS_KEY, COMPARISON_KEY
from areaviz.sets.app.runs import get_jobs
from areaviz.sets.app.state import open_note_store
from areaviz.sets.app.themes import SLICE_NAME_KEY, SLICE_TABLE_KEY
from areaviz.sets.jobs import Job
from areaviz.sets.run import IN_FLIGHT, SETTING
from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Progress, Request
from tests.pages.analysed import (
    Translating,
    button,
    hold,
    keyed,
    listed,
    opened_first,
    ran,
    state_of,
    tables,
    uploading,
    write,
)
from tests.pages.conftest import Open, shown

Use = Callable[[Backend], None]
COUNT = 24
"""Number of sentences in the first sample set."""


@pytest.fixture(autouse=True)
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(SETTING, str(tmp_path / "rows"))
    return tmp_path / "rows"


def test_set_is_run_and_shown(open_page: Open, use_backend: Use, rows: Path) -> None:
    use_backend(Translating())
    app = open_page("analyse", new="1")
    assert not app.exception and f"{COUNT} examples, {COUNT} with references" in shown(app)
    assert listed(app).empty and not rows.exists()
    ran(app)
    assert not app.exception and not app.error
    assert len(listed(app)) == COUNT and len(list(rows.glob("*.jsonl"))) == 1
    assert {"Source", "Output", "Reference", "BLEU", "Confidence"} <= set(listed(app).columns)
    assert not any(one.label.startswith(("Run", "Go on")) for one in app.button)


@pytest.mark.long
def test_rows_of_a_different_version_stay_unchanged(
    open_page: Open, use_backend: Use, rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_backend(Translating())
    ran(open_page("analyse", new="1"))
    (older,) = rows.glob("*.jsonl")
    monkeypatch.setattr(rows_module, "VERSION", 999)
    app = open_page("analyse", new="1")
    assert (
        not app.exception
        and not app.error
        and any(one.label == f"Run {COUNT} examples" for one in app.button)
    )
    assert list(rows.glob("*.jsonl")) == [older]


@pytest.mark.long
def test_two_models_are_side_by_side(open_page: Open, use_backend: Use) -> None:
    use_backend(Translating())
    app = open_page("analyse", new="1")
    app.selectbox(key="analyse_compare").set_value("char-regular").run()
    ran(app)
    assert not app.exception and not app.error
    columns = set(listed(app).columns)
    assert {"Output (1)", "Output (2)", "BLEU (1)", "BLEU (2)", "BLEU, change"} <= columns


@pytest.mark.long
def test_running_model_is_reported_and_not_started_twice(
    open_page: Open, use_backend: Use, rows: Path
) -> None:
    gate = threading.Event()

    def hold(_: Request) -> None:
        gate.wait()

    backend = Translating(hold)
    use_backend(backend)
    alone, pair = open_page("analyse", new="1"), open_page("analyse", new="1")
    button(alone, "Run").click().run()
    pair.selectbox(key="analyse_compare").set_value("char-regular").run()
    button(pair, "Run").click().run()
    for job in list(get_jobs()._jobs.values())[1:]:
        job.wait()
    assert "This analysis is already running" in pair.run().error[0].value
    gate.set()
    for job in list(get_jobs()._jobs.values()):
        job.wait()
    assert backend.asked == COUNT
    button(pair.run(), f"Go on with the other {COUNT}").click().run()
    for job in list(get_jobs()._jobs.values()):
        job.wait()
    assert backend.asked == 2 * COUNT and not pair.run().error
    assert all(len(path.read_text().splitlines()) == 1 + COUNT for path in rows.glob("*.jsonl"))


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set when Stop has been pressed, before the page waits for the end of the analysis."""
    pressed, stop = threading.Event(), Job.stop

    def stop_and_note(job: Job, reason: str = "") -> None:
        stop(job, reason)
        pressed.set()

    monkeypatch.setattr(Job, "stop", stop_and_note)
    return pressed


def test_stopped_analysis_continues(
    open_page: Open, use_backend: Use, stopped: threading.Event
) -> None:
    begun = threading.Semaphore(0)

    def hold(request: Request) -> None:
        begun.release()
        if "dog runs" not in request.text:
            stopped.wait()

    backend = Translating(hold)
    use_backend(backend)
    app = open_page("analyse", new="1")
    button(app, "Run").click().run()
    for _ in range(IN_FLIGHT):
        begun.acquire()
    button(app, "Stop").click().run()
    for job in list(get_jobs()._jobs.values()):
        job.wait()
    app.run()
    done = backend.asked
    assert IN_FLIGHT <= done < COUNT
    assert len(listed(app)) == done, "answers that came after Stop are kept"
    button(app, f"Go on with the other {COUNT - done}").click().run()
    for job in list(get_jobs()._jobs.values()):
        job.wait()
    app.run()
    assert len(listed(app)) == COUNT and backend.asked == COUNT


def test_failing_model_is_reported_and_rows_are_kept(open_page: Open, use_backend: Use) -> None:
    def fail(request: Request) -> None:
        if request.text.startswith("A brown horse"):
            raise BackendError("The device is gone; try again.")

    use_backend(Translating(fail))
    app = ran(open_page("analyse", new="1"))
    assert not app.exception and "The device is gone" in app.error[0].value
    assert any(one.label.startswith("Go on") for one in app.button)


def test_failing_example_has_reason_in_table(open_page: Open, use_backend: Use) -> None:
    def refuse(request: Request) -> None:
        if "beach" in request.text:
            raise InputError("Too long. Shorten it.")

    use_backend(Translating(refuse))
    app = ran(open_page("analyse", new="1"))
    assert list(listed(app)["Not run"]).count("Too long. Shorten it.") == 1


def test_search_shows_only_matching_rows(open_page: Open, use_backend: Use) -> None:
    use_backend(Translating())
    app = ran(open_page("analyse", new="1"))
    app.text_input(key="analyse_search").set_value("BEACH").run()
    assert len(listed(app)) == 1
    app.text_input(key="analyse_search").set_value("[").run()
    assert not app.exception and "Nothing found. Change the search" in shown(app)
    assert listed(app).empty


def test_example_opens_and_next_button_moves_on(open_page: Open, use_backend: Use) -> None:
    use_backend(Translating())
    app = ran(open_page("analyse", new="1"))
    order = list(listed(app).index)
    hold(app, example=order[0])
    assert (
        not app.exception
        and f"1 of {COUNT}" in shown(app)
        and "words are not in the reference" in shown(app)
    )
    assert button(app, "Previous").disabled
    button(app, "Next").click().run()
    assert state_of(app).example == order[1] and f"2 of {COUNT}" in shown(app)


def test_note_is_saved_shown_changed_and_removed(open_page: Open, use_backend: Use) -> None:
    use_backend(Translating())
    app = opened_first(ran(open_page("analyse", new="1")))
    app.text_input(key=AUTHOR_KEY).set_value("Ada")
    write(app, "Accuracy", "Says $dog$ for <b>cat</b>")
    assert (
        not app.exception
        and not app.error
        and "Saved." in shown(app)
        and "Says $dog$ for <b>cat</b>" in shown(app)
    )
    assert "neutral · char-area" not in shown(app) and "Ada" in shown(app)
    assert keyed(app.text_area, "note_form_text").value in ("", None), (
        "the form is empty for the next"
    )
    fresh = opened_first(open_page("analyse", new="1"))
    assert "Says $dog$" in shown(fresh)
    button(fresh, "Edit").click().run()
    assert keyed(fresh.text_area, "note_form_text").value == "Says $dog$ for <b>cat</b>"
    write(fresh, "Style", "another")
    assert (
        "another" in shown(fresh) and "Style" in shown(fresh) and "Says $dog$" not in shown(fresh)
    )
    button(fresh, "Remove").click().run()
    assert "another" not in shown(fresh) and "Removed." in shown(fresh)


def test_untagged_note_gets_a_tag_and_empty_note_is_refused(
    open_page: Open, use_backend: Use
) -> None:
    use_backend(Translating())
    app = opened_first(ran(open_page("analyse", new="1")))
    button(app, "Save the note").click().run()
    assert "The note is empty" in app.error[0].value
    keyed(app.text_area, "note_form_text").set_value("long thought")
    button(app, "Save the note").click().run()
    (note,) = open_note_store().notes.list_all(state_of(app).digest)
    assert not app.error and (note.tag, note.note) == ("Note", "long thought")


@pytest.mark.long
def test_late_writer_sees_both_texts_and_chooses(open_page: Open, use_backend: Use) -> None:
    use_backend(Translating())
    hers = write(opened_first(ran(open_page("analyse", new="1"))), "Style", "first")
    his = opened_first(open_page("analyse", new="1"))
    for app in (hers, his):
        button(app, "Edit").click().run()
    write(hers, "Style", "hers")
    write(his, "Style", "his")
    assert "saved another text meanwhile" in his.warning[0].value
    assert "hers" in shown(his) and "his" in shown(his)
    button(his, "Save mine").click().run()
    again = shown(opened_first(open_page("analyse", new="1")))
    assert not his.warning and "his" in again and "hers" not in again


@pytest.mark.long
def test_slice_is_saved_chosen_and_measured(open_page: Open, use_backend: Use) -> None:
    use_backend(Translating())
    app = ran(open_page("analyse", new="1"))
    app.text_input(key="analyse_search").set_value("dog").run()
    count = len(listed(app))
    assert 1 < count < COUNT
    app.text_input(key=SLICE_NAME_KEY).set_value("dogs").run()
    button(app, "Save ").click().run()
    app.text_input(key="analyse_search").set_value("").run()
    assert not app.exception and not app.error
    assert not app.dataframe, "slices are measured only while they are looked at"
    app.session_state[SLICE_TABLE_KEY] = True
    app.selectbox(key="analyse_slice").set_value("dogs").run()
    slices, table = app.dataframe[0].value, listed(app)
    assert list(slices["Slice"]) == ["All examples", "dogs"] and list(slices["Examples"]) == [
        COUNT,
        count,
    ]
    assert len(table) == count and slices["chrF"].notna().all()
    opened_first(app)
    write(app, "Accuracy", "x")
    assert app.run().dataframe[0].value["Notes"].tolist() == [
        "Accuracy 1",
        "Accuracy 1",
        "Accuracy 1",
    ]
    assert app.dataframe[0].value["Slice"].tolist()[-1] == "Tagged: Accuracy"


@pytest.mark.long
def test_two_models_are_compared(open_page: Open, use_backend: Use) -> None:
    use_backend(Translating())
    app = open_page("analyse", new="1")
    app.selectbox(key="analyse_compare").set_value("char-regular").run()
    ran(app)
    assert not any("Wins" in table.value.columns for table in app.table), (
        "nothing is computed before it is asked for"
    )
    app.session_state[COMPARISON_KEY] = app.session_state[BUCKETS_KEY] = True
    app.run()
    heads = [set(table.value.columns) for table in app.table]
    assert any({"Measure", "Wins", "Losses", "95 % interval"} <= head for head in heads)
    words = tables(app)["analyse_words_0"]["columns"]
    assert [column["title"] for column in words] == ["Words", "(1)", "(2)", "Examples"]
    button(app, "Test BLEU").click().run()
    assert not app.exception and "two-sided approximate randomisation by sacrebleu" in shown(app)
    for kind in ("score", "rarest", "words"):
        app.segmented_control(key="analyse_bucket").set_value(kind).run()
        assert not app.exception and not app.error


def test_notes_are_imported_and_bad_file_gives_one_sentence(
    open_page: Open, use_backend: Use
) -> None:
    use_backend(Translating())
    app = write(opened_first(ran(open_page("analyse", new="1"))), "Style", "kept")
    assert "1 note on this set" in shown(app)
    app.file_uploader(key="notes_given").upload("a.csv", b"nonsense", "text/csv").run()
    assert not app.exception and "is not a csv file of notes" in app.error[0].value


def test_files_too_large_in_total_are_refused(
    open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = uploading(open_page("analyse", new="1"))
    files = [
        ("a.txt", b"a dog\n" * 100_000, "text/plain"),
        ("b.txt", b"a cat\n" * 100_000, "text/plain"),
    ]
    monkeypatch.setattr(form, "MAX_SET_MEGABYTES", 1)
    app = app.file_uploader(key=form.FILES_KEY_PREFIX).set_value(files).run()
    assert not app.exception and len(app.error) == 1
    assert "The files together have 1.1 MB. The limit is 1 MB. Remove some" in shown(app)
    app = (
        app.file_uploader(key=form.FILES_KEY_PREFIX)
        .set_value([("a.txt", b"a dog\n", "text/plain")])
        .run()
    )
    assert not app.error and "1 example" in shown(app)


def stops(app: AppTest) -> int:
    return sum(one.label == "Stop" for one in app.button)


def test_only_the_owner_can_stop_an_analysis(open_page: Open, use_backend: Use) -> None:
    gate = threading.Event()
    use_backend(Translating(lambda _: held(gate)))
    hers, his = open_page("analyse", new="1"), open_page("analyse", new="1")
    button(hers, "Run").click().run()
    his.run()
    assert (
        stops(hers) == 1 and stops(his) == 0 and "Another reader began this analysis" in shown(his)
    )
    gate.set()
    button(hers, "Stop").click().run()
    assert not his.run().exception


def held(gate: threading.Event) -> None:
    gate.wait()


@pytest.mark.long
def test_user_runs_two_analyses_and_sees_those_of_other_sets(
    open_page: Open, use_backend: Use, stopped: threading.Event
) -> None:
    use_backend(Translating(lambda _: held(stopped)))
    app = open_page("analyse", new="1")
    for model in ("char-area", "char-regular"):
        app.selectbox(key="analyse_model").set_value(model).run()
        button(app, "Run").click().run()
    assert not app.exception and not app.error and stops(app) == 2, (
        "this one, and the other that is not shown"
    )
    app.selectbox(key="analyse_compare").set_value("char-area").run()
    button(app, "Run").click().run()
    assert "may have 2 analyses running" in app.error[0].value
    other, _ = get_jobs().running()
    button(app, "Stop").click().run()
    assert other.stopping.is_set() and not other.running


def test_analysis_runs_in_the_background(open_page: Open, use_backend: Use) -> None:
    asked: list[bool] = []

    class Noting(Translating):
        def trace(
            self, request: Request, progress: Progress | None = None, caller: Caller = OWN_WORK
        ) -> Trace:
            asked.append(caller.in_background)
            return super().trace(request, progress, caller)

    use_backend(Noting())
    ran(open_page("analyse", new="1"))
    assert asked == [True] * COUNT
