"""Training sentence pairs with pictures, in batches of one kind each.

Shapes: B examples, M source items, T target items, P cells, C channels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from areaviz.data.flickr8k import Photo, read_photos
from areaviz.data.multi30k import read_split
from areaviz.models.tokenizer import Tokenizer, pad_rows, shift_targets
from areaviz.samples.dataset import FUNCTION_WORDS, Boxes
from areaviz.samples.scenes import MASK, SCENE_PIXELS, Sentence, make_scenes
from areaviz.training.captioned_pictures import CaptionedPictures, read_captioned_pictures

KINDS = ("text", "caption", "triple")
"""Kinds of batches: sentence pairs, pictures with a sentence of the target language, and both."""


@dataclass(frozen=True, slots=True)
class Example:
    """One example, with a picture, a source sentence or both."""

    # Index of the picture, or -1 for none.
    picture: int
    # Source sentence, or "" for none.
    source: str
    target: str
    # Indices of the source words that can be masked, because a picture may show them.
    maskable: tuple[int, ...] = ()
    # Index and gold boxes of each target word that has boxes.
    boxes: Boxes = ()

    def masked(self, share: float, rng: np.random.Generator) -> str:
        """Return the source with each maskable word masked with probability `share`."""
        words = self.source.split(" ")
        hidden = {index for index in self.maskable if rng.random() < share}
        return " ".join(MASK if index in hidden else word for index, word in enumerate(words))


@dataclass(frozen=True, slots=True)
class PairBatch:
    """A batch of one kind."""

    # Token ids [B, M], or None without sources.
    source: Tensor | None
    # Features [B, P, C], or None without pictures.
    pictures: Tensor | None
    # Token ids [B, T], which begin with the start symbol.
    target_in: Tensor
    # Token ids [B, T].
    target_out: Tensor

    def to(self, device: torch.device) -> PairBatch:
        """Return the batch on `device`, with features in single precision."""
        source = None if self.source is None else self.source.to(device)
        pictures = None if self.pictures is None else self.pictures.to(device).float()
        return PairBatch(source, pictures, self.target_in.to(device), self.target_out.to(device))


@dataclass(frozen=True, slots=True, eq=False)
class PicturePairs:
    """Pictures, and the examples of each kind."""

    pictures: CaptionedPictures
    examples: Mapping[str, Sequence[Example]]

    def texts(self) -> Iterator[str]:
        """Yield the mask and every sentence of both languages."""
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
    ) -> PairBatch:
        """Return examples of a kind as a batch.

        Each maskable word of a source is masked with probability `share`. Without `rng`, pictures
        are unchanged and the masked words are always equal.
        """
        drawn = rng or np.random.default_rng(0)
        target_out = pad_rows([tokenizer.ids(one.target) for one in chosen])
        source, pictures = None, None
        if kind != "caption":
            source = pad_rows([tokenizer.ids(one.masked(share, drawn)) for one in chosen])
        if kind != "text":
            pictures = self.pictures.look(np.array([one.picture for one in chosen]), rng)
        return PairBatch(source, pictures, shift_targets(target_out), target_out)

    def draw(self, kind: str, count: int, rng: np.random.Generator) -> list[Example]:
        """Draw `count` examples of a kind with targets of similar length, to save padding."""
        examples = self.examples[kind]
        several = [examples[i] for i in rng.integers(len(examples), size=4 * count).tolist()]
        several.sort(key=lambda one: len(one.target))
        first = int(rng.integers(4)) * count
        return several[first : first + count]


def read_picture_pairs(
    pictures: str, split: str, data: Path, runs: Path, side: int = SCENE_PIXELS
) -> PicturePairs:
    """Return the "photos" or "scenes" of "train" or "val", `side` pixels wide and high.

    Raises:
        FileNotFoundError: A corpus is not in `data`.
    """
    seen = read_captioned_pictures(pictures, split, data, runs, side)
    if pictures == "scenes":
        return PicturePairs(seen, _make_examples_from_scenes(split))
    photos = read_photos(data, split)
    return PicturePairs(seen, _make_examples_from_photos(photos, _read_pairs(data, split, photos)))


def _make_examples_from_scenes(split: str) -> dict[str, list[Example]]:
    triples, captions = [], []
    for number, scene in enumerate(make_scenes(split)):
        source, target = scene.english, scene.german.text
        boxes = scene.german_grounded.boxes
        triples.append(Example(number, source.text, target, find_seen_words(source), boxes))
        captions.append(Example(number, "", target))
    return {"text": triples, "caption": captions, "triple": triples}


def find_seen_words(sentence: Sentence) -> tuple[int, ...]:
    """Return the indices of the words that the picture shows: sizes, colours and shapes."""
    kinds = enumerate(sentence.kinds)
    return tuple(index for index, kind in kinds if kind in ("size", "colour", "noun"))


def _make_examples_from_photos(
    photos: Sequence[Photo], pairs: Sequence[tuple[str, str]]
) -> dict[str, list[Example]]:
    triples, captions = [], []
    for number, photo in enumerate(photos):
        if photo.pair is not None:
            triples.append(Example(number, *photo.pair, _find_content_words(photo.pair[0])))
        captions += [Example(number, "", text) for text in photo.german]
    return {"text": [Example(-1, *pair) for pair in pairs], "caption": captions, "triple": triples}


def _find_content_words(text: str) -> tuple[int, ...]:
    """Return the indices of the words that are not function words."""
    words = [word.lower().strip(".,") for word in text.split(" ")]
    return tuple(index for index, word in enumerate(words) if word not in FUNCTION_WORDS)


def _read_pairs(data: Path, split: str, photos: Sequence[Photo]) -> list[tuple[str, str]]:
    """Return the sentence pairs of a split.

    The training pairs of Multi30k that belong to a photo of another split are left out. Training
    therefore never reads a held-out sentence.
    """
    if split != "train":
        return [photo.pair for photo in photos if photo.pair is not None]
    held = set()
    for other in ("val", "test"):
        held |= {photo.pair[0] for photo in read_photos(data, other) if photo.pair is not None}
    return [pair for pair in read_split(data, "train") if pair[0] not in held]
