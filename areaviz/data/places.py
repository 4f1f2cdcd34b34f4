"""Where everything lies: the app and its pages, configuration, models, samples, corpora.

No other module computes it. All of it but the corpora comes with the repository, whose root this
module knows.
"""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The clone of the repository: what has the package `areaviz`, and whatever follows here, in it."""

APP, PAGES = ROOT / "app.py", ROOT / "pages"
CONFIGURATION = ROOT / ".streamlit"
"""Streamlit's; it is found from the working directory, so the app is started in `ROOT`."""
CHECKPOINTS, ASSETS = ROOT / "checkpoints", ROOT / "assets"
README = ROOT / "README.md"
FINDINGS = ROOT / "docs" / "findings.md"
LETTERS = CHECKPOINTS / "tables" / "letters.json"
"""The table of forms of keys that were trained on letters; see `areaviz.evaluation.forms`."""

CHECKPOINTS_SETTING, DATA_SETTING = "AREAVIZ_CHECKPOINTS", "AREAVIZ_DATA"


def checkpoints_folder() -> Path:
    """The models of the app: AREAVIZ_CHECKPOINTS of the environment, else the repository's."""
    return Path(os.environ.get(CHECKPOINTS_SETTING) or CHECKPOINTS).expanduser()


def data_folder() -> Path:
    """The corpora: the environment variable AREAVIZ_DATA, else data/ in the working directory."""
    return Path(os.environ.get(DATA_SETTING) or "data").expanduser()
