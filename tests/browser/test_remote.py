"""The app with a real Ray Serve of two replicas of the shipped models, with its access token."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from areaviz.app.run import TOKEN_FILE_VARIABLE
from areaviz.backend.ray import open_local
from tests.browser.conftest import App, settled
from tests.server.models import TOKEN
from tests.server.ray_server import served

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::DeprecationWarning:ray")]
CHECKPOINTS = Path(__file__).parents[2] / "checkpoints"
SENTENCE = "A man plays the guitar."


@pytest.fixture(scope="module")
def remote_app(app: App, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    token = tmp_path_factory.mktemp("token") / "token"
    token.write_text(TOKEN)
    with served(partial(open_local, CHECKPOINTS, "cpu")) as address:
        settings = {"AREAVIZ_BACKEND": address, TOKEN_FILE_VARIABLE: str(token)}
        yield app("app.py", "--token-file", str(token), **settings)


def test_replica_translates_a_sentence(remote_app: str, unknown_page: Page) -> None:
    page = unknown_page
    page.goto(f"{remote_app}/translate")
    expect(page.get_by_label("Access token")).to_be_visible()
    expect(page.locator(".st-key-translate_input")).to_have_count(0)
    page.get_by_label("Access token").fill(TOKEN)
    page.get_by_label("Access token").press("Enter")
    box = page.get_by_label("English text")
    expect(box).to_be_visible()
    settled(page)
    box.fill(SENTENCE)
    box.press("Enter")
    ribbon = page.locator(".ribbon[data-ready]")
    expect(ribbon).to_have_count(1)
    expect(ribbon.locator("#query-1")).to_have_text("Mann")
    settled(page)
    ribbon.locator("#query-4").hover()
    expect(ribbon.locator(".say")).to_contain_text("most to")


def test_models_page_names_the_server(remote_app: str, page: Page) -> None:
    page.goto(f"{remote_app}/models?token={TOKEN}")
    expect(page.get_by_text("Models run on: CPU (1 thread), at http://127.0.0.1")).to_be_visible()
    assert TOKEN not in page.url
