"""Photographs of installed packages: what they show, a sentence for each, and no import of the
packages.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from areaviz.data.picture_samples import names, sample, sentence
from areaviz.data.sample_photos import PHOTOS
from areaviz.trace.errors import BackendError

SIZES = {
    "hopper": (512, 600),
    "astronaut": (512, 512),
    "cat": (451, 300),
    "photographer": (512, 512),
    "coffee": (600, 400),
    "rocket": (640, 427),
}


@pytest.mark.parametrize("name", PHOTOS)
def test_each_is_the_photograph_of_its_name_with_a_sentence_of_its_own(name: str) -> None:
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


def test_one_that_is_not_installed_is_told() -> None:
    with pytest.raises(
        BackendError,
        match=r"^The sample picture none\.jpg is not installed; choose another sample\.$",
    ):
        replace(PHOTOS["hopper"], path="matplotlib/mpl-data/none.jpg").read()


def test_the_packages_are_not_imported() -> None:
    code = (
        "from areaviz.data.picture_samples import sample; sample('cat'); import sys;"
        " print('skimage' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
