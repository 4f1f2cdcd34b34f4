"""Readers see one sentence for each error, without any folder of the operator's machine."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from areaviz.app.texts import remove_folders, show_errors
from areaviz.cards.card import read_card
from areaviz.trace.errors import BackendError
from areaviz.trace.safe_files import write_whole


@pytest.mark.parametrize(
    ("sentence", "shown"),
    [
        ("/srv/app/notes.db could not be written.", "notes.db could not be written."),
        ("The file “/srv/app/a.npz” is damaged.", "The file “a.npz” is damaged."),
        ("It is in /srv/app/ now.", "It is in a folder now."),
        (r"C:\Users\ann\card.json is damaged", "card.json is damaged"),
        ("see sqlite:////srv/app/notes.db", "see notes.db"),
        ("The server at http://127.0.0.1:8000/a/b is away.", None),
        ("Heads 3/4/5 and and/or read 1/2.", None),
        ("The fraction is a/b/c.", None),
    ],
)
def test_without_folders_keeps_file_names(sentence: str, shown: str | None) -> None:
    assert remove_folders(sentence) == (sentence if shown is None else shown)


def failing_page() -> None:
    from areaviz.app.texts import show_error
    from tests.ui.app.test_errors import sentences

    for sentence in sentences():
        show_error(sentence)


def sentences() -> list[str]:
    """Return the sentences of those parts of the app that name files of the machine."""
    folder, found = Path("/srv/app/of/the/operator"), []
    for fails in (
        lambda: write_whole(folder / "a.json", b""),
        lambda: read_card(folder / "c.json"),
    ):
        with pytest.raises(BackendError) as caught:
            fails()
        found.append(str(caught.value))
    return found


def test_no_page_shows_a_folder_of_the_machine() -> None:
    app = AppTest.from_function(failing_page).run()
    assert not app.exception and len(app.error) == 2
    for one in app.error:
        assert "/srv" not in one.value and "operator" not in one.value


def test_log_keeps_the_whole_path(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    shown: list[str] = []
    monkeypatch.setattr("streamlit.error", shown.append)
    with caplog.at_level(logging.WARNING), show_errors("saving"):
        raise BackendError("/srv/app/notes.db could not be written. Free some space.")
    assert "/srv/app/notes.db" in caplog.text
    assert len(shown) == 1 and "/srv" not in shown[0]
