"""Photographs that are free of rights, read from installed packages, which are not imported.

matplotlib: Grace M. Hopper, official portrait by James S. Davis, United States Navy, 1984; public
domain, as a work of the United States' government. scikit-image: Eileen Collins, NASA, public
domain; the cat Chelsea, by Stefan van der Walt, CC0; a cup of coffee, by Rachel Michetti, CC0; a
photographer, by Lav Varshney, CC0; a launch, by SpaceX, released into the public domain. The
packages' other photographs show no scene that one would describe.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path

from areaviz.data.pictures import decode
from areaviz.trace.errors import BackendError
from areaviz.trace.picture import Picture


@dataclass(frozen=True, slots=True)
class Photo:
    """title: what it shows. sentence: an English one, to be translated with it. package, path:
    where it lies.
    """

    title: str
    sentence: str
    package: str
    path: str

    def read(self) -> Picture:
        """The photograph, at most as large as pictures of requests are.

        Raises:
            BackendError: it is not installed.
        """
        file = Path(str(distribution(self.package).locate_file(self.path)))
        if not file.is_file():
            raise BackendError(
                f"The sample picture {file.name} is not installed; choose another sample."
            )
        return decode(file.read_bytes()).picture


def _from_scikit_image(title: str, sentence: str, file: str) -> Photo:
    return Photo(title, sentence, "scikit-image", f"skimage/data/{file}")


PHOTOS: Mapping[str, Photo] = {
    "hopper": Photo(
        "A woman in uniform before a flag: Grace Hopper",
        "A woman in a dark uniform sits in front of a flag.",
        "matplotlib",
        "matplotlib/mpl-data/sample_data/grace_hopper.jpg",
    ),
    "astronaut": _from_scikit_image(
        "An astronaut in an orange suit: Eileen Collins",
        "A woman in an orange suit is smiling in front of a flag.",
        "astronaut.png",
    ),
    "cat": _from_scikit_image(
        "The face of a cat", "A brown cat is looking at the camera.", "chelsea.png"
    ),
    "photographer": _from_scikit_image(
        "A man with a camera in a field",
        "A man in a black coat is taking a picture in a field.",
        "camera.png",
    ),
    "coffee": _from_scikit_image(
        "A cup of coffee on a table",
        "A white cup with a spoon stands on a wooden table.",
        "coffee.png",
    ),
    "rocket": _from_scikit_image(
        "A rocket being launched", "A rocket rises into the evening sky.", "rocket.jpg"
    ),
}
"""Every photograph by the name of its sample."""
