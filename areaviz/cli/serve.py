"""`python -m areaviz serve`: start the app."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from areaviz.trace.errors import BackendError

ROOT = Path(__file__).resolve().parents[2]


def serve(
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port of the app.")] = 8501,
) -> None:
    """Start the app on http://127.0.0.1:8501, for this machine only.

    Address, allowed hosts and looks are set in .streamlit/config.toml. Stop it with Ctrl-C.
    """
    app = ROOT / "app.py"
    if not app.exists():
        raise BackendError(f"{app} is missing; start the app from a clone of the repository, where app.py lies.")
    # Streamlit finds its configuration in the working directory, and takes over this process: one process to stop.
    os.chdir(ROOT)
    os.execv(sys.executable, [sys.executable, "-m", "streamlit", "run", str(app), "--server.port", str(port)])
