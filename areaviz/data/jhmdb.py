"""J-HMDB: 928 clips of one second in which a person does one of 21 actions (Jhuang et al. 2013).

Each clip has a sentence (Gavrilyuk et al. 2018) and the person's box in 12 evenly spaced frames.
The clips are parts of films and uploads of third parties. They are for research and education
only. They are read from the user's folder, and no frame or sentence is part of this repository. The
splits are this project's own. All clips of a film are in one split.

Shapes: N clips, F = 12 frames, H height and W width of a frame in pixels.
"""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from areaviz.samples.dataset import Box

Pixels = npt.NDArray[np.uint8]

FRAMES, COLUMNS = 12, 4
"""Frames per clip, and frames per row of the picture that stores all frames of a clip."""
_FOLDER = "video_jhmdb"


@dataclass(frozen=True, slots=True)
class Film:
    """Everything known about a clip except its pixels."""

    # Name of the picture in the archive that stores its frames.
    name: str
    # One of 21 actions, such as "brush_hair".
    action: str
    # The sentence in lower case, with single spaces between words.
    text: str
    # The person's box in each frame.
    boxes: tuple[Box, ...]


def read_films(folder: Path, split: str) -> list[Film]:
    """Read the clips of "train", "val" or "test", in the order of the corpus.

    Raises:
        FileNotFoundError: The corpus is not in `folder`.
    """
    rows = _iterate_rows(folder / _FOLDER / "clips.jsonl")
    return [_parse_film(row) for row in rows if row["split"] == split]


def read_frames(folder: Path, films: Sequence[Film]) -> Iterator[Pixels]:
    """Yield the frames of each clip, uint8 [F, H, W, 3]. Needs Pillow.

    Raises:
        FileNotFoundError: The archive is not in `folder`, or a clip is not in the archive.
    """
    path = _require_file(folder / _FOLDER / "clips.tar")
    with tarfile.open(path) as archive:
        members = {member.name: member for member in archive}
        for film in films:
            content = archive.extractfile(members[film.name]) if film.name in members else None
            if content is None:
                raise FileNotFoundError(
                    f"{film.name} is not in {path}. Put the whole archive of J-HMDB there."
                )
            yield split_sheet_into_frames(content.read())


def split_sheet_into_frames(content: bytes) -> Pixels:
    """Split a picture into its frames, `COLUMNS` per row: uint8 [F, H, W, 3]."""
    # Imported here, so that sentences can be read without Pillow.
    from PIL import Image

    sheet = np.asarray(Image.open(io.BytesIO(content)).convert("RGB"))
    rows = FRAMES // COLUMNS
    height, width = sheet.shape[0] // rows, sheet.shape[1] // COLUMNS
    tiles = sheet.reshape(rows, height, COLUMNS, width, 3).swapaxes(1, 2)
    frames: Pixels = tiles.reshape(FRAMES, height, width, 3)
    return frames


def _parse_film(row: dict[str, Any]) -> Film:
    boxes = tuple(tuple(box) for box in row["boxes"])
    text = " ".join(row["sentence"].lower().split())
    return Film(row["file"], row["action"], text, boxes)


def _iterate_rows(path: Path) -> Iterator[dict[str, Any]]:
    with _require_file(path).open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _require_file(path: Path) -> Path:
    if not path.exists():
        raise FileNotFoundError(
            f"{path} is missing. Put J-HMDB (clips.tar, clips.jsonl) there, or name another"
            " folder with --data."
        )
    return path
