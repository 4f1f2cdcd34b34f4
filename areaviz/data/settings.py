"""Where corpora lie: a setting of the machine, not of the code."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "AREAVIZ_DATA"


def data_folder() -> Path:
    """The folder of the corpora: the environment variable AREAVIZ_DATA, else data/ in the working directory."""
    return Path(os.environ.get(VARIABLE) or "data").expanduser()
