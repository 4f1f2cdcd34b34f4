"""Analyse: a shared link opens an analysis for other readers, until its owner withdraws it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from streamlit.testing.v1 import AppTest

from areaviz.backend.backend import Backend
from areaviz.sets.app import sharing
from areaviz.sets.app.state import SHARE_PARAM, TOKEN_KEY, guard_by_link, open_note_store
from areaviz.sets.notes.notes import Annotation, Slice
from areaviz.sets.run import SETTING, find_analyses_folder
from areaviz.sets.user_files import WITHDRAWN, Mode, SharedLinks
from areaviz.trace.errors import InputError
from tests.pages.analysed import (
    Translating,
    button,
    hold,
    keyed,
    listed,
    opened_first,
    ran,
    state_of,
    uploading,
    write,
)
from tests.pages.conftest import Open, errors, shown
from tests.sampled import sampled

Use = Callable[[Backend], None]
FILES = [
    ("my.en", b"A dog runs.\nA cat sleeps.\n", "text/plain"),
    ("my.de", b"Ein Hund rennt.\nEine Katze schl\xc3\xa4ft.\n", "text/plain"),
]


@pytest.fixture(autouse=True)
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SETTING, str(tmp_path / "rows"))


@pytest.fixture
def owner(open_page: Open, use_backend: Use) -> AppTest:
    """Open the page of a reader who has run their own set."""
    use_backend(Translating())
    app = uploading(open_page("analyse", new="1"))
    app.file_uploader(key="analyse_files").set_value(FILES).run()
    return ran(app)


def share(app: AppTest, mode: Mode = Mode.READ) -> str:
    """Make a link on the owner's page and return its token."""
    button(app, sharing.MAKE_LINK_LABELS[mode]).click().run()
    assert not app.error and not app.exception
    link = urlsplit(next(one.value for one in app.code if "?share=" in one.value))
    (token,) = parse_qs(link.query)[SHARE_PARAM]
    assert token not in "".join(map(str, find_analyses_folder().rglob("*")))
    return str(token)


def labels(app: AppTest) -> set[str]:
    return {one.label for one in app.button}


def test_link_opens_the_analysis_for_another_user(owner: AppTest, open_page: Open) -> None:
    token = share(owner)
    guest = open_page("analyse", share=token)
    assert not guest.error and not guest.exception
    assert set(listed(guest)["Source"]) == {"A dog runs.", "A cat sleeps."}
    assert list(listed(guest)["Output"]) == list(listed(owner)["Output"])
    assert "Shared with you" in guest.info[0].value
    assert not guest.file_uploader and "Delete all of mine" not in labels(guest)
    assert guest.query_params["share"] in (token, [token])
    owner.run()
    assert "Opened by 1 reader: " in shown(owner) and "Read only" in shown(owner)


def test_read_only_link_offers_and_allows_no_change(owner: AppTest, open_page: Open) -> None:
    write(opened_first(owner), "Style", "the owner's note")
    guest = opened_first(open_page("analyse", share=share(owner)))
    assert "the owner's note" in shown(guest) and not guest.exception
    offered = labels(guest)
    assert not any(one.startswith(("Save", "Edit", "Copy", "Remove")) for one in offered)
    assert not any(str(one.key).startswith("note_form") for one in guest.text_area)
    assert not guest.file_uploader and len(open_note_store().notes.list_all(digest_of(guest))) == 1


@pytest.mark.parametrize(
    "doing", sampled(["save a note", "remove a note", "save a slice", "merge"], "save a note")
)
def test_store_of_a_read_only_link_refuses_changes(
    doing: str, owner: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(opened_first(owner), "Style", "the owner's note")
    digest, token = digest_of(owner), share(owner)
    (note,) = open_note_store().notes.list_all(digest)
    monkeypatch.setattr("areaviz.sets.app.state.st.session_state", {TOKEN_KEY: token})
    store, reader = open_note_store(), "b" * 64
    changes: dict[str, Callable[[], Any]] = {
        "save a note": lambda: store.notes.save(Annotation(digest, 0, "", "Style"), reader),
        "remove a note": lambda: store.notes.remove(note, reader),
        "save a slice": lambda: store.slices.save(Slice(digest, "all", (0,), 0), reader),
        "merge": lambda: store.notes.merge([Annotation(digest, 0, "", "x", id="1")], reader),
    }
    with pytest.raises(InputError, match="shared read only, so nothing was saved"):
        changes[doing]()
    monkeypatch.undo()


def test_link_with_notes_lets_users_write(owner: AppTest, open_page: Open) -> None:
    guest = opened_first(open_page("analyse", share=share(owner, Mode.NOTE)))
    write(guest, "Style", "the guest's note")
    assert not guest.error and "the guest's note" in shown(guest)
    assert "the guest's note" in shown(opened_first(owner))


@pytest.mark.long
def test_withdrawn_link_closes_open_pages(owner: AppTest, open_page: Open) -> None:
    guest = opened_first(open_page("analyse", share=share(owner, Mode.NOTE)))
    keyed(guest.selectbox, "note_form_tag").set_value("Style")
    keyed(guest.text_area, "note_form_text").set_value("too late")
    button(owner.run(), "Withdraw").click().run()
    assert "Withdraw" not in labels(owner)
    button(guest, "Save the note").click().run()
    assert errors(guest) == [WITHDRAWN] and listed(guest).empty
    assert open_note_store().notes.count(state_of(owner).digest) == 0
    assert errors(open_page("analyse", share="x" * 32)) == [WITHDRAWN]


def test_offered_download_is_refused_after_withdrawal(
    owner: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = share(owner)
    monkeypatch.setattr("areaviz.sets.app.state.st.session_state", {TOKEN_KEY: token})
    made = guard_by_link(lambda: "content")
    assert made() == "content"
    links = SharedLinks(find_analyses_folder())
    link = links.open(token)
    links.withdraw(link, link.owner)
    with pytest.raises(InputError, match="opens no analysis"):
        made()
    monkeypatch.undo()


def test_deleting_a_set_withdraws_its_links(owner: AppTest, open_page: Open) -> None:
    token = share(owner)
    button(owner, "Delete all of mine").click().run()
    assert errors(open_page("analyse", share=token)) == [WITHDRAWN]


@pytest.mark.long
def test_guest_returns_to_own_page(owner: AppTest, open_page: Open) -> None:
    guest = open_page("analyse", share=share(owner))
    button(guest, "Leave").click().run()
    assert not guest.error and state_of(guest).share == "" and "share" not in guest.query_params
    assert any(one.label == "Set" for one in guest.button_group)


@pytest.mark.long
def test_sharing_shipped_set_says_every_user_has_it(open_page: Open, use_backend: Use) -> None:
    use_backend(Translating())
    app = ran(open_page("analyse", new="1"))
    assert "Every reader has this set" in shown(app)
    guest = open_page("analyse", share=share(app))
    assert len(listed(guest)) == len(listed(app)) and not guest.error
    assert state_of(hold(guest, example=0)).share


def digest_of(app: AppTest) -> str:
    return state_of(app).digest
