"""Held-out sentence pairs with their pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from areaviz.data.flickr8k import read_photos, read_pixels
from areaviz.data.scenes import Scene, make_scene
from areaviz.trace.picture import Picture

SCENES = 1000


@dataclass(frozen=True, slots=True)
class Held:
    """Held-out examples; scenes: what the pictures are of, where that is known."""

    pictures: Sequence[Picture]
    sources: Sequence[str]
    targets: Sequence[str]
    scenes: Sequence[Scene] = ()


def held_out(pictures: str, split: str, data: Path, side: int) -> Held:
    """The "photos" that have a translation, or the "scenes", of a split, `side` pixels a side.

    Raises:
        FileNotFoundError: the photos are not in `data`.
    """
    if pictures == "scenes":
        scenes = [make_scene(split, number) for number in range(SCENES)]
        made = [Picture.of("scene", scene.pixels(side)) for scene in scenes]
        return Held(made, [s.english.text for s in scenes], [s.german.text for s in scenes], scenes)
    photos = [photo for photo in read_photos(data, split) if photo.pair is not None]
    pairs = [photo.pair for photo in photos if photo.pair is not None]
    made = [Picture.of("photo", one) for one in read_pixels(data, photos, side)]
    return Held(made, [source for source, _ in pairs], [target for _, target in pairs])
