"""The backend of the pages. All sessions share it, and these environment variables choose it.

AREAVIZ_BACKEND: "local" (default: models run in this process), "replay:FOLDER" (stored traces),
"record:FOLDER" (local, and every trace is stored), or the URL of a model server, such as
"http://127.0.0.1:8000".
AREAVIZ_TOKEN_FILE: the file with that server's access token.
AREAVIZ_CHECKPOINTS: the folder with the models (default: the checkpoints folder next to app.py).
AREAVIZ_MODELS: folders with external models. `serve --model` sets it.
AREAVIZ_DEVICE: "auto" (default), "cpu", "cuda" or "mps".
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable
from pathlib import Path

import streamlit as st

from areaviz.backend.access import read_token
from areaviz.backend.backend import (
    Backend,
    CachedBackend,
    RecordingBackend,
    ReplayBackend,
    StoredBackend,
)
from areaviz.backend.costs import FairBackend
from areaviz.backend.remote import RemoteBackend
from areaviz.cards.card import Card
from areaviz.samples.paths import OPENINGS, find_checkpoints_folder, list_external_model_folders
from areaviz.trace.errors import BackendError

MAX_STORED_TRACES = 32
TOKEN_FILE_VARIABLE = "AREAVIZ_TOKEN_FILE"


def get_backend() -> CachedBackend:
    """Return the backend of this process."""
    setting = os.environ.get("AREAVIZ_BACKEND", "local")
    return _open_backend(
        setting, str(find_checkpoints_folder()), os.environ.get("AREAVIZ_DEVICE", "auto")
    )


def find_card(model: str) -> Card | None:
    """Return the card of a model, or None if it has none. Some external models have none."""
    try:
        return get_backend().models().get(model)
    except BackendError:
        return None


def list_missing_models(wanted: Iterable[str]) -> list[str]:
    """Return the models that are missing from this machine's folder, without opening any.

    The list is empty if the models run on a server, or if no model runs. It is then unknown which
    models are missing.
    """
    if os.environ.get("AREAVIZ_BACKEND", "local") != "local":
        return []
    folder = find_checkpoints_folder()
    return [model for model in wanted if not (folder / model / "card.json").is_file()]


def list_load_by_user() -> list[dict[str, object]]:
    """Return the running and waiting requests of each user, see `FairBackend`."""
    found = []
    for backend in _list_opened_backends():
        found += backend.load_by_reader()
    return found


def count_waiting_requests() -> int | None:
    """Return the number of requests that wait for models, or None if none run in this process."""
    counts = [backend.waiting() for backend in _list_opened_backends()]
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def open_backend(setting: str, checkpoints: Path, device: str) -> Backend:
    """Return a new backend for these settings. Raise BackendError for an unknown setting."""
    kind, _, folder = setting.partition(":")
    if kind == "replay" and folder:
        return ReplayBackend(Path(folder))
    if kind in ("http", "https"):
        return RemoteBackend(setting, _get_server_token())
    if setting == "local" or (kind == "record" and folder):
        # Import here, so that stored traces can be shown without torch.
        from areaviz.backend.local import LocalBackend

        models = LocalBackend(checkpoints, device, list_external_model_folders())
        if kind == "record":
            return RecordingBackend(models, Path(folder))
        return StoredBackend(models, OPENINGS)
    raise BackendError(
        'The setting AREAVIZ_BACKEND must be "local", "replay:FOLDER", "record:FOLDER" or the URL'
        " of a model server."
    )


def _get_server_token() -> str:
    """Return the access token of the model server."""
    path = os.environ.get(TOKEN_FILE_VARIABLE)
    if not path:
        raise BackendError(
            f"The model server needs an access token. Set {TOKEN_FILE_VARIABLE} to the file"
            " that contains the token."
        )
    return read_token(Path(path))


@st.cache_resource(show_spinner="Opening the models", max_entries=4)
def _open_backend(setting: str, checkpoints: str, device: str) -> CachedBackend:
    fair = FairBackend(open_backend(setting, Path(checkpoints), device))
    backend = CachedBackend(fair, MAX_STORED_TRACES)
    backend.models()
    _list_opened_backends().append(fair)
    # Streamlit collects garbage after every rerun. Freeze the objects that torch loaded. They stay
    # in memory, so later collections need not scan them.
    gc.collect()
    gc.freeze()
    return backend


@st.cache_resource(show_spinner=False, max_entries=1)
def _list_opened_backends() -> list[FairBackend]:
    """Return every opened backend, so that the operator's commands need not open one."""
    return []
