"""The app's own pictures: names, titles, kinds, and photographs whose packages stay unimported."""

from __future__ import annotations

import io
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from areaviz.data import picture_samples
from areaviz.data.digit_scenes import KINDS as SIDES
from areaviz.data.picture_samples import (
    KINDS,
    PHOTOS,
    SAMPLES,
    THUMBNAIL_SIDE,
    names,
    sample,
    scene_sample,
    sentence,
    thumbnail,
)
from areaviz.trace.errors import BackendError, InputError

COUNTS = {"scene": 12, "digit": 8, "single digit": 6, "moved digit": 6, "pair": 6, "photo": 6}
DIGITS = {
    "digit": "cluttered",
    "single digit": "centred",
    "moved digit": "translated",
    "pair": "pairs",
}


def made_anew(name: str) -> bytes:
    picture_samples._digits.cache_clear()
    return SAMPLES[name].make().rgb


@pytest.mark.parametrize("name", names())
def test_every_sample_is_available(name: str) -> None:
    picture = sample(name)
    picture.check()
    assert picture.name == name
    assert picture.rgb == made_anew(name), "the same every time"
    assert picture.pixels.std() > 5, "shows something"


def test_every_kind_has_its_samples() -> None:
    assert {kind: len(names(kind)) for kind in KINDS} == COUNTS
    assert names() == tuple(SAMPLES)
    assert set(names("pair", "digit")) == {*names("pair"), *names("digit")}
    assert names("nothing such") == ()


def test_no_two_samples_are_alike() -> None:
    assert (
        len({sample(name).digest for name in names()})
        == len({entry.title for entry in SAMPLES.values()})
        == 44
    )


@pytest.mark.parametrize("kind", DIGITS)
def test_digits_are_grey_and_of_model_size(kind: str) -> None:
    for name in names(kind):
        pixels = sample(name).pixels
        assert pixels.shape == (SIDES[DIGITS[kind]],) * 2 + (3,)
        assert (pixels == pixels[:, :, :1]).all()
        assert pixels[0, 0, 0] < 128 < pixels.max(), "light ink on a dark ground"


@pytest.mark.parametrize("name", names("digit", "single digit", "moved digit", "pair"))
def test_titles_of_digits_are_their_labels(name: str) -> None:
    kind, labels, index = SAMPLES[name].make.args
    drawn = picture_samples._digits(kind, labels).labels[index]
    assert [int(sign) for sign in SAMPLES[name].title if sign.isdigit()] == drawn.tolist()
    assert name.partition("-")[2] == "".join(map(str, drawn))


@pytest.mark.parametrize("name", names("scene"))
def test_scene_matches_its_number(name: str) -> None:
    scene = scene_sample(name)
    assert scene is not None
    assert (scene.split, f"scene-{scene.number}") == ("samples", name)
    assert SAMPLES[name].title.lower() == scene.english.text
    assert np.array_equal(sample(name).pixels, scene.pixels(256))


def test_other_samples_show_no_scene() -> None:
    assert [scene_sample(name) for name in ("hopper", "digit-2", "scene-2", "scene-x", "")] == [
        None
    ] * 5


@pytest.mark.parametrize(
    "name", ["", "scene-2", "Scene-1", "../hopper", "upload-123456789abc", "x" * 99]
)
def test_unknown_name_is_refused(name: str) -> None:
    with pytest.raises(
        InputError, match=r"^Sample picture .* does not exist. Choose one of the samples or upload"
    ):
        sample(name)


@pytest.mark.parametrize("name", names())
def test_thumbnails_are_small_and_show_the_sample(name: str) -> None:
    image = Image.open(io.BytesIO(thumbnail(name)))
    assert max(image.size) <= THUMBNAIL_SIDE
    assert len(thumbnail(name)) < 8000
    whole = sample(name)
    expected = np.asarray(
        Image.fromarray(whole.pixels).resize(image.size, Image.Resampling.BOX)
    ).astype(int)
    assert np.abs(np.asarray(image).astype(int) - expected).mean() < 6
    assert image.format == ("PNG" if max(whole.width, whole.height) <= THUMBNAIL_SIDE else "JPEG")


def test_all_thumbnails_are_made_in_time() -> None:
    for cached in (sample, thumbnail, picture_samples._digits):
        cached.cache_clear()
    start = time.process_time()
    for name in names():
        thumbnail(name)
    assert time.process_time() - start < 1.5


def test_created_samples_are_cached() -> None:
    assert all(
        sample(name) is sample(name) and thumbnail(name) is thumbnail(name) for name in names()
    )


SIZES = {
    "hopper": (512, 600),
    "astronaut": (512, 512),
    "cat": (451, 300),
    "photographer": (512, 512),
    "coffee": (600, 400),
    "rocket": (640, 427),
}


@pytest.mark.parametrize("name", PHOTOS)
def test_every_photograph_has_its_own_sentence(name: str) -> None:
    photo = sample(name)
    assert (photo.width, photo.height) == SIZES[name]
    assert sentence(name).endswith(".") and sentence(name)[0].isupper()
    assert len({sentence(other) for other in names("photo")}) == len(PHOTOS) == len(names("photo"))


def test_colours_are_those_of_the_photographs() -> None:
    portrait, cat = sample("hopper").pixels, sample("cat").pixels
    red, _, blue = portrait[60:160, -60:].reshape(-1, 3).mean(0)
    assert blue > red + 50, "a blue ground"
    red, _, blue = cat[100:200, 150:300].reshape(-1, 3).mean(0)
    assert red > blue + 20, "brown fur"
    assert np.ptp(sample("photographer").pixels.astype(int), axis=2).max() == 0, "grey"


def test_photograph_of_missing_package_is_reported() -> None:
    with pytest.raises(
        BackendError,
        match=r"^The sample picture none\.jpg is not installed. Choose another sample\.$",
    ):
        replace(PHOTOS["hopper"], path="matplotlib/mpl-data/none.jpg").read()


def test_packages_are_not_imported() -> None:
    code = (
        "from areaviz.data.picture_samples import sample; sample('cat'); import sys;"
        " print('skimage' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
