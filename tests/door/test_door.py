"""Requests to the door, with a plain app behind it in place of Streamlit."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest

from areaviz.backend import access
from areaviz.door.door import AppPlace, Door
from areaviz.door.limits import Connections
from areaviz.door.serving import server_options
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


def test_restart_keeps_readers_in_and_a_new_token_puts_them_out(door: Door) -> None:
    cookie = typed(door, TOKEN).headers["set-cookie"].partition(";")[0]
    for token, status in ((TOKEN, 200), ("another-token-since-then", 401)):
        restarted = Door(Behind(), AppPlace("localhost", 8501, token=token), 120.0)
        assert ask(restarted, "GET", "/translate", cookie=cookie).status == status


def test_website_that_is_named_may_show_the_app_in_a_frame() -> None:
    framing = ("https://holder.example",)
    door = Door(Behind(), AppPlace("localhost", 8501, token=TOKEN, framing=framing), 120.0)
    form = typed(door, TOKEN)
    page = ask(door, "GET", "/", cookie=form.headers["set-cookie"].partition(";")[0])
    for cookie in (form.headers["set-cookie"], page.headers["set-cookie"]):
        assert cookie.endswith("HttpOnly; SameSite=None; Secure")
    assert page.headers["content-security-policy"] == "frame-ancestors https://holder.example"
    assert "x-frame-options" not in page.headers


@pytest.mark.parametrize(
    ("proxies", "statuses"), [((), [401] * 5 + [429]), (("127.0.0.1",), [401] * 6)]
)
def test_only_a_proxy_that_is_named_tells_the_address(
    proxies: tuple[str, ...], statuses: list[int]
) -> None:
    place = AppPlace("localhost", 8501, token=TOKEN, proxies=proxies)
    options = server_options(Door(Behind(), place, 120.0), place, Connections(None, proxies))
    options.load()
    body = urlencode({"token": WRONG, "next": "/"})
    found = []
    for number in range(6):
        reader = f"203.0.113.{number}"
        answer = ask(
            options.loaded_app,
            "POST",
            "/sign-in",
            body,
            client="127.0.0.1",
            x_forwarded_for=reader,
        )
        found.append(answer.status)
    assert found == statuses


def test_admission_ends_after_its_days(door: Door) -> None:
    old = access.admission(access.admission_key(TOKEN), now=0)
    assert ask(door, "GET", "/", cookie=f"areaviz_admission_8501={old}").status == 401
