"""The app for the tests: every page uses one folder of stored traces."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
from streamlit.runtime.context import ContextProxy
from streamlit.testing.v1 import AppTest

from areaviz.backend.backend import Backend
from tests.messages import header_of
from tests.pages import folder

APP = Path(__file__).parents[2] / "app.py"
Open = Callable[..., AppTest]
_numbers = count()


@pytest.fixture(scope="session")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stored")
    folder.fill(path)
    return path


@pytest.fixture
def open_page(stored: Path, monkeypatch: pytest.MonkeyPatch) -> Open:
    """Return a function that opens a page in a new session, as a link does.

    For example: `open_page("translate", text="...")`.
    """
    monkeypatch.setenv("AREAVIZ_BACKEND", f"replay:{stored}")
    bring_cookies(monkeypatch, {})

    def opened(page: str, **params: str) -> AppTest:
        app = AppTest.from_file(str(APP), default_timeout=120)
        app.query_params.update(params)
        return app.switch_page(f"pages/{page}.py").run()

    return opened


@pytest.fixture
def use_backend(monkeypatch: pytest.MonkeyPatch, open_page: Open) -> Callable[[Backend], None]:
    """Make the app use a backend of the test."""

    def use(backend: Backend) -> None:
        monkeypatch.setenv("AREAVIZ_BACKEND", f"test:{next(_numbers)}")
        monkeypatch.setattr("areaviz.app.run.open_backend", lambda *settings: backend)

    return use


def bring_cookies(monkeypatch: pytest.MonkeyPatch, cookies: Mapping[str, str]) -> None:
    """Give every session these cookies, because an `AppTest` has no socket with cookies."""
    monkeypatch.setattr(ContextProxy, "cookies", property(lambda _: cookies))


def shown(app: AppTest) -> str:
    """Return all texts of the page."""
    kinds = (
        app.title,
        app.header,
        app.subheader,
        app.markdown,
        app.caption,
        app.text,
        app.error,
        app.warning,
    )
    return "\n".join(element.value for kind in kinds for element in kind).replace("\\", "")


def drawn_texts(app: AppTest) -> list[str]:
    """Return the texts that ribbons and grids of the page draw, and the page's own output texts."""
    found = [element.value for element in app.text]
    for element in app.get("bidi_component"):
        message = element.proto.bytes
        if message:
            header = header_of(message)
            # A ribbon has two texts. A grid has one, or none between the cells of a picture.
            texts = header.get("fields") or [header.get("text") or {}]
            found += [text["raw"] for text in texts if "raw" in text]
    return found


def open_tab(app: AppTest, page: str, name: str) -> None:
    """Open a tab below the result at the next run of the page."""
    app.session_state[page] = replace(app.session_state[page], tabs=[name])


def with_tab(app: AppTest, name: str) -> AppTest:
    """Open a tab below the result, as a click on its title does."""
    tabs = next(one for one in app.segmented_control if one.label == "Further views of this result")
    opened: list[str] = list(tabs.value or ())
    return tabs.set_value([*opened, name]).run()


def errors(app: AppTest) -> list[str]:
    """Return the page's errors as readers see them."""
    return [one.value.replace("\\", "") for one in app.error]
