"""The app below a path of another server: pages and components work."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import App, settled
from tests.gateway.proxy import Proxy, proxied

BASE = "/tools/areaviz"
TOKEN = "a-token-that-only-friends-have"


@pytest.fixture(scope="module", params=["strips", "keeps"])
def below(
    request: pytest.FixtureRequest, app: App, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Proxy]]:
    """Return the URL of the app behind a proxy that strips the path, or that keeps it."""
    token = tmp_path_factory.mktemp("below") / "token"
    token.write_text(TOKEN)
    url = app("app.py", "--base-path", BASE, "--token-file", str(token))
    with proxied(int(url.rpartition(":")[2]), BASE, request.param == "strips") as (front, proxy):
        yield front + BASE, proxy


@pytest.mark.long
def test_pages_below_a_path_work(below: tuple[str, Proxy], unknown_page: Page) -> None:
    url, proxy = below
    page = unknown_page
    page.goto(f"{url}/translate?text=A man plays the guitar.&site=encoder-decoder&items=4")
    page.get_by_label("Access token").fill(TOKEN)
    page.get_by_role("button", name="Open").click()
    expect(page.locator(".ribbon[data-ready] .say")).to_contain_text("most to")
    assert page.url.startswith(f"{url}/translate?")
    for path in ("", "/", "/translate_picture"):
        page.goto(url + path)
        expect(page.get_by_role("heading").first).to_be_visible()
        settled(page)
    shown = page.locator('[data-testid="stImage"] img')
    expect(shown.first).to_be_visible()
    assert page.evaluate(
        "[...document.querySelectorAll('[data-testid=stImage] img')].every(one => one.naturalWidth)"
    )
    paths = {cookie["path"] for cookie in page.context.cookies() if "areaviz" in cookie["name"]}
    assert paths == {BASE}
    assert proxy.missed == []
