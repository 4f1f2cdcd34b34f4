"""The app in processes of its own, shared by all tests that leave a server as they found it."""

from __future__ import annotations

import resource
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus

from tests.faults.client import Session
from tests.faults.served import Served, served
from tests.gateway.client import PAGES, TOKEN
from tests.gateway.listener import Listener, listening

HARD = resource.getrlimit(resource.RLIMIT_NOFILE)[1]

# Short enough to wait for in a test, long enough for a busy machine.
FIRST_MESSAGE_SECONDS, HEAD_SECONDS, SESSION_SECONDS = 6, 4, 6


@pytest.fixture(scope="session")
def contacted() -> Iterator[Listener]:
    """A proxy that says nothing, and what the open app asked it for."""
    with listening() as listener:
        yield listener


@pytest.fixture(scope="session")
def open_app(tmp_path_factory: pytest.TempPathFactory, contacted: Listener) -> Iterator[Served]:
    """The app without a token, with the limits of a usual shell and short times to wait."""
    assert HARD >= 4096, "this machine allows too few file descriptors to test that"
    home = tmp_path_factory.mktemp("home")
    (home / ".streamlit").mkdir()
    text = f"[server]\ndisconnectedSessionTTL = {SESSION_SECONDS}\n"
    (home / ".streamlit" / "config.toml").write_text(text)
    names = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")
    settings = {
        "HOME": str(home),
        "no_proxy": "",
        "NO_PROXY": "",
        **dict.fromkeys(names, contacted.url),
    }
    with started(tmp_path_factory.mktemp("open"), settings, soft=1024, hard=HARD) as app:
        # The first page of a server takes longer, because it loads what all pages need.
        with Session.open(app.url) as visitor:
            visitor.visit("models")
        yield app


@pytest.fixture(scope="session")
def fresh_sockets() -> list[int]:
    """How many elements each of the first sockets of the locked app got, without a cookie."""
    return []


@pytest.fixture(scope="session")
def locked_app(
    tmp_path_factory: pytest.TempPathFactory, fresh_sockets: list[int]
) -> Iterator[Served]:
    """The app that asks for a token, behind a proxy that is named."""
    folder = tmp_path_factory.mktemp("locked")
    (folder / "token").write_text(TOKEN)
    options = ["--token-file", str(folder / "token"), "--proxy", "127.0.0.1"]
    with served(folder / "log", {"OMP_NUM_THREADS": "1"}, options=options) as app:
        start = threading.Barrier(len(PAGES))
        with ThreadPoolExecutor(len(PAGES)) as pool:
            fresh_sockets += pool.map(lambda page: count_elements(app, page, start), PAGES)
        yield app


@pytest.fixture(scope="module")
def tight_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The app with 1,024 file descriptors and no more."""
    with started(tmp_path_factory.mktemp("tight"), {}, soft=1024, hard=1024) as app:
        yield app


def started(
    folder: Path, settings: dict[str, str], soft: int, hard: int
) -> AbstractContextManager[Served]:
    """Start the app with limits of file descriptors and short times."""
    short = {
        "OMP_NUM_THREADS": "1",
        "AREAVIZ_LIMIT_FIRST_MESSAGE_SECONDS": str(FIRST_MESSAGE_SECONDS),
        "AREAVIZ_LIMIT_HEAD_SECONDS": str(HEAD_SECONDS),
    }
    return served(
        folder / "log",
        short | settings,
        limit=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard)),
    )


def count_elements(app: Served, page: str, start: threading.Barrier) -> int:
    """Return how many elements a socket without a cookie gets, 0 where it is refused."""
    start.wait(60)
    try:
        with Session.open(app.url) as session:
            return sum(one.HasField("delta") for one in session.visit(page).messages)
    except InvalidStatus:
        return 0
