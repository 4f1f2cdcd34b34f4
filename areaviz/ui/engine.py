"""Which backend the pages talk to: chosen by two settings, opened once for all sessions.

AREAVIZ_BACKEND: "local" (default: models run in this process) or "replay:FOLDER" (stored traces).
AREAVIZ_CHECKPOINTS: where the models lie (default: the checkpoints folder beside app.py).
AREAVIZ_DEVICE: "auto" (default), "cpu", "cuda" or "mps".
"""

from __future__ import annotations

import gc
import os
from pathlib import Path

import streamlit as st

from areaviz.backend.base import Backend
from areaviz.backend.cached import CachedBackend
from areaviz.backend.replay import ReplayBackend
from areaviz.trace.errors import BackendError

ROOT = Path(__file__).parents[2]
REMEMBERED = 32


def engine() -> Backend:
    """The backend of this process."""
    setting = os.environ.get("AREAVIZ_BACKEND", "local")
    checkpoints = os.environ.get("AREAVIZ_CHECKPOINTS", str(ROOT / "checkpoints"))
    return _opened(setting, checkpoints, os.environ.get("AREAVIZ_DEVICE", "auto"))


def open_backend(setting: str, checkpoints: Path, device: str) -> Backend:
    """A new backend as the settings say; raises BackendError for a setting that is not known."""
    kind, _, folder = setting.partition(":")
    if kind == "replay" and folder:
        return ReplayBackend(Path(folder))
    if setting == "local":
        from areaviz.backend.local import LocalBackend  # here, so that stored traces are shown without torch

        return LocalBackend(checkpoints, device)
    raise BackendError('The setting AREAVIZ_BACKEND must be "local" or "replay:FOLDER".')


@st.cache_resource(show_spinner="Opening the models", max_entries=4)
def _opened(setting: str, checkpoints: str, device: str) -> CachedBackend:
    backend = CachedBackend(open_backend(setting, Path(checkpoints), device), REMEMBERED)
    backend.models()
    # Streamlit collects garbage after every rerun; what torch brought along stays, so it need not be looked at again.
    gc.collect()
    gc.freeze()
    return backend
