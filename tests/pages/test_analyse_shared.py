"""On the page Analyse, readers own the notes that they imported and the slices they saved."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from areaviz.backend.backend import Backend
from areaviz.samples.sample_sets import SAMPLE_SETS
from areaviz.sets.app import notes as notes_exchange
from areaviz.sets.app.state import open_note_store
from areaviz.sets.app.themes import SLICE_NAME_KEY
from areaviz.sets.notes.exchange import from_bytes, to_bytes
from areaviz.sets.notes.notes import Annotation, Judgement
from areaviz.sets.run import SETTING
from areaviz.trace.errors import InputError
from tests.pages.analysed import Translating, button, opened_first, ran, state_of, write
from tests.pages.conftest import Open, shown

Use = Callable[[Backend], None]


@pytest.fixture(autouse=True)
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SETTING, str(tmp_path / "rows"))


def note_file(digest: str, *places: int) -> bytes:
    """Return a CSV file with one note for the example at each place in the set."""
    notes = [
        Annotation(digest, place, "", "Style", note=f"note {number}", id=f"{number}", version=1)
        for number, place in enumerate(places)
    ]
    return to_bytes(notes, "csv")


@pytest.mark.long
def test_imported_notes_are_drawn_in_parts_and_undone(open_page: Open, use_backend: Use) -> None:
    use_backend(Translating())
    mine = opened_first(ran(open_page("analyse", new="1")))
    digest, place = SAMPLE_SETS["Sentences"]().digest, state_of(mine).example
    write(mine, "Accuracy", "written here")
    file = note_file(digest, *[place or 0] * 45)
    mine.file_uploader(key="notes_given").upload("a.csv", file, "text/csv").run()
    hers = opened_first(open_page("analyse", new="1"))
    assert len(keyed_all(hers, "copy_")) == 19 and "20 of 46 notes" in shown(hers)
    assert "written here" in shown(hers) and len(keyed_all(hers, "edit_")) == 1
    button(hers, "Show more notes").click().run()
    assert len(keyed_all(hers, "copy_")) == 39 and "40 of 46 notes" in shown(hers)
    button(hers, "Copy").click().run()
    assert "Copied." in shown(hers) and open_note_store().notes.count(digest) == 47
    assert not keyed_all(hers, "undo_")
    button(mine.run(), "Undo the import").click().run()
    assert "Removed 45 notes." in mine.toast[0].value
    kept = {note.note for note in open_note_store().notes.list_all(digest)}
    assert "written here" in kept and len(kept) == 2


def keyed_all(app: AppTest, beginning: str) -> list[str]:
    return [str(one.key) for one in app.button if str(one.key).startswith(beginning)]


def test_delete_all_of_mine_deletes_imports(open_page: Open, use_backend: Use) -> None:
    use_backend(Translating())
    app = ran(open_page("analyse", new="1"))
    digest = SAMPLE_SETS["Sentences"]().digest
    app.file_uploader(key="notes_given").upload("a.csv", note_file(digest, 0, 1), "text/csv").run()
    button(app, "Delete all of mine").click().run()
    assert "2 notes" in app.toast[0].value and open_note_store().notes.count(digest) == 0


def test_slice_of_another_user_stays(open_page: Open, use_backend: Use) -> None:
    use_backend(Translating())
    mine = ran(open_page("analyse", new="1"))
    hers = open_page("analyse", new="1")
    for app in (mine, hers):
        app.text_input(key=SLICE_NAME_KEY).set_value("all").run()
        button(app, "Save ").click().run()
    (kept,) = open_note_store().slices.list_all(SAMPLE_SETS["Sentences"]().digest)
    assert "Another reader saved it" in hers.error[0].value
    assert not any(one.label == "Remove the slice" for one in hers.button)
    hers.text_input(key=SLICE_NAME_KEY).set_value("mine").run()
    button(hers, "Save ").click().run()
    mine.run()
    mine.text_input(key=SLICE_NAME_KEY).set_value("all").run()
    button(mine, "Save ").click().run()
    found = open_note_store().slices.list_all(SAMPLE_SETS["Sentences"]().digest)
    assert [(one.name, one.version) for one in found] == [("all", 2), ("mine", 1)]
    assert found[0].owner == kept.owner != found[1].owner


@pytest.mark.long
def test_refused_import_is_not_read_again(
    open_page: Open, use_backend: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_backend(Translating())
    app = ran(open_page("analyse", new="1"))
    read = []

    def count_reading(data: bytes, kind: str) -> list[Annotation]:
        read.append(kind)
        return from_bytes(data, kind)

    monkeypatch.setattr(notes_exchange, "from_bytes", count_reading)
    app.file_uploader(key="notes_given").upload("a.csv", b"nonsense", "text/csv").run()
    app.run()
    assert "is not a csv file of notes" in app.error[0].value and read == ["csv"]
    button(app, "Try this file again").click().run()
    assert read == ["csv", "csv"] and len(app.error) == 1


@pytest.mark.long
def test_refused_file_of_errors_is_not_read_again(
    open_page: Open, use_backend: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_backend(Translating())
    app = ran(open_page("analyse", new="1"))
    read: list[str] = []

    def refuse(name: str, *given: object) -> list[Judgement]:
        read.append(name)
        raise InputError("The file is wrong.")

    monkeypatch.setattr(notes_exchange, "read_judgements", refuse)
    app.file_uploader(key="judged_given").upload("a.tsv", b"x", "text/plain").run()
    app.run()
    assert read == ["a.tsv"] and app.error[0].value == "The file is wrong\\."
