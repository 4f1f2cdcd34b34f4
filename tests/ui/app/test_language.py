"""The language of a page: its address, the switch, and the browser."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from areaviz.app import texts
from areaviz.app.page import State
from tests.pages.conftest import APP


def opened(**params: str) -> AppTest:
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.query_params.update(params)
    return app.run()


def test_address_and_switch_choose_the_language() -> None:
    app = opened(lang="de")
    assert not app.exception
    assert app.title[0].value == "Sieh, worauf ein Modell achtet"
    [switch] = [one for one in app.button if one.label == "English"]
    switch.click().run()
    assert app.title[0].value == "See what a model attends to"
    assert app.query_params["lang"] == "en"


def test_unknown_language_falls_back_to_the_browser() -> None:
    assert opened(lang="tlh").title[0].value == "See what a model attends to"


def test_links_carry_a_chosen_language() -> None:
    app = opened(lang="de")
    links = [one.proto for one in app.get("page_link")]
    assert links and all("lang=de" in link.query_string for link in links)
    links = [one.proto for one in opened().get("page_link")]
    assert links and not any("lang=" in link.query_string for link in links)


def script() -> None:
    from areaviz.app.page import Page, State

    page = Page("translate", "", State())
    page.follow_url({})
    page.set_url_params({"text": "A dog."})


def test_language_parameter_is_kept_and_not_a_link() -> None:
    app = AppTest.from_function(script)
    app.query_params["lang"] = "de"
    app.run()
    assert dict(app.query_params) == {"text": "A dog.", "lang": "de"}
    state: State = app.session_state["translate"]
    assert state.address == {"text": "A dog."}


@pytest.mark.parametrize("locale, found", [("de-CH", "de"), ("fr-FR", "en"), (None, "en")])
def test_browser_sets_the_default_language(
    locale: str | None, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Context:
        pass

    context = Context()
    context.locale = locale
    monkeypatch.setattr(texts.st, "context", context)
    monkeypatch.setattr(texts, "is_drawing_page", lambda: True)
    assert texts.get_language() == found
    assert texts.get_language_params() == {}


def test_language_outside_the_app_is_english() -> None:
    assert texts.get_language() == "en"
    assert texts.get_language_params() == {}


def test_language_is_added_before_the_anchor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "get_language_params", lambda: {"lang": "de"})
    found = [texts.add_language(one) for one in ("./", "./a?b=1", "./a?b=1#c", "./a#c")]
    assert found == ["./?lang=de", "./a?b=1&lang=de", "./a?b=1&lang=de#c", "./a?lang=de#c"]
    monkeypatch.setattr(texts, "get_language_params", dict)
    assert texts.add_language("./a#c") == "./a#c"
