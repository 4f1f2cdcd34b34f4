"""A corpus in the layout of J-HMDB, made of drawn frames.

It replaces films that may not be part of a repository.
"""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

import numpy as np
from PIL import Image

from areaviz.lab.tasks.clips import COLUMNS, FILM_FRAMES

HEIGHT, WIDTH = 48, 64
SPLITS = {"train": 8, "val": 4, "test": 6}
ACTIONS = {"climb": "climbing a ladder", "shout": "shouting at the sea"}


def write(data: Path) -> Path:
    """Write clips and sentences below `data` in the corpus's layout, and return `data`."""
    folder = data / "video_jhmdb"
    folder.mkdir(parents=True)
    rows: list[dict[str, object]] = []
    with tarfile.open(folder / "clips.tar", "w") as archive:
        for split, count in SPLITS.items():
            for _ in range(count):
                _add(archive, f"{len(rows):04}.jpg", len(rows))
                rows.append(_row(split, len(rows)))
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "clips.jsonl").write_text(text, encoding="utf-8")
    return data


def colour(clip: int, frame: int) -> tuple[int, int, int]:
    """Return the colour of a frame: red encodes the action, green the clip, blue the frame."""
    return 200 * (clip % 2), 10 * clip, 20 * frame


def _add(archive: tarfile.TarFile, name: str, clip: int) -> None:
    sheet = np.zeros((HEIGHT * FILM_FRAMES // COLUMNS, WIDTH * COLUMNS, 3), np.uint8)
    for frame in range(FILM_FRAMES):
        top, left = HEIGHT * (frame // COLUMNS), WIDTH * (frame % COLUMNS)
        sheet[top : top + HEIGHT, left : left + WIDTH] = colour(clip, frame)
    content = io.BytesIO()
    # Keep the full colour resolution, so that colours do not bleed into the neighbouring frame.
    Image.fromarray(sheet).save(content, "JPEG", quality=95, subsampling=0)
    entry = tarfile.TarInfo(name)
    entry.size = content.tell()
    content.seek(0)
    archive.addfile(entry, content)


def _row(split: str, clip: int) -> dict[str, object]:
    action = list(ACTIONS)[clip % 2]
    who = ("A fox", "A heron", "An  otter on the left")[clip % 3]
    return {
        "file": f"{clip:04}.jpg",
        "action": action,
        "sentence": f"{who} is {ACTIONS[action]}",
        "split": split,
        "boxes": [[0.1, 0.2, 0.5 + frame / 100, 1.0] for frame in range(FILM_FRAMES)],
    }
