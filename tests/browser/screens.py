"""Stored screenshots and layouts of pages, and how an opened page is compared with them.

`python -m benchmarks.screenshots --stored` writes them. Every version of Chromium draws letters a
little differently, and fonts of the system are used for characters that the app's fonts do not
have. So pictures are compared only if version and fonts are those of the stored pictures. Layouts
are always compared.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from tests.browser.conftest import NOT_COMPARED
from tests.browser.openings import NARROW, WIDE, Opening, Scheme

FOLDER = Path(__file__).parent / "screens"
LAYOUTS = FOLDER / "layouts.json"
VERSION = FOLDER / "chromium.txt"
"""File with the version of Chromium and the fonts of the stored pictures, see `drawn_by`."""
MOST_DIFFERENT = 0.005
"""The largest share of pixels that may differ."""
SAME = 32
"""Pixels whose grey values differ by less than this count as equal, because WebP loses a little."""
QUALITY = 50
"""The quality of the stored pictures, from 0 to 100."""
MOST_MOVED = 8
"""Largest distance of an edge from its stored place, in px."""

Layout = Mapping[str, Mapping[str, list[int]]]


def layout(opening: Opening) -> Layout:
    """Return the edges (left, top, right, bottom) of the parts of a page at both widths, in px."""
    return {"wide": _edges(opening.wide), "narrow": _edges(opening.narrow)}


def _edges(measures: Mapping[str, Any]) -> dict[str, list[int]]:
    parts = {
        **measures["parts"],
        "input": measures["input"],
        "picture": measures["picture"],
        "lit": next(iter(measures["lit"]), None),
    }
    edges = {}
    for name, box in parts.items():
        if box:
            edges[name] = [round(box[edge]) for edge in ("left", "top", "right", "bottom")]
    return edges


def moved(now: Layout, stored: Layout) -> list[str]:
    """Return a line for every part that is at another place, is new, or is gone."""
    found = []
    for width in ("wide", "narrow"):
        for name in sorted(now[width].keys() | stored[width].keys()):
            here, there = now[width].get(name), stored[width].get(name)
            is_near = here and there and np.abs(np.subtract(here, there)).max() <= MOST_MOVED
            if not is_near:
                found.append(f"{width} {name}: {here}, stored {there}")
    return found


def stored_layouts() -> Mapping[str, Layout]:
    """Return the stored layout of every page."""
    layouts: Mapping[str, Layout] = json.loads(LAYOUTS.read_text(encoding="utf-8"))
    return layouts


def drawn_by(version: str) -> str:
    """Return a version of Chromium with a digest of the system's fonts. Both determine pictures."""
    command = shutil.which("fc-list")
    if command is None:
        return f"{version} with unknown fonts"
    run = subprocess.run([command, ":", "family"], capture_output=True, text=True, check=True)
    families = "\n".join(sorted(set(run.stdout.splitlines())))
    return f"{version} with fonts {hashlib.sha256(families.encode()).hexdigest()[:12]}"


def not_compared(version: str) -> str:
    """Return why pictures cannot be compared under a version of Chromium, or "" if they can."""
    stored = VERSION.read_text(encoding="utf-8").strip() if VERSION.exists() else "no version"
    here = drawn_by(version)
    if stored == here:
        return ""
    return f"{NOT_COMPARED}, which are of Chromium {stored}, and this is {here}"


def screens(opening: Opening, name: str, scheme: Scheme) -> dict[Path, bytes]:
    """Return the screenshots of an opened page, by the files in which they are stored."""
    return {
        FOLDER / f"{name}-{scheme}-{WIDE}.webp": opening.screen,
        FOLDER / f"{name}-{scheme}-{NARROW}.webp": opening.narrow_screen,
    }


def packed(screen: bytes) -> bytes:
    """Return a screenshot as a small file."""
    file = io.BytesIO()
    Image.open(io.BytesIO(screen)).convert("RGB").save(file, "WEBP", quality=QUALITY, method=6)
    return file.getvalue()


def difference(now: bytes, stored: bytes) -> float:
    """Return the share of pixels that differ, or 1.0 if the sizes differ."""
    now_HW, stored_HW = _greys(now), _greys(stored)
    if now_HW.shape != stored_HW.shape:
        return 1.0
    return float((np.abs(now_HW - stored_HW) >= SAME).mean())


def _greys(picture: bytes) -> np.ndarray[Any, np.dtype[np.int16]]:
    return np.asarray(Image.open(io.BytesIO(picture)).convert("L")).astype(np.int16)
