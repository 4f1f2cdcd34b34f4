"""Pictures for training: photos with captions, random changes, and stored features.

`CaptionedPictures` at the end brings them together.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional as F

from areaviz.lab.loop import TrainingTexts, load_or_make_array, lock_path, read_training_texts
from areaviz.models.pictures import EfficientNetLite0, GridEncoder, ResNet152
from areaviz.models.tokenizer import Tokenizer, pad_rows
from areaviz.samples.dataset import FUNCTION_WORDS, Box, Boxes, GroundedSentence
from areaviz.samples.scenes import SCENE_PIXELS, SIZES_OF_SPLITS, make_scenes
from areaviz.trace.areas import IntArray

# Flickr8k: 8,000 photos with captions, some with German captions and gold boxes.
#
# Hodosh et al. 2013, with the boxes of Plummer et al. 2015. The splits are joint: no photo that
# tests a captioner or a translator is used to train the other.


PHOTO_SIDE = 128
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


def read_pixels(folder: Path, photos: list[Photo], side: int = PHOTO_SIDE) -> npt.NDArray[np.uint8]:
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


# Small random changes to photos for training, so that a photo looks different each time.
#
# Gold boxes change with the photos. Shapes: B pictures, H = W their side in pixels.


MIN_KEPT_SHARE = 0.3
"""Share of a box that must remain in a crop for the box to count."""


@dataclass(frozen=True, slots=True, eq=False)
class PhotoChanges:
    """A random crop of each picture, which may be mirrored and is lighter or darker.

    Args:
        scale: Size of the crop as a share of the picture, [B, 2] (across, down). A negative size
            mirrors the picture.
        shift: Offset of the crop's centre from the picture's centre, in half sides, [B, 2].
        light: Value added to every pixel, [B, 1].
        contrast: Factor of the distance from a middle grey, [B, 1].
    """

    scale: Tensor
    shift: Tensor
    light: Tensor
    contrast: Tensor

    @classmethod
    def draw(cls, count: int, generator: torch.Generator, least: float = 0.7) -> Self:
        """Draw changes for `count` pictures.

        Args:
            count: Number of pictures.
            generator: Source of randomness.
            least: Smallest side of a crop as a share of the picture's side.
        """

        def draw(low: float, high: float, width: int = 1) -> Tensor:
            return torch.rand(count, width, generator=generator) * (high - low) + low

        scale_B2 = draw(least, 1, 2)
        shift_B2 = draw(-1, 1, 2) * (1 - scale_B2)
        mirror_B1 = torch.where(draw(0, 1) < 0.5, -1.0, 1.0)
        signed_B2 = torch.cat([scale_B2[:, :1] * mirror_B1, scale_B2[:, 1:]], 1)
        return cls(signed_B2, shift_B2, draw(-20, 20), draw(0.8, 1.2))

    def of(self, chosen: IntArray) -> PhotoChanges:
        """Return the changes of the chosen pictures."""
        rows = torch.from_numpy(chosen)
        return PhotoChanges(
            self.scale[rows], self.shift[rows], self.light[rows], self.contrast[rows]
        )

    def change(self, pixels_BHWC: Tensor) -> Tensor:
        """Return the changed pictures as uint8 with the same shape."""
        count, side = len(pixels_BHWC), pixels_BHWC.shape[1]
        theta = torch.zeros(count, 2, 3)
        theta[:, 0, 0], theta[:, 1, 1] = self.scale.T
        theta[:, :, 2] = self.shift
        x = pixels_BHWC.permute(0, 3, 1, 2).float()
        grid = F.affine_grid(theta.to(x.device), [count, 3, side, side], align_corners=False)
        cut = F.grid_sample(x, grid, padding_mode="reflection", align_corners=False)
        light, contrast = (one[..., None, None].to(x.device) for one in (self.light, self.contrast))
        changed = (cut - 110) * contrast + 110 + light
        return changed.clamp(0, 255).to(torch.uint8).permute(0, 2, 3, 1)

    def ground(self, index: int, sentence: GroundedSentence) -> GroundedSentence:
        """Return a sentence about picture `index` with its boxes moved into the crop.

        A box is left out if the crop shows a smaller share of it than `MIN_KEPT_SHARE`.
        """
        scale_2, shift_2 = self.scale[index].double().numpy(), self.shift[index].double().numpy()
        places: list[tuple[int, tuple[Box, ...]]] = []
        for word, boxes in sentence.boxes:
            moved = [_move_box(box, scale_2, shift_2) for box in boxes]
            seen = tuple(box for box in moved if box is not None)
            if seen:
                places.append((word, seen))
        found: Boxes = tuple(places)
        return GroundedSentence(sentence.text, found)


def _move_box(
    box: Box, scale_2: np.ndarray[tuple[int], np.dtype[np.float64]], shift_2: np.ndarray
) -> Box | None:
    """Return a box as shares of the crop, or None if the crop shows too little of it."""
    corners_22 = np.array(box).reshape(2, 2)
    # `affine_grid` measures from the centre, in half sides.
    inside_22 = (((corners_22 * 2 - 1) - shift_2) / scale_2 + 1) / 2
    whole = abs(float(np.prod(inside_22[1] - inside_22[0])))
    inside_22 = np.sort(inside_22, 0).clip(0, 1)
    left, top, right, bottom = inside_22.ravel().tolist()
    if (right - left) * (bottom - top) < MIN_KEPT_SHARE * whole or whole == 0:
        return None
    return left, top, right, bottom


# Features of pictures from an encoder that is not trained further, computed once and kept on disk.
#
# A file has one view of all pictures. A view is one version of each picture: unchanged, or with
# random changes. The file is written in parts, so a run that was killed continues where it stopped.
# Shapes: N pictures, M cells, C channels.


PART = 64
"""Pictures that are encoded and written together."""

Features = npt.NDArray[np.float16]


def load_encoder(encoder: GridEncoder, run: Path) -> None:
    """Load an encoder's weights from a run of the task "encoder", or from a published file.

    Args:
        encoder: Encoder to load.
        run: Folder of the run or of the published file.
    """
    if isinstance(encoder, (ResNet152, EfficientNetLite0)):
        encoder.read_weights(run)
        return
    weights: dict[str, Any] = torch.load(run / "best.pt", map_location="cpu", weights_only=True)
    start = "captioner.pictures."
    own = {name.removeprefix(start): x for name, x in weights.items() if name.startswith(start)}
    encoder.load_state_dict(own)


def encode_finished_features(
    encoder: GridEncoder,
    pixels: npt.NDArray[np.uint8],
    changes: Sequence[PhotoChanges],
    folder: Path,
    device: torch.device,
) -> tuple[Features, ...]:
    """Return the features of the unchanged pictures and of each change, mapped from files.

    Args:
        encoder: A finished encoder with its weights.
        pixels: uint8 [N, H, W, 3].
        changes: Changes to all pictures, one entry per additional view.
        folder: Folder of the files. Missing files are written.
        device: Device that encodes.

    Returns:
        One float16 array [N, M, C] per view.
    """
    digest, grid = _hash_encoder_and_pictures(encoder, pixels), encoder.config.grids[0]
    found = []
    for view, changed in enumerate((None, *changes)):
        path = folder / f"features-{grid}-{len(pixels)}-view{view}-{digest}.npy"
        with lock_path(path):
            if not path.exists():
                _encode_view(encoder, pixels, changed, path, device)
        mapped: Features = np.load(path, mmap_mode="c")
        found.append(mapped)
    return tuple(found)


@torch.no_grad()
def _encode_view(
    encoder: GridEncoder,
    pixels: npt.NDArray[np.uint8],
    changed: PhotoChanges | None,
    path: Path,
    device: torch.device,
) -> None:
    """Encode one view and write it to `path`. Parts of an interrupted attempt are used again.

    The file appears at `path` only when it is complete.
    """
    encoder.eval()
    grid, part = encoder.config.grids[0], path.with_suffix(".part.npy")
    written: Any = np.lib.format.open_memmap(part, "r+") if part.exists() else None
    for some in np.split(np.arange(len(pixels)), range(PART, len(pixels), PART)):
        # Features that are all zero have not been written yet, because no picture has such
        # features.
        if written is not None and written[some[-1]].any():
            continue
        looks = torch.from_numpy(pixels[some])
        if changed is not None:
            looks = changed.of(some).change(looks)
        features = encoder(looks.to(device))[grid].half().cpu().numpy()
        if written is None:
            shape = (len(pixels), *features.shape[1:])
            written = np.lib.format.open_memmap(part, "w+", np.float16, shape)
        written[some] = features
        written.flush()
    part.replace(path)


def _hash_encoder_and_pictures(encoder: GridEncoder, pixels: npt.NDArray[np.uint8]) -> str:
    """Return an eight-character digest of the weights and the pictures."""
    found = hashlib.blake2b(digest_size=4)
    for name, value in encoder.state_dict().items():
        found.update(name.encode() + value.cpu().numpy().tobytes())
    found.update(np.ascontiguousarray(pixels).data)
    return found.hexdigest()


# Training pictures with captions: photos with five captions each, or shape scenes with one.
#
# Shapes: N pictures or captions, H = W side of a picture, M cells, C channels, T tokens.


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
