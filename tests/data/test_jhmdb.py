"""The sentences, boxes and frames of J-HMDB's films, by split."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from areaviz.lab.tasks.clips import FILM_FRAMES, read_films, read_frames
from tests import films


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return films.write(tmp_path_factory.mktemp("data"))


def test_every_film_is_in_one_split(data: Path) -> None:
    names = {split: {film.name for film in read_films(data, split)} for split in films.SPLITS}
    assert {split: len(found) for split, found in names.items()} == films.SPLITS
    assert len(set.union(*names.values())) == sum(films.SPLITS.values())


def test_sentences_are_lower_case_with_single_blanks(data: Path) -> None:
    found = read_films(data, "train")
    assert found[0].text == "a fox is climbing a ladder" and found[0].action == "climb"
    assert found[5].text == "an otter on the left is shouting at the sea"
    assert len(found[0].boxes) == FILM_FRAMES and found[0].boxes[3] == (0.1, 0.2, 0.53, 1.0)


def test_frames_are_on_a_sheet_in_reading_order(data: Path) -> None:
    # The order differs from that in the archive.
    chosen = read_films(data, "val")[::-1]
    found = list(read_frames(data, chosen))
    for film, pixels in zip(chosen, found, strict=True):
        assert (
            pixels.shape == (FILM_FRAMES, films.HEIGHT, films.WIDTH, 3) and pixels.dtype == np.uint8
        )
        for frame in range(FILM_FRAMES):
            wanted = films.colour(int(film.name[:4]), frame)
            assert np.abs(pixels[frame].astype(int) - wanted).max() < 8, "but for what JPEG loses"


def test_missing_corpus_is_reported(data: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"clips\.jsonl is missing. Put J-HMDB"):
        read_films(tmp_path, "train")
    some = read_films(data, "val")
    with pytest.raises(FileNotFoundError, match=r"clips\.tar is missing"):
        list(read_frames(tmp_path, some))
    with pytest.raises(FileNotFoundError, match=r"lost\.jpg is not in .*. Put the whole archive"):
        list(read_frames(data, [some[0], replace(some[0], name="lost.jpg")]))
