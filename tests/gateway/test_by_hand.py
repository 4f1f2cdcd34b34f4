"""Tests of `streamlit run app.py` without the gateway: it works on this machine only."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from areaviz.backend.access import (
    KEY_SETTING,
    make_admission,
    make_admission_key,
    name_admission_cookie,
)
from tests.faults.client import Session, Shown
from tests.faults.served import ROOT, free_port, wait_until_it_answers
from tests.gateway.client import TOKEN

# Pages that need no model, so that a server does not load PyTorch.
LIGHT_PAGES = ("home", "your_tensors")


@contextmanager
def by_hand(log: Path, **settings: str) -> Iterator[tuple[str, int]]:
    """Serve the app with Streamlit alone while the block runs; yield its URL and its port."""
    port = free_port()
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **settings}
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        wait_until_it_answers(f"http://127.0.0.1:{port}/_stcore/health", process, log)
        yield f"http://127.0.0.1:{port}", port
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def said(shown: Shown) -> list[str]:
    """Return the kinds of the page's visible elements."""
    kinds = [
        one.delta.new_element.WhichOneof("type") for one in shown.messages if one.HasField("delta")
    ]
    return [kind for kind in kinds if kind not in (None, "bidi_component", "empty")]


@pytest.mark.long
def test_app_without_gateway_shows_its_pages(tmp_path: Path) -> None:
    with by_hand(tmp_path / "log") as (url, _), Session.open(url) as visitor:
        for page in LIGHT_PAGES:
            shown = visitor.visit(page)
            assert len(said(shown)) > 5 and not shown.errors


@pytest.mark.long
def test_app_without_gateway_needs_the_admission_cookie(tmp_path: Path) -> None:
    """Check the second lock alone, without the gateway.

    Streamlit runs files of `pages` by themselves for the first visitors of a process.
    """
    start = threading.Barrier(8)

    def drawn(url: str, page: str) -> list[str]:
        start.wait()
        with Session.open(url) as visitor:
            return said(visitor.visit(page))

    with by_hand(tmp_path / "log", **{KEY_SETTING: make_admission_key(TOKEN)}) as (url, port):
        with ThreadPoolExecutor(8) as pool:
            got = list(pool.map(drawn, [url] * 8, LIGHT_PAGES * 4))
        assert all(kinds in (["heading", "alert"], ["heading", "alert"] * 2) for kinds in got), got
        cookie = f"{name_admission_cookie(port)}={make_admission(make_admission_key(TOKEN))}"
        with Session.open(url, cookie) as visitor:
            assert len(said(visitor.visit("home"))) > 5
