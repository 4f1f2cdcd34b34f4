"""The second lock: no page draws anything for a session that does not show admission."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit import config
from streamlit.testing.v1 import AppTest

from areaviz.backend.access import (
    KEY_SETTING,
    make_admission,
    make_admission_key,
    name_admission_cookie,
)
from tests.pages.conftest import Open, bring_cookies, open_page, shown, stored
from tests.sampled import sampled

__all__ = ["open_page", "stored"]  # fixtures
ROOT = Path(__file__).parents[3]
TOKEN = "a-token-that-only-friends-have"
PAGES = tuple(path.stem for path in sorted((ROOT / "pages").glob("*.py")))


@pytest.fixture
def locked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_SETTING, make_admission_key(TOKEN))


def bring(monkeypatch: pytest.MonkeyPatch, token: str) -> None:
    """Make the session's socket have the cookie for this token."""
    name = name_admission_cookie(config.get_option("server.port"))
    bring_cookies(monkeypatch, {name: make_admission(make_admission_key(token))})


def is_shut(app: AppTest) -> bool:
    return [title.value for title in app.title] == ["areaviz"]


@pytest.mark.parametrize("page", sampled(PAGES, "home", "analyse", "translate"))
def test_no_page_is_drawn_before_admission(page: str, locked: None, open_page: Open) -> None:
    app = open_page(page)
    assert not app.exception and is_shut(app)
    assert shown(app).replace("areaviz", "").strip().startswith("This app is not public")
    assert not app.text_input and not app.selectbox and not app.text_area


@pytest.mark.parametrize("page", sampled(PAGES, "home", "analyse", "translate"))
def test_no_page_is_drawn_without_app_py(
    page: str, locked: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring_cookies(monkeypatch, {})
    app = AppTest.from_file(str(ROOT / "pages" / f"{page}.py"), default_timeout=60).run()
    assert not app.exception and is_shut(app)
    assert len(app.main) == 2, "a title and a sentence"


def test_only_cookie_of_the_token_opens_the_page(
    locked: None, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring(monkeypatch, TOKEN)
    assert "See what a model attends to" in shown(open_page("home"))
    bring(monkeypatch, TOKEN + "x")
    assert is_shut(open_page("home"))


def test_changed_token_ends_sessions(
    locked: None, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring(monkeypatch, TOKEN)
    app = open_page("home")
    assert not is_shut(app)
    monkeypatch.setenv(KEY_SETTING, make_admission_key("another-token-since-then"))
    assert is_shut(app.run())


@pytest.mark.parametrize("address", ["0.0.0.0", None, "192.168.1.7"])
def test_app_without_gateway_refuses_public_address(
    address: str | None, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(KEY_SETTING, raising=False)
    before = config.get_option("server.address")
    config.set_option("server.address", address)
    try:
        app = open_page("translate")
    finally:
        config.set_option("server.address", before)
    assert is_shut(app) and "without an access token" in shown(app)
    assert not app.text_input and not app.text_area
