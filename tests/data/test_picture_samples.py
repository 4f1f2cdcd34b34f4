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

from areaviz.samples import own_media
from areaviz.samples.digits import DIGIT_KINDS as SIDES
from areaviz.samples.own_media import (
    PHOTOS,
    PICTURE_SAMPLES,
    SAMPLE_KINDS,
    THUMBNAIL_SIDE,
    encode_thumbnail,
    find_scene_sample,
    get_picture_sample,
    get_picture_sentence,
    list_picture_names,
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
    own_media._compose_digits.cache_clear()
    return PICTURE_SAMPLES[name].make().rgb


@pytest.mark.parametrize("name", list_picture_names())
def test_every_sample_is_available(name: str) -> None:
    picture = get_picture_sample(name)
    picture.check()
    assert picture.name == name
    assert picture.rgb == made_anew(name), "the same every time"
    assert picture.pixels.std() > 5, "shows something"


def test_every_kind_has_its_samples() -> None:
    assert {kind: len(list_picture_names(kind)) for kind in SAMPLE_KINDS} == COUNTS
    assert list_picture_names() == tuple(PICTURE_SAMPLES)
    assert set(list_picture_names("pair", "digit")) == {
        *list_picture_names("pair"),
        *list_picture_names("digit"),
    }
    assert list_picture_names("nothing such") == ()


def test_samples_are_all_different() -> None:
    assert (
        len({get_picture_sample(name).digest for name in list_picture_names()})
        == len({entry.title for entry in PICTURE_SAMPLES.values()})
        == 44
    )


@pytest.mark.parametrize("kind", DIGITS)
def test_digits_are_grey_and_of_model_size(kind: str) -> None:
    for name in list_picture_names(kind):
        pixels = get_picture_sample(name).pixels
        assert pixels.shape == (SIDES[DIGITS[kind]],) * 2 + (3,)
        assert (pixels == pixels[:, :, :1]).all()
        assert pixels[0, 0, 0] < 128 < pixels.max(), "light ink on a dark ground"


@pytest.mark.parametrize("name", list_picture_names("digit", "single digit", "moved digit", "pair"))
def test_titles_of_digits_are_their_labels(name: str) -> None:
    kind, labels, index = PICTURE_SAMPLES[name].make.args
    drawn = own_media._compose_digits(kind, labels).labels[index]
    assert [int(sign) for sign in PICTURE_SAMPLES[name].title if sign.isdigit()] == drawn.tolist()
    assert name.partition("-")[2] == "".join(map(str, drawn))


@pytest.mark.parametrize("name", list_picture_names("scene"))
def test_scene_matches_its_number(name: str) -> None:
    scene = find_scene_sample(name)
    assert scene is not None
    assert (scene.split, f"scene-{scene.number}") == ("samples", name)
    assert PICTURE_SAMPLES[name].title.lower() == scene.english.text
    assert np.array_equal(get_picture_sample(name).pixels, scene.pixels(256))


def test_other_samples_show_no_scene() -> None:
    assert [
        find_scene_sample(name) for name in ("hopper", "digit-2", "scene-2", "scene-x", "")
    ] == [None] * 5


@pytest.mark.parametrize(
    "name", ["", "scene-2", "Scene-1", "../hopper", "upload-123456789abc", "x" * 99]
)
def test_unknown_name_is_refused(name: str) -> None:
    with pytest.raises(
        InputError, match=r"^Sample picture .* does not exist. Choose one of the samples or upload"
    ):
        get_picture_sample(name)


@pytest.mark.parametrize("name", list_picture_names())
def test_thumbnails_are_small_and_show_the_sample(name: str) -> None:
    image = Image.open(io.BytesIO(encode_thumbnail(name)))
    assert max(image.size) <= THUMBNAIL_SIDE
    assert len(encode_thumbnail(name)) < 8000
    whole = get_picture_sample(name)
    expected = np.asarray(
        Image.fromarray(whole.pixels).resize(image.size, Image.Resampling.BOX)
    ).astype(int)
    assert np.abs(np.asarray(image).astype(int) - expected).mean() < 6
    assert image.format == ("PNG" if max(whole.width, whole.height) <= THUMBNAIL_SIDE else "JPEG")


def test_all_thumbnails_are_made_in_time() -> None:
    for cached in (get_picture_sample, encode_thumbnail, own_media._compose_digits):
        cached.cache_clear()
    start = time.process_time()
    for name in list_picture_names():
        encode_thumbnail(name)
    assert time.process_time() - start < 1.5


def test_created_samples_are_cached() -> None:
    assert all(
        get_picture_sample(name) is get_picture_sample(name)
        and encode_thumbnail(name) is encode_thumbnail(name)
        for name in list_picture_names()
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
    photo = get_picture_sample(name)
    assert (photo.width, photo.height) == SIZES[name]
    assert get_picture_sentence(name).endswith(".") and get_picture_sentence(name)[0].isupper()
    assert (
        len({get_picture_sentence(other) for other in list_picture_names("photo")})
        == len(PHOTOS)
        == len(list_picture_names("photo"))
    )


def test_colours_are_those_of_the_photographs() -> None:
    portrait, cat = get_picture_sample("hopper").pixels, get_picture_sample("cat").pixels
    red, _, blue = portrait[60:160, -60:].reshape(-1, 3).mean(0)
    assert blue > red + 50, "a blue ground"
    red, _, blue = cat[100:200, 150:300].reshape(-1, 3).mean(0)
    assert red > blue + 20, "brown fur"
    assert np.ptp(get_picture_sample("photographer").pixels.astype(int), axis=2).max() == 0, "grey"


def test_photograph_of_missing_package_is_reported() -> None:
    with pytest.raises(
        BackendError,
        match=r"^The sample picture none\.jpg is not installed. Choose another sample\.$",
    ):
        replace(PHOTOS["hopper"], path="matplotlib/mpl-data/none.jpg").read()


def test_packages_are_not_imported() -> None:
    code = (
        "from areaviz.samples.own_media import get_picture_sample; import sys;"
        " get_picture_sample('cat'); print('skimage' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
