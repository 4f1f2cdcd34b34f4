"""Flickr8k: 8,000 photos with captions, some with German captions and gold boxes.

Hodosh et al. 2013, with the boxes of Plummer et al. 2015. The splits are joint: no photo that tests
a captioner or a translator is used to train the other.
"""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from areaviz.samples.dataset import FUNCTION_WORDS, Box, GroundedSentence

SIDE = 128
_ARCHIVES = ("train", "val", "test")


@dataclass(frozen=True, slots=True)
class Photo:
    """Everything known about a photo except its pixels."""

    name: str
    # Five captions in lower case, with words and punctuation separated by spaces.
    captions: tuple[str, ...]
    # An English sentence and its German translation.
    pair: tuple[str, str] | None
    # Five independently written German captions, or none.
    german: tuple[str, ...]
    # Five sentences in lower case, with the gold boxes of their content words.
    grounded: tuple[GroundedSentence, ...]


def read_photos(folder: Path, split: str) -> list[Photo]:
    """Read the photos of "train", "val" or "test".

    Raises:
        FileNotFoundError: The corpus is not in `folder`.
    """
    place = folder / "images_flickr8k"
    rows = zip(
        _iterate_lines(place / "captions.jsonl.gz"),
        _iterate_lines(place / "boxes.jsonl.gz"),
        strict=True,
    )
    return [_parse_photo(row, boxes) for row, boxes in rows if row["split_joint"] == split]


def read_pixels(folder: Path, photos: list[Photo], side: int = SIDE) -> npt.NDArray[np.uint8]:
    """Read the pixels of photos, each scaled to a square: uint8 [N, side, side, 3]. Needs Pillow.

    Raises:
        FileNotFoundError: An archive or a photo is not in `folder`.
    """
    missing = {photo.name: index for index, photo in enumerate(photos)}
    pixels = np.empty((len(photos), side, side, 3), dtype=np.uint8)
    for name, content in _iterate_contents(folder / "images_flickr8k", missing.keys()):
        pixels[missing.pop(name)] = _resize_to_square(content, side)
    if missing:
        raise FileNotFoundError(
            f"{len(missing):,} of {len(photos):,} photos are missing in the archives of"
            f" {folder / 'images_flickr8k'}, such as {next(iter(missing))}. See docs/photos.md for"
            " the content of the folder and its source."
        )
    return pixels


def _iterate_contents(place: Path, wanted: Container[str]) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of every archived file whose name is in `wanted`.

    The caller may remove names from `wanted` meanwhile. A second copy of a file is then skipped.
    """
    for archive in _ARCHIVES:
        with tarfile.open(place / f"images_{archive}.tar") as files:
            for member in files:
                content = files.extractfile(member) if member.name in wanted else None
                if content is not None:
                    yield member.name, content.read()


def _resize_to_square(content: bytes, side: int) -> npt.NDArray[np.uint8]:
    from PIL import Image

    image = Image.open(io.BytesIO(content)).convert("RGB")
    return np.asarray(image.resize((side, side), Image.Resampling.BILINEAR))


def _iterate_lines(path: Path) -> Iterator[dict[str, Any]]:
    if not path.exists():
        raise FileNotFoundError(
            f"{path} is missing. See docs/photos.md for the content of the folder and its source."
        )
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _parse_photo(row: dict[str, Any], gold: dict[str, Any]) -> Photo:
    boxes: dict[int, list[Box]] = {}
    for chain, left, top, right, bottom in gold["boxes"]:
        boxes.setdefault(chain, []).append((left, top, right, bottom))
    grounded = tuple(_ground_sentence(sentence, boxes) for sentence in gold["sents"])
    texts = row.get("m30k")
    pair = (texts["en"].replace("&amp;", "&"), texts["de"]) if texts else None
    captions = tuple(caption.lower() for caption in row["en"])
    return Photo(row["file"], captions, pair, tuple(row.get("de") or ()), grounded)


def _ground_sentence(sentence: dict[str, Any], boxes: dict[int, list[Box]]) -> GroundedSentence:
    """Return the sentence with the boxes of the content words of its phrases."""
    text = sentence["text"].lower()
    words = text.split()
    places = []
    for first, count, chain, _ in sentence["phrases"]:
        for index in range(first, first + count):
            if chain in boxes and words[index] not in FUNCTION_WORDS:
                places.append((index, tuple(boxes[chain])))
    return GroundedSentence(text, tuple(places))
