"""The door in a real browser: signing in, and that pages, pictures and uploads work behind it."""

from __future__ import annotations

import io

import pytest
from PIL import Image
from playwright.sync_api import Browser, FilePayload, Page, expect

from tests.browser.conftest import App, settled

TOKEN = "a-token-that-only-friends-have"
SENTENCE = "A man plays the guitar."
HOLDER = "https://holder.example/"


@pytest.fixture(scope="module")
def locked(app: App, tmp_path_factory: pytest.TempPathFactory) -> str:
    token = tmp_path_factory.mktemp("token") / "token"
    token.write_text(TOKEN)
    return app("app.py", "--token-file", str(token))


def sign_in(page: Page, token: str = TOKEN) -> None:
    page.get_by_label("Access token").fill(token)
    page.get_by_role("button", name="Open").click()


def test_a_reader_signs_in_and_gets_what_the_link_asked_for(locked: str, unknown_page: Page) -> None:
    page = unknown_page
    page.goto(f"{locked}/translate?text={SENTENCE}&site=encoder-decoder&items=4")
    expect(page.get_by_role("heading", name="areaviz")).to_be_visible()
    expect(page.get_by_label("English text")).to_have_count(0)
    assert page.evaluate("getComputedStyle(document.querySelector('h1')).fontFamily") == "serif", "its style may apply"
    sign_in(page, "a-token-that-nobody-has")
    expect(page.get_by_role("alert")).to_contain_text("This is not the access token")
    sign_in(page)
    expect(page.locator(".ribbon[data-ready] .say")).to_contain_text("attends most to")
    expect(page.get_by_label("English text")).to_have_value(SENTENCE)
    assert "token" not in page.url and page.url.startswith(f"{locked}/translate?")
    page.reload()
    expect(page.get_by_label("English text")).to_have_value(SENTENCE)
    assert "areaviz_" not in page.evaluate("document.cookie"), "no script reads them"
    names = {cookie["name"].rpartition("_")[0]: cookie for cookie in page.context.cookies()}
    for name in ("areaviz_admission", "areaviz_reader"):
        assert names[name]["httpOnly"] and names[name]["sameSite"] == "Lax"


def test_a_link_with_the_token_keeps_it_nowhere(locked: str, page: Page) -> None:
    page.goto(f"{locked}/models?token={TOKEN}")
    expect(page.get_by_text("Models run on")).to_be_visible()
    assert page.url == f"{locked}/models"
    page.go_back()
    assert TOKEN not in page.url


def test_pictures_and_uploads_work_behind_it(locked: str, unknown_page: Page) -> None:
    page = unknown_page
    page.goto(f"{locked}/four_ways")
    sign_in(page)
    shown = page.locator('[data-testid="stImage"] img').first
    expect(shown).to_be_visible()
    settled(page)
    assert page.evaluate("[...document.querySelectorAll('[data-testid=stImage] img')].every(one => one.naturalWidth)")
    page.goto(f"{locked}/caption")
    page.get_by_role("radio", name="Upload").click()
    file = io.BytesIO()
    Image.new("RGB", (40, 30), "red").save(file, "PNG")
    given: FilePayload = {"name": "a.png", "mimeType": "image/png", "buffer": file.getvalue()}
    page.locator("input[type=file]").first.set_input_files(given)
    expect(page.get_by_text("Your picture is chosen.")).to_be_visible()


def test_nobody_else_s_page_holds_it(app: App, chromium: Browser) -> None:
    """A page of another origin, with the app in a frame; the same frame shows what allows it."""
    shown = []
    for options in ((), ("--allow-frame", HOLDER.rstrip("/"))):
        holder = chromium.new_context(ignore_https_errors=True).new_page()
        frame = f'<iframe src="{app("app.py", *options)}/_stcore/host-config" title="held"></iframe>'
        holder.route(HOLDER, lambda route, html=frame: route.fulfill(body=html, content_type="text/html"))
        holder.goto(HOLDER)
        holder.wait_for_timeout(3000)
        shown.append("allowedOrigins" in holder.frames[1].content())
        holder.context.close()
    assert shown == [False, True]
