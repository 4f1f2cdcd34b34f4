"""With an access token set nothing is shown before it is given; beyond this machine nothing at all without one."""

from __future__ import annotations

import pytest
from streamlit import config
from streamlit.testing.v1 import AppTest

from areaviz.backend.access import digest_of
from areaviz.ui.admission import PARAMETER, SETTING
from tests.pages.conftest import Open, open_page, shown, stored

__all__ = ["open_page", "stored"]  # fixtures
TOKEN = "a-token-that-only-friends-have"
PAGES = ("home", "translate", "caption", "translate_picture", "four_ways", "analyse", "how_areas_work", "models")


@pytest.fixture
def locked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SETTING, digest_of(TOKEN))


def is_shut(app: AppTest) -> bool:
    return [title.value for title in app.title] == ["areaviz"]


@pytest.mark.parametrize("page", PAGES)
def test_no_page_shows_anything_before(page: str, locked: None, open_page: Open) -> None:
    app = open_page(page)
    assert not app.exception and is_shut(app)
    assert shown(app).replace("areaviz", "").strip() == "This app is not public. Its owner has the access token."
    assert len(app.text_input) == 1 and not app.selectbox and not app.text_area


def test_the_token_opens_and_another_does_not(locked: None, open_page: Open) -> None:
    app = open_page("home")
    app.text_input[0].input(TOKEN[:-1])
    app.button[0].click().run()
    assert is_shut(app) and "This is not the access token" in shown(app)
    app.text_input[0].input(f" {TOKEN} ")
    app.button[0].click().run()
    assert not is_shut(app) and "point at a letter" in shown(app).lower()
    assert not is_shut(app.switch_page("pages/models.py").run()), "asked for once a session"


def test_a_link_may_carry_it_but_does_not_keep_it(locked: None, open_page: Open) -> None:
    app = open_page("translate", text="A dog.", **{PARAMETER: TOKEN})
    assert not is_shut(app) and PARAMETER not in app.query_params
    assert app.text_area[0].value == "A dog."
    wrong = open_page("translate", **{PARAMETER: TOKEN + "x"})
    assert is_shut(wrong) and PARAMETER not in wrong.query_params


def test_a_changed_token_ends_sessions(locked: None, open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    app = open_page("home", **{PARAMETER: TOKEN})
    assert not is_shut(app)
    monkeypatch.setenv(SETTING, digest_of("another-token-since-then"))
    assert is_shut(app.run())


@pytest.mark.parametrize("address", ["0.0.0.0", None, "192.168.1.7"])
def test_started_by_hand_beyond_this_machine_it_stays_shut(
    address: str | None, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(SETTING, raising=False)
    before = config.get_option("server.address")
    config.set_option("server.address", address)
    try:
        app = open_page("translate")
    finally:
        config.set_option("server.address", before)
    assert is_shut(app) and "without an access token" in shown(app)
    assert not app.text_input and not app.text_area
