"""Ctrl-C ends `areaviz serve models` and all processes that it started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import pytest

from tests.server.models import TOKEN
from tests.server.ray_server import free_port

pytestmark = pytest.mark.long
ROOT = Path(__file__).parents[2]
MARK = "AREAVIZ_TEST_MARK"


def marked(mark: str) -> list[int]:
    """Return the running processes that were started with this mark in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if f"{MARK}={mark}".encode() in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
    return found


def test_interrupt_ends_all_processes(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(TOKEN)
    log, mark = tmp_path / "log", uuid4().hex
    command = [
        sys.executable,
        "-m",
        "areaviz",
        "serve",
        "models",
        "--token-file",
        str(tmp_path / "token"),
    ]
    before = signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a background shell makes its children ignore Ctrl-C
    with log.open("wb") as output:
        server = subprocess.Popen(
            [*command, "--port", str(free_port()), "--cpus", "0.5"],
            cwd=ROOT,
            env={**os.environ, MARK: mark},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    signal.signal(signal.SIGINT, before)
    try:
        while b"The models are served" not in log.read_bytes():
            assert server.poll() is None, log.read_text()
            time.sleep(0.2)
        assert len(marked(mark)) > 2
        server.send_signal(signal.SIGINT)
        assert server.wait() == 0, log.read_text()
        while marked(mark):
            time.sleep(0.2)
    finally:
        for process in marked(mark):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
