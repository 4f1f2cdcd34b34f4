"""The locations of all files: the app and its pages, configuration, models, samples and corpora.

Other modules take their paths from here. In a clone of the repository the files are next to the
package. A wheel contains the app, its samples and the small models inside the package, where
`setup.py` puts them.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
BUNDLE = _PACKAGE / "bundle"
"""Folder in an installed package with the files that a clone has next to the package."""

IS_CLONE = (_PACKAGE.parent / "app.py").exists() and not BUNDLE.exists()
ROOT = _PACKAGE.parent if IS_CLONE else BUNDLE
"""The clone of the repository, or the bundle, which contains all paths below."""

APP, PAGES = ROOT / "app.py", ROOT / "pages"
CONFIGURATION = ROOT / ".streamlit"
"""Streamlit's configuration. Streamlit searches the working directory, so the app is started in
`ROOT`.
"""
CHECKPOINTS, ASSETS = ROOT / "checkpoints", ROOT / "assets"
HOME, HERO, OPENINGS = ASSETS / "home.npz", ASSETS / "hero.npz", ASSETS / "openings"
LOOKS, CARDS, ANALYSIS = OPENINGS / "looks.json", ASSETS / "cards", ASSETS / "analysis"
"""The stored files that the pages first show, in the order of the names above: a translation's
trace for the gallery, the trace of Home, the traces of the other pages (see
`areaviz.backend.stored`), the list of their default views, the pictures of Home, and the rows of
Analyse (see `areaviz.analysis.stored_analysis`).

The command `areaviz openings` writes them.
"""
README = ROOT / "README.md"
FINDINGS, RESULTS = ROOT / "docs" / "findings.md", ROOT / "docs" / "results.md"
FORMS = CHECKPOINTS / "tables"
"""Folder of the tables of trained area keys. See `areaviz.evaluation.key_form_tables`."""

MODEL_DIGESTS = CHECKPOINTS / "models.sha256"
"""List of digests in a bundle: one for every file of every model of the release, including models
that are not bundled.
"""

CHECKPOINTS_SETTING, DATA_SETTING = "AREAVIZ_CHECKPOINTS", "AREAVIZ_DATA"
FOLDERS_SETTING = "AREAVIZ_MODELS"
"""Setting with the external models that the app shows next to its own. Their paths are separated by
the system's path separator.
"""


def find_checkpoints_folder() -> Path:
    """Return the folder of the models.

    The environment variable AREAVIZ_CHECKPOINTS comes first, then the folder of fetched models,
    then the models that came with the package.
    """
    chosen = os.environ.get(CHECKPOINTS_SETTING)
    if chosen:
        return Path(chosen).expanduser()
    # Without platformdirs, the folder of fetched models is unknown, so none can have been fetched.
    if IS_CLONE or find_spec("platformdirs") is None:
        return CHECKPOINTS
    fetched = find_fetched_models_folder()
    return fetched if fetched.exists() else CHECKPOINTS


def list_external_model_folders() -> tuple[str, ...]:
    """Return the folders of external models: AREAVIZ_MODELS, which `serve --model` sets."""
    given = os.environ.get(FOLDERS_SETTING, "").split(os.pathsep)
    return tuple(place for place in given if place)


def find_fetched_models_folder() -> Path:
    """Return the default folder of `areaviz data get models`."""
    return own_folder("checkpoints")


def find_data_folder() -> Path:
    """Return the folder of the corpora: AREAVIZ_DATA, or data/ in the working directory."""
    return Path(os.environ.get(DATA_SETTING) or "data").expanduser()


def own_folder(name: str) -> Path:
    """Return a folder that the app writes to.

    For a clone it is in the working directory. Otherwise it is in the user's application data,
    because the folder of a package is not writable.
    """
    if IS_CLONE:
        return Path(name)
    # Imported here, because a clone does not need platformdirs.
    from platformdirs import user_data_path

    return user_data_path("areaviz", appauthor=False) / name
