"""Inputs of the comparison of live pages with Python: texts, points, stories and picture files."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from PIL import Image

from areaviz.cards.card import read_card
from areaviz.lab.multi30k import read_captions
from areaviz.lab.tasks.stories import read_questions
from areaviz.media.pictures import decode_picture
from areaviz.samples.digits import compose_scenes, draw_digits
from areaviz.samples.own_media import get_picture_sample
from areaviz.samples.paths import CHECKPOINTS, find_data_folder
from areaviz.trace.request import Request

SENTENCES, OTHERS = 200, 100
FORMATS: Mapping[str, Mapping[str, Any]] = {
    "PNG": {"format": "PNG"},
    "WebP": {"format": "WEBP", "lossless": True},
    "JPEG": {"format": "JPEG", "quality": 90},
}
SCENES = ("scene-1", "scene-9", "scene-12", "scene-34")


@dataclass(frozen=True, slots=True)
class Given:
    """One input: a request, and the picture's file if it has one."""

    request: Request
    file: bytes = b""
    kind: str = ""

    def written(self, method: str) -> Given:
        """Return this input with the decoding method "greedy" or "beam"."""
        return replace(self, request=replace(self.request, method=method))


def sentences(name: str) -> Iterator[Given]:
    """Yield sentences of the validation set, every second one with a beam of 4."""
    for number, text in enumerate(read_captions(find_data_folder(), "val")[:SENTENCES]):
        yield Given(Request(name, text, ("greedy", "beam")[number % 2]))


def beginnings(name: str) -> Iterator[Given]:
    """Yield the first four words of each sentence."""
    for one in sentences(name):
        text = " ".join(one.request.text.split()[:4])
        yield Given(replace(one.request, text=text))


def point_sets(name: str) -> Iterator[Given]:
    """Yield random sets of 3 to 12 points, every second one with a beam of 4."""
    rng = np.random.default_rng(11)
    for number in range(OTHERS):
        places = rng.integers(0, 1001, (int(rng.integers(3, 13)), 2))
        text = " ".join(f"{x},{y}" for x, y in places)
        yield Given(Request(name, text, ("greedy", "beam")[number % 2]))


def questions(name: str) -> Iterator[Given]:
    """Yield test questions of all twenty tasks with the latest 50 facts of their stories."""
    asked = read_questions(find_data_folder(), "test")
    for one in asked[:: len(asked) // OTHERS][:OTHERS]:
        yield Given(Request(name, " ".join((*one.facts[-50:], one.text))))


def scene_files(name: str) -> Iterator[Given]:
    """Yield picture files with random parts of scenes."""
    rng = np.random.default_rng(13)
    for number in range(OTHERS):
        scene = Image.fromarray(get_picture_sample(SCENES[number % len(SCENES)]).pixels)
        side = min(scene.size)
        cut, left, top = side - rng.integers(0, side // 2), rng.integers(9), rng.integers(9)
        part = scene.crop((int(left), int(top), int(left + cut), int(top + cut)))
        yield picture_file(name, part, number, rng)


def digit_files(name: str) -> Iterator[Given]:
    """Yield picture files with drawn digits, every second one with dark ink on coloured paper."""
    rng = np.random.default_rng(17)
    kind = read_card(CHECKPOINTS / name / "card.json").config["kind"]
    labels = rng.integers(0, 10, OTHERS * (2 if kind == "pairs" else 1))
    pictures = compose_scenes(kind, draw_digits(labels, rng), labels, rng).pictures
    for number, ink_HW in enumerate(pictures):
        light, dark = rng.integers(150, 256, 3), rng.integers(0, 80, 3)
        ink, ground = (dark, light) if number % 2 else (light, np.zeros(3))
        share_HW1 = ink_HW[:, :, None] / 255
        pixels_HWC = (ground + share_HW1 * (ink - ground)).astype(np.uint8)
        yield picture_file(name, Image.fromarray(pixels_HWC), number, rng)


def picture_file(name: str, image: Image.Image, number: int, rng: np.random.Generator) -> Given:
    """Return a picture in a random size as a file. `number` determines one of three formats."""
    resized = image.resize((int(rng.integers(80, 640)), int(rng.integers(80, 640))))
    kind = list(FORMATS)[number % len(FORMATS)]
    file = io.BytesIO()
    resized.save(file, **FORMATS[kind])
    # Python adds a digest to the name, and the page does not.
    picture = replace(decode_picture(file.getvalue()).picture, name="upload")
    request = Request(name, "", ("greedy", "beam")[number % 2], picture=picture)
    return Given(request, file.getvalue(), kind)


INPUTS: Mapping[str, Callable[[str], Iterator[Given]]] = {
    "token-boundary": sentences,
    "char-boundary": sentences,
    "language-model-boundary": beginnings,
    "language-model-lstm": beginnings,
    "lstm-boundary": sentences,
    "recurrent-additive": sentences,
    "scene-captions-boundary": scene_files,
    "pointer-hull": point_sets,
    "pointer-tour": point_sets,
    "memory-stories": questions,
    "items-soft": digit_files,
    "items-hard": digit_files,
    "ram-cluttered": digit_files,
    "ram-pairs": digit_files,
    "stn-cluttered": digit_files,
}
