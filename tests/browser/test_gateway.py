"""The gateway in a real browser: signing in, pages, pictures and uploads."""

from __future__ import annotations

import io
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from PIL import Image
from playwright.sync_api import Browser, FilePayload, Page, expect

from tests.browser.conftest import App, settled

TOKEN = "a-token-that-only-friends-have"
SENTENCE = "A man plays the guitar."


@pytest.fixture(scope="module")
def locked(app: App, tmp_path_factory: pytest.TempPathFactory) -> str:
    token = tmp_path_factory.mktemp("token") / "token"
    token.write_text(TOKEN)
    return app("app.py", "--token-file", str(token))


def sign_in(page: Page, token: str = TOKEN) -> None:
    page.get_by_label("Access token").fill(token)
    page.get_by_role("button", name="Open").click()


def test_user_signs_in_and_reaches_the_linked_page(locked: str, unknown_page: Page) -> None:
    page = unknown_page
    page.goto(f"{locked}/translate?text={SENTENCE}&site=encoder-decoder&items=4")
    expect(page.get_by_role("heading", name="areaviz")).to_be_visible()
    expect(page.locator(".st-key-translate_input")).to_have_count(0)
    assert page.evaluate("getComputedStyle(document.querySelector('h1')).fontFamily") == "serif", (
        "its style may apply"
    )
    sign_in(page, "a-token-that-nobody-has")
    expect(page.get_by_role("alert")).to_contain_text("That access token is not valid")
    sign_in(page)
    expect(page.locator(".ribbon[data-ready] .say")).to_contain_text("most to")
    expect(page.get_by_label("English text")).to_have_value(SENTENCE)
    assert TOKEN not in page.url and "token=" not in page.url
    assert page.url.startswith(f"{locked}/translate?")
    page.reload()
    expect(page.get_by_label("English text")).to_have_value(SENTENCE)
    assert "areaviz_" not in page.evaluate("document.cookie"), "no script reads them"
    names = {cookie["name"].rpartition("_")[0]: cookie for cookie in page.context.cookies()}
    for name in ("areaviz_admission", "areaviz_reader"):
        assert names[name]["httpOnly"] and names[name]["sameSite"] == "Lax"


@pytest.mark.long
def test_link_with_token_leaves_no_copy_of_it(locked: str, page: Page) -> None:
    page.goto(f"{locked}/models?token={TOKEN}")
    expect(page.get_by_text("Models run on")).to_be_visible()
    assert page.url == f"{locked}/models"
    page.go_back()
    assert TOKEN not in page.url


@pytest.mark.long
def test_pictures_and_uploads_work_behind_sign_in(locked: str, unknown_page: Page) -> None:
    page = unknown_page
    page.goto(f"{locked}/translate_picture")
    sign_in(page)
    shown = page.locator('[data-testid="stImage"] img').first
    expect(shown).to_be_visible()
    settled(page)
    assert page.evaluate(
        "[...document.querySelectorAll('[data-testid=stImage] img')].every(one => one.naturalWidth)"
    )
    page.goto(f"{locked}/caption")
    settled(page)
    page.get_by_role("radio", name="Upload").click()
    expect(page.get_by_role("region", name="Picture file")).to_be_visible()
    settled(page)
    file = io.BytesIO()
    Image.new("RGB", (40, 30), "red").save(file, "PNG")
    given: FilePayload = {"name": "a.png", "mimeType": "image/png", "buffer": file.getvalue()}
    page.locator("input[type=file]").first.set_input_files(given)
    expect(page.get_by_text("Your picture is chosen.")).to_be_visible()


@pytest.mark.long
def test_too_large_change_is_refused_on_the_page(app: App, page: Page) -> None:
    page.goto(f"{app('app.py')}/translate?text={SENTENCE}&site=encoder-decoder&items=4")
    expect(page.locator(".ribbon[data-ready]")).to_have_count(1)
    settled(page)
    text = page.get_by_label("English text")
    text.fill("a" * 1_200_000)
    text.press("Enter")
    toast = page.get_by_test_id("stToast")
    expect(toast).to_contain_text("Your last change was not accepted. A page may send 1,000 kB")
    text.fill("A dog runs.")
    text.press("Enter")
    expect(page.locator("[data-side=memory] .rows")).to_contain_text("Adogruns.")


class Holder(BaseHTTPRequestHandler):
    """A foreign page, which shows an address in a frame."""

    def do_GET(self) -> None:
        """Answer with a page that has a frame, or with a page that can be framed."""
        held = parse_qs(urlsplit(self.path).query).get("held", [""])[0]
        html = f'<iframe src="{held}"></iframe>' if held else "<p>held</p>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(html.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@pytest.mark.long
def test_foreign_page_cannot_frame_the_app(app: App, chromium: Browser) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Holder) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        own = f"http://localhost:{server.server_port}"
        shown = []
        for held in (
            f"http://127.0.0.1:{server.server_port}/",
            f"{app('app.py')}/_stcore/host-config",
        ):
            page = chromium.new_page()
            page.goto(f"{own}/?{urlencode({'held': held})}")
            page.wait_for_timeout(2000)
            shown.append(page.frames[1].evaluate("document.body.innerText"))
            page.close()
        server.shutdown()
    assert shown[0] == "held" and "allowedOrigins" not in shown[1]
