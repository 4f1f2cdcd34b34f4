"""Where everything lies: the app and its pages, configuration, models, samples, corpora.

No other module computes it. In a clone of the repository all of it lies beside the package; a wheel
holds the app, its samples and the small models within the package (`setup.py` puts them there).
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
BUNDLE = _PACKAGE / "bundle"
"""Of an installed package: what a clone has beside the package."""

IS_CLONE = (_PACKAGE.parent / "app.py").exists() and not BUNDLE.exists()
ROOT = _PACKAGE.parent if IS_CLONE else BUNDLE
"""The clone of the repository, or the bundle: what follows here lies in it."""

APP, PAGES = ROOT / "app.py", ROOT / "pages"
CONFIGURATION = ROOT / ".streamlit"
"""Streamlit's; it is found from the working directory, so the app is started in `ROOT`."""
CHECKPOINTS, ASSETS = ROOT / "checkpoints", ROOT / "assets"
HOME, OPENINGS = ASSETS / "home.npz", ASSETS / "openings"
LOOKS, CARDS = OPENINGS / "looks.json", ASSETS / "cards"
"""The traces that the front page and the others open with; see `areaviz.backend.stored`.
`areaviz openings` writes them, where to look in them first, and the pictures of Home's cards.
"""
README = ROOT / "README.md"
FINDINGS, RESULTS = ROOT / "docs" / "findings.md", ROOT / "docs" / "results.md"
FORMS = CHECKPOINTS / "tables"
"""The tables of trained forms of keys; see `areaviz.evaluation.form_tables`."""

MODEL_DIGESTS = CHECKPOINTS / "models.sha256"
"""Of a bundle: every file of every model of the release, also of those that are not in it."""

CHECKPOINTS_SETTING, DATA_SETTING = "AREAVIZ_CHECKPOINTS", "AREAVIZ_DATA"
FOLDERS_SETTING = "AREAVIZ_MODELS"
"""Models of others that the app shows beside its own, with the system's mark between paths."""


def checkpoints_folder() -> Path:
    """The models: AREAVIZ_CHECKPOINTS of the environment, else those that were fetched, else those
    that came along.
    """
    chosen = os.environ.get(CHECKPOINTS_SETTING)
    if chosen:
        return Path(chosen).expanduser()
    # The package alone has nothing that could have fetched models, nor their folder's name.
    if IS_CLONE or find_spec("platformdirs") is None:
        return CHECKPOINTS
    fetched = fetched_models()
    return fetched if fetched.exists() else CHECKPOINTS


def others_folders() -> tuple[str, ...]:
    """The models of others: AREAVIZ_MODELS of the environment, as `serve --model` sets it."""
    given = os.environ.get(FOLDERS_SETTING, "").split(os.pathsep)
    return tuple(place for place in given if place)


def fetched_models() -> Path:
    """Where `areaviz data get models` puts the models, when nothing else is said."""
    return own_folder("checkpoints")


def data_folder() -> Path:
    """The corpora: the environment variable AREAVIZ_DATA, else data/ in the working directory."""
    return Path(os.environ.get(DATA_SETTING) or "data").expanduser()


def own_folder(name: str) -> Path:
    """A folder that the app writes: in the working directory for a clone, which is its own place;
    else with the reader's other application data, as a package's folder is not for writing.
    """
    if IS_CLONE:
        return Path(name)
    # Here, because a clone needs no answer of it.
    from platformdirs import user_data_path

    return user_data_path("areaviz", appauthor=False) / name
