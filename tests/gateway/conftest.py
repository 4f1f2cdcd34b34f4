"""Servers with a small page, shared by all tests that do not change their state."""

from __future__ import annotations

import resource
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from areaviz.shares import FIRST_MESSAGE_SECONDS, HEAD_SECONDS
from tests.faults.served import Served, served
from tests.gateway.listener import Listener, listening
from tests.gateway.small_server import PATIENT_SECONDS

HARD = resource.getrlimit(resource.RLIMIT_NOFILE)[1]


@pytest.fixture(scope="session")
def contacted() -> Iterator[Listener]:
    """Run a proxy that never answers and records the requests of the open app."""
    with listening() as listener:
        yield listener


@pytest.fixture(scope="session")
def open_app(tmp_path_factory: pytest.TempPathFactory, contacted: Listener) -> Iterator[Served]:
    """Serve the small page without a token, with long timeouts."""
    assert HARD >= 4096, "this machine allows too few file descriptors for these tests"
    home = tmp_path_factory.mktemp("home")
    (home / ".streamlit").mkdir()
    text = f"[server]\ndisconnectedSessionTTL = {PATIENT_SECONDS}\n"
    (home / ".streamlit" / "config.toml").write_text(text)
    names = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")
    settings = {
        "HOME": str(home),
        "no_proxy": "",
        "NO_PROXY": "",
        **dict.fromkeys(names, contacted.url),
    }
    with small_server(tmp_path_factory.mktemp("open"), settings, soft=1024, hard=HARD) as app:
        yield app


def small_server(
    folder: Path, settings: Mapping[str, str], soft: int, hard: int
) -> AbstractContextManager[Served]:
    """Serve the small page behind the gateway, with long timeouts.

    Args:
        folder: gets the log.
        settings: environment variables.
        soft: the soft limit of file descriptors.
        hard: the hard limit of file descriptors.
    """
    patient = {
        "OMP_NUM_THREADS": "1",
        FIRST_MESSAGE_SECONDS.setting: str(PATIENT_SECONDS),
        HEAD_SECONDS.setting: str(PATIENT_SECONDS),
    }
    return served(
        folder / "log",
        patient | dict(settings),
        limit=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard)),
        module=("tests.gateway.small_server",),
    )
