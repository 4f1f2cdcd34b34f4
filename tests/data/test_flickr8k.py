"""The photos' captions, translations and gold boxes, by the joint splits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from areaviz.lab.pictures import read_photos, read_pixels
from areaviz.samples.scenes import make_scene
from tests import flickr


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return flickr.write(tmp_path_factory.mktemp("data"))


def test_every_photo_is_in_one_split(data: Path) -> None:
    names = {split: {photo.name for photo in read_photos(data, split)} for split in flickr.SPLITS}
    assert {split: len(found) for split, found in names.items()} == flickr.SPLITS
    assert len(set.union(*names.values())) == sum(flickr.SPLITS.values())


def test_captions_are_lower_case_and_pairs_unchanged(data: Path) -> None:
    photo = read_photos(data, "train")[1]
    scene = make_scene("samples", 1)
    assert photo.captions[0] == f"{scene.english.text} ." and len(photo.captions) == 5
    assert photo.pair == (f"{scene.english.text} .", f"{scene.german.text} .")
    assert read_photos(data, "train")[0].pair is None


def test_content_words_have_the_boxes_of_their_phrase(data: Path) -> None:
    grounded = read_photos(data, "train")[3].grounded[0]
    scene = make_scene("samples", 3)
    assert [word for word, _ in grounded.boxes] == [1, 2, 3], "the article has none"
    assert grounded.boxes[0][1] == (scene.objects[0].box,)


def test_pixels_follow_the_order_of_photos(data: Path) -> None:
    photos = read_photos(data, "val")
    pixels = read_pixels(data, photos[::-1], side=64)
    assert pixels.shape == (4, 64, 64, 3) and pixels.dtype == np.uint8
    expected = make_scene("samples", int(photos[0].name[:4])).pixels(64).astype(int)
    assert np.abs(pixels[3] - expected).mean() < 6, "but for what JPEG loses"


def test_photos_missing_from_archives_are_reported(data: Path) -> None:
    photos = read_photos(data, "val")
    lost = [replace(photos[0], name="lost.jpg"), photos[1], replace(photos[2], name="gone.jpg")]
    with pytest.raises(
        FileNotFoundError,
        match=r"2 of 3 photos are missing in the archives of .*, such as lost\.jpg\.",
    ):
        read_pixels(data, lost, side=8)


def test_missing_corpus_is_reported(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"captions\.jsonl\.gz is missing"):
        read_photos(tmp_path, "train")
