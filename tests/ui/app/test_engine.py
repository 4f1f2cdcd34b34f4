"""The settings choose the backend. A server of models needs its token, and the pages can use it."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from areaviz.app.run import TOKEN_FILE_VARIABLE, open_backend
from areaviz.backend.access import compute_digest
from areaviz.backend.backend import CachedBackend
from areaviz.backend.remote import RemoteBackend
from areaviz.backend.server import Api
from areaviz.trace.errors import BackendError
from tests.pages.conftest import APP, drawn_texts, shown
from tests.server.models import TOKEN, FakeModels
from tests.server.server import serving


@pytest.fixture
def token_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "token"
    path.write_text(TOKEN + "\n")
    monkeypatch.setenv(TOKEN_FILE_VARIABLE, str(path))
    return path


@pytest.mark.parametrize("setting", ["", "remote", "replay", "replay:", "127.0.0.1:8000"])
def test_invalid_settings_are_refused(setting: str, tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="AREAVIZ_BACKEND must be"):
        open_backend(setting, tmp_path, "cpu")


def test_server_backend_requires_a_token(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(TOKEN_FILE_VARIABLE, raising=False)
    with pytest.raises(BackendError, match=TOKEN_FILE_VARIABLE):
        open_backend("http://127.0.0.1:1", tmp_path, "cpu")


def test_url_opens_a_server_backend(token_file: Path, tmp_path: Path) -> None:
    assert isinstance(open_backend("http://127.0.0.1:1", tmp_path, "cpu"), RemoteBackend)


def test_page_uses_server_and_reports_its_end(
    token_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(Api(CachedBackend(FakeModels()), compute_digest(TOKEN))) as server:
        monkeypatch.setenv("AREAVIZ_BACKEND", server.address)
        app = AppTest.from_file(str(APP), default_timeout=120)
        app.query_params["text"] = "A dog runs."
        app.switch_page("pages/translate.py").run()
        assert not app.exception and "One checkpoint is damaged." in shown(app)
        assert ".snur god A" in drawn_texts(app)
    app.text_input[0].input("A cat runs.")
    next(button for button in app.button if button.label == "Translate").click().run()
    assert not app.exception and "cannot be reached" in shown(app)
    assert app.text_input[0].value == "A cat runs.", "what was typed is kept"
