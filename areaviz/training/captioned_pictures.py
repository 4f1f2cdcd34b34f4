"""Training pictures with captions: photos with five captions each, or shape scenes with one.

Shapes: N pictures or captions, H = W side of a picture, M cells, C channels, T tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from areaviz.data.flickr8k import read_photos, read_pixels
from areaviz.models.pictures import GridEncoder
from areaviz.models.tokenizer import Tokenizer, pad_rows
from areaviz.samples.dataset import GroundedSentence
from areaviz.samples.scenes import SCENE_PIXELS, SIZES_OF_SPLITS, make_scenes
from areaviz.trace.areas import IntArray
from areaviz.training.about import TrainingTexts, read_training_texts
from areaviz.training.finished_features import Features, encode_finished_features, load_encoder
from areaviz.training.photo_changes import PhotoChanges
from areaviz.training.task import load_or_make_array

VIEWS = 5
"""Number of versions of each training photo that a finished encoder encodes, called views.

The first view is the unchanged photo. A finished encoder is one that is not trained further.
"""


HELP = {
    "small": "without any larger network's help",
    "efficientnet-lite0": "with an EfficientNet-Lite0 trained on a million pictures",
    "resnet152": "with a ResNet-152 trained on a million pictures",
}
"""Phrases for the card on the pre-training of each kind of encoder."""


@dataclass(frozen=True, slots=True, eq=False)
class CaptionedPictures:
    """Pictures, as pixels or as features, and their sentences.

    Args:
        kind: "photos" or "scenes".
        pixels: uint8 [N, H, W, 3].
        captions: Captions of each picture. Every picture has the same number of captions.
        grounded: Sentences with gold boxes, for each picture.
        changes: Whether pictures are changed slightly in training.
        features: One float16 array [N, M, C] per view. Empty if the trained model encodes the
            pixels.
        encoder: Facts about the encoder that made the features, for the card.
        view_changes: Changes to the pictures in each view except the first.
    """

    kind: str
    pixels: npt.NDArray[np.uint8]
    captions: Sequence[Sequence[str]]
    grounded: Sequence[Sequence[GroundedSentence]]
    changes: bool
    features: Sequence[Features] = ()
    encoder: Mapping[str, Any] = field(default_factory=dict)
    view_changes: Sequence[PhotoChanges] = ()

    def __len__(self) -> int:
        return len(self.captions)

    def about(self, encoder: str) -> TrainingTexts:
        """Return the texts for the card of a model whose encoder is a key of `ENCODERS`."""
        return read_training_texts(self.kind, help=HELP[encoder], scenes=SIZES_OF_SPLITS)

    def texts(self) -> Iterator[str]:
        """Yield every caption."""
        for texts in self.captions:
            yield from texts

    def ids(self, tokenizer: Tokenizer, chosen: IntArray) -> Tensor:
        """Return the captions of the chosen pictures as padded token ids [N, T].

        The captions are in the order of the pictures.
        """
        texts = [text for index in chosen.tolist() for text in self.captions[index]]
        return pad_rows([tokenizer.ids(text) for text in texts])

    def sentences(
        self, chosen: IntArray, each: int, rng: np.random.Generator
    ) -> list[list[GroundedSentence]]:
        """Draw sentences with boxes for each chosen picture, without replacement.

        Args:
            chosen: Indices of the pictures.
            each: Number of sentences per picture. 0 returns all of them.
            rng: Source of randomness.
        """
        drawn = []
        for index in chosen.tolist():
            some = self.grounded[index]
            numbers = rng.permutation(len(some))[: each or None]
            drawn.append([some[number] for number in numbers.tolist()])
        return drawn

    def draw_views(self, count: int, rng: np.random.Generator) -> IntArray:
        """Draw the index of an encoded view for each of `count` pictures.

        Every index is 0 if no view has been encoded.
        """
        return rng.integers(max(1, len(self.features)), size=count)

    def look(self, chosen: IntArray, rng: np.random.Generator | None) -> Tensor:
        """Return pixels or features of the chosen pictures.

        Args:
            chosen: Indices of the pictures.
            rng: Source of randomness for training, to choose a view or small changes of each
                photo. If it is None, the photos are returned unchanged.
        """
        if self.features:
            views = np.zeros(len(chosen), int) if rng is None else self.draw_views(len(chosen), rng)
            return self.look_at(chosen, views)
        pixels = torch.from_numpy(self.pixels[chosen])
        if rng is None or not self.changes:
            return pixels
        generator = torch.Generator().manual_seed(int(rng.integers(2**62)))
        return PhotoChanges.draw(len(pixels), generator).change(pixels)

    def look_at(self, chosen: IntArray, views: IntArray) -> Tensor:
        """Return the features of the given views, or pixels if no view has been encoded."""
        if not self.features:
            return torch.from_numpy(self.pixels[chosen])
        looks = [self.features[view][index] for view, index in zip(views, chosen, strict=True)]
        return torch.from_numpy(np.stack(looks))

    def seen(self, index: int, view: int, sentence: GroundedSentence) -> GroundedSentence:
        """Return a sentence with its boxes moved so that they fit a view of its picture."""
        if view == 0:
            return sentence
        return self.view_changes[view - 1].ground(index, sentence)

    def encoded(
        self, encoder: GridEncoder, run: Path, device: torch.device, views: int = VIEWS
    ) -> CaptionedPictures:
        """Return the pictures as features of the encoder that `run` trained.

        This loads the weights into `encoder` and freezes them.

        Args:
            encoder: Encoder to load.
            run: Folder of the run that trained the encoder. The features are cached there.
            device: Device that encodes.
            views: Number of versions of each photo to encode if photos are changed in training.
        """
        load_encoder(encoder, run)
        encoder.requires_grad_(False)
        changes = []
        for seed in range(1, views if self.changes else 1):
            changes.append(PhotoChanges.draw(len(self), torch.Generator().manual_seed(seed)))
        features = encode_finished_features(encoder, self.pixels, changes, run, device)
        return replace(self, features=features, encoder={"run": run.name}, view_changes=changes)


def get_picture_side(model: Mapping[str, Any]) -> int:
    """Return the side in pixels of the pictures that a recipe's model reads."""
    return int(model.get("encoder", {}).get("side", SCENE_PIXELS))


def read_captioned_pictures(
    pictures: str,
    split: str,
    data: Path,
    runs: Path,
    side: int = SCENE_PIXELS,
    any_true: bool = False,
) -> CaptionedPictures:
    """Return the "photos" or "scenes" of a split.

    The pixels are cached in `runs`.

    Args:
        pictures: "photos" or "scenes".
        split: "train", "val" or "test".
        data: Folder of the corpora.
        runs: Folder of the training runs.
        side: Side of the pictures in pixels.
        any_true: Whether a scene has all its `clear_sentences` as captions instead of only its own
            sentence.

    Raises:
        FileNotFoundError: The photos are not in `data`.
    """
    path = runs / pictures / (f"{split}.npy" if side == SCENE_PIXELS else f"{split}-{side}.npy")
    if pictures == "photos":
        photos = read_photos(data, split)
        pixels = load_or_make_array(path, lambda: read_pixels(data, photos, side))
        captions: Sequence[Sequence[str]] = [photo.captions for photo in photos]
        grounded: Sequence[Sequence[GroundedSentence]] = [photo.grounded for photo in photos]
    else:
        scenes = make_scenes(split)
        pixels = load_or_make_array(
            path, lambda: np.stack([scene.pixels(side) for scene in scenes])
        )
        grounded = [(scene.grounded,) for scene in scenes]
        if any_true:
            grounded = [scene.clear_sentences() for scene in scenes]
        captions = [[sentence.text for sentence in some] for some in grounded]
    changes = pictures == "photos" and split == "train"
    return CaptionedPictures(pictures, pixels, captions, grounded, changes)
