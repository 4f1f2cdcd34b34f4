"""Held-out sentence pairs with their pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from areaviz.data.flickr8k import read_photos, read_pixels
from areaviz.data.scenes import Scene, scenes_of
from areaviz.trace.picture import Picture


@dataclass(frozen=True, slots=True)
class PicturePairs:
    """Held-out examples; scenes: what the pictures are of, where that is known."""

    pictures: Sequence[Picture]
    sources: Sequence[str]
    targets: Sequence[str]
    scenes: Sequence[Scene] = ()


def read_picture_pairs(pictures: str, split: str, data: Path, side: int) -> PicturePairs:
    """The "photos" that have a translation, or the "scenes", of a split, `side` pixels a side.

    Raises:
        FileNotFoundError: the photos are not in `data`.
    """
    if pictures == "scenes":
        scenes = scenes_of(split)
        made = [Picture.of("scene", scene.pixels(side)) for scene in scenes]
        return PicturePairs(
            made, [s.english.text for s in scenes], [s.german.text for s in scenes], scenes
        )
    photos = [photo for photo in read_photos(data, split) if photo.pair is not None]
    pairs = [photo.pair for photo in photos if photo.pair is not None]
    made = [Picture.of("photo", one) for one in read_pixels(data, photos, side)]
    return PicturePairs(made, [source for source, _ in pairs], [target for _, target in pairs])
