"""Serve a Streamlit script on a free port, for the browser tests and the app's benchmark."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

ROOT = Path(__file__).parents[2]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
FLAGS = {
    "server.address": "127.0.0.1",
    "server.headless": "true",
    "server.fileWatcherType": "none",
    "browser.gatherUsageStats": "false",
    "runner.postScriptGC": "false",
}
APP = "app.py"
PATIENCE = 120.0  # seconds; imports are slow on a busy machine


def browser_path() -> str | None:
    """Return the path of the system's Chromium or Chrome, or None."""
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


class Server:
    """A served Streamlit script in its own process group.

    The app is started with `areaviz serve`, as users do, and other scripts with Streamlit.

    Args:
        script: Path from the repository's root.
        log: File for its output.
        settings: Environment variables.
        options: Options of `areaviz serve`, for the app only.
    """

    def __init__(
        self, script: str, log: Path, settings: dict[str, str], options: Sequence[str] = ()
    ) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.url = f"http://127.0.0.1:{probe.getsockname()[1]}"
        flags = [
            f"--{name}={value}"
            for name, value in {**FLAGS, "server.port": self.url.split(":")[-1]}.items()
        ]
        command = [sys.executable, "-m", "streamlit", "run", str(ROOT / script), *flags]
        if script == APP:
            command = [
                sys.executable,
                "-m",
                "areaviz",
                "serve",
                "--port",
                self.url.split(":")[-1],
                *options,
            ]
        self._log = log
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                command,
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT), **settings},
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait(self) -> str:
        """Wait until the server answers, and return its address.

        Raises:
            RuntimeError: The server does not answer. The message has its output.
        """
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                with urlopen(f"{self.url}/_stcore/health", timeout=5):
                    return self.url
            except (URLError, OSError):
                time.sleep(0.1)
        self.stop()
        raise RuntimeError(
            f"The server did not answer within {PATIENCE:.0f} s:\n{self._log.read_text()[-2000:]}"
        )

    def stop(self) -> None:
        """End the server and everything it started."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
