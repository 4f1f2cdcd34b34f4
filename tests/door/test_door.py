"""Requests to the door, with a plain app behind it in place of Streamlit."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest

from areaviz.door.door import AppPlace, Door
from areaviz.door.sign_in import ATTEMPTS
from tests.door.asgi import Answer, Behind, ask

TOKEN = "a-token-that-only-friends-have"
WRONG = "a-token-that-nobody-has"
VICTIM = "203.0.113.7"


@pytest.fixture
def door() -> Door:
    """A door that asks for the token."""
    return Door(Behind(), AppPlace("localhost", 8501, token=TOKEN), 120.0)


def typed(door: Door, token: str, client: str = VICTIM) -> Answer:
    """The answer to a token in the form."""
    body = urlencode({"token": token, "next": "/models"})
    return ask(door, "POST", "/sign-in", body, client=client)


@pytest.mark.parametrize("prefix", ["//evil.example", "/%2f%2fevil.example", "/%5cevil.example"])
@pytest.mark.parametrize("token", [TOKEN, WRONG])
def test_redirect_stays_on_this_server(door: Door, prefix: str, token: str) -> None:
    cookie = typed(door, TOKEN).headers["set-cookie"].partition(";")[0]
    for headers in ({}, {"cookie": cookie}):
        answer = ask(door, "GET", f"{prefix}/a?token={token}", **headers)
        assert answer.status == 303 or (token == WRONG and answer.status == 401)
        location = answer.headers.get("location", "/")
        assert location == "/" or not location.startswith(("//", "/\\"))
        assert "evil.example" not in location or location.startswith("/%5C")


def test_wrong_links_do_not_lock_out_the_form(door: Door) -> None:
    """A foreign page can make a reader's browser ask for any link."""
    links = [ask(door, "GET", f"/?token={WRONG}{number}").status for number in range(2 * ATTEMPTS)]
    assert links == [401] * ATTEMPTS + [429] * ATTEMPTS
    refused = ask(door, "GET", f"/?token={TOKEN}")
    assert refused.status == 429
    assert "Enter the token here" in refused.text
    assert typed(door, TOKEN).status == 303


def test_wrong_tokens_in_the_form_make_an_address_wait(door: Door) -> None:
    assert [typed(door, WRONG).status for _ in range(7)] == [401] * 5 + [429] * 2
    assert typed(door, TOKEN).status == 429
    assert typed(door, TOKEN, client="203.0.113.8").status == 303
    assert ask(door, "GET", f"/?token={TOKEN}").status == 303
