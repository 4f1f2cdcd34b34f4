"""Sentence pairs with pictures: what a translator that looks learns from, in batches of one kind
each.

Shapes: B examples, M source items, T target items, P cells, C channels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from areaviz.data.batches import pad, shifted
from areaviz.data.flickr8k import Photo, read_photos
from areaviz.data.grounding import FUNCTION_WORDS, Boxes
from areaviz.data.multi30k import read_split
from areaviz.data.scene_grammar import MASK, Sentence
from areaviz.data.scenes import SIDE, scenes_of
from areaviz.data.tokenizer import Tokenizer
from areaviz.training.captioned_pictures import Described, described

KINDS = ("text", "caption", "triple")
"""Of batches: sentence pairs, pictures with a sentence of the target language, and both."""


@dataclass(frozen=True, slots=True)
class Example:
    """picture: its index, -1 for none. source: "" for none. maskable: words of the source that a
    picture may tell.
    boxes: for each word of the target that has any, its index and its gold boxes.
    """

    picture: int
    source: str
    target: str
    maskable: tuple[int, ...] = ()
    boxes: Boxes = ()

    def masked(self, share: float, rng: np.random.Generator) -> str:
        """The source with each maskable word hidden with probability `share`."""
        words = self.source.split(" ")
        hidden = {index for index in self.maskable if rng.random() < share}
        return " ".join(MASK if index in hidden else word for index, word in enumerate(words))


@dataclass(frozen=True, slots=True)
class Mixed:
    """A batch: source [B, M] or None, pictures or their features or None, target_in and target_out
    [B, T].
    """

    source: Tensor | None
    pictures: Tensor | None
    target_in: Tensor
    target_out: Tensor

    def to(self, device: torch.device) -> Mixed:
        """The same batch on `device`."""
        source = None if self.source is None else self.source.to(device)
        pictures = None if self.pictures is None else self.pictures.to(device)
        return Mixed(source, pictures, self.target_in.to(device), self.target_out.to(device))


@dataclass(frozen=True, slots=True, eq=False)
class Illustrated:
    """Pictures and the examples of each kind."""

    pictures: Described
    examples: Mapping[str, Sequence[Example]]

    def texts(self) -> Iterator[str]:
        """Every sentence of both languages, and the mask."""
        yield MASK
        for examples in self.examples.values():
            yield from (text for one in examples for text in (one.source, one.target) if text)

    def batch(
        self,
        kind: str,
        chosen: Sequence[Example],
        tokenizer: Tokenizer,
        share: float,
        rng: np.random.Generator | None,
    ) -> Mixed:
        """Examples of a kind as a batch; without `rng` pictures are unchanged and the same words
        are always hidden.
        """
        drawn = rng or np.random.default_rng(0)
        target_out = pad([tokenizer.ids(one.target) for one in chosen])
        source, pictures = None, None
        if kind != "caption":
            source = pad([tokenizer.ids(one.masked(share, drawn)) for one in chosen])
        if kind != "text":
            pictures = self.pictures.look(np.array([one.picture for one in chosen]), rng)
        return Mixed(source, pictures, shifted(target_out), target_out)

    def draw(self, kind: str, count: int, rng: np.random.Generator) -> list[Example]:
        """Some examples of a kind, with targets of like length so that little is padding."""
        examples = self.examples[kind]
        several = [examples[i] for i in rng.integers(len(examples), size=4 * count).tolist()]
        several.sort(key=lambda one: len(one.target))
        first = int(rng.integers(4)) * count
        return several[first : first + count]


def illustrated(pictures: str, split: str, data: Path, runs: Path, side: int = SIDE) -> Illustrated:
    """The "photos" or "scenes" of "train" or "val", `side` pixels a side.

    Raises:
        FileNotFoundError: a corpus is not in `data`.
    """
    seen = described(pictures, split, data, runs, side)
    if pictures == "scenes":
        return Illustrated(seen, _of_scenes(split))
    photos = read_photos(data, split)
    return Illustrated(seen, _of_photos(photos, _pairs(data, split, photos)))


def _of_scenes(split: str) -> dict[str, list[Example]]:
    scenes = scenes_of(split)
    triples = [
        Example(
            number,
            scene.english.text,
            scene.german.text,
            told(scene.english),
            scene.german_grounded.boxes,
        )
        for number, scene in enumerate(scenes)
    ]
    return {
        "text": triples,
        "caption": [Example(one.picture, "", one.target) for one in triples],
        "triple": triples,
    }


def told(sentence: Sentence) -> tuple[int, ...]:
    """The words that the picture tells: sizes, colours and shapes."""
    return tuple(
        index for index, kind in enumerate(sentence.kinds) if kind in ("size", "colour", "noun")
    )


def _of_photos(
    photos: Sequence[Photo], pairs: Sequence[tuple[str, str]]
) -> dict[str, list[Example]]:
    triples = [
        Example(number, photo.pair[0], photo.pair[1], _content(photo.pair[0]))
        for number, photo in enumerate(photos)
        if photo.pair is not None
    ]
    captions = [
        Example(number, "", text) for number, photo in enumerate(photos) for text in photo.german
    ]
    return {"text": [Example(-1, *pair) for pair in pairs], "caption": captions, "triple": triples}


def _content(text: str) -> tuple[int, ...]:
    return tuple(
        i
        for i, word in enumerate(text.split(" "))
        if word.lower().strip(".,") not in FUNCTION_WORDS
    )


def _pairs(data: Path, split: str, photos: Sequence[Photo]) -> list[tuple[str, str]]:
    """Sentence pairs of Multi30k that belong to no photo of another split, so that nothing held out
    is ever read.
    """
    if split != "train":
        return [photo.pair for photo in photos if photo.pair is not None]
    held = {
        p.pair[0]
        for other in ("val", "test")
        for p in read_photos(data, other)
        if p.pair is not None
    }
    return [pair for pair in read_split(data, "train") if pair[0] not in held]
