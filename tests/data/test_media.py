"""Sets of pictures, sounds and clips: what their files are, and what becomes of each file."""

from __future__ import annotations

from pathlib import Path

import pytest

from areaviz.data.clip_files import gif
from areaviz.data.media import CLIP, MEDIA, PICTURE, SOUND, is_medium, medium_of
from areaviz.data.sound_files import flac
from areaviz.trace.errors import InputError
from areaviz.trace.request import Request
from tests import fakes
from tests.data.test_examples import png
from tests.sets import read_media, read_table

STILL, MOVING, HEARD = png(), gif(fakes.clip()), flac(fakes.sound("s", 1.0))
ASKED = Request("m", "")


@pytest.mark.parametrize(
    ("files", "medium"),
    [
        ({}, ""),
        ({"a.png": STILL, "b.JPG": STILL}, PICTURE),
        ({"a.gif": MOVING, "b.webp": STILL}, CLIP),
        ({"a.webp": STILL, "b.gif": MOVING}, PICTURE),
        ({"a.gif": MOVING, "b.jpg": STILL}, PICTURE),
        ({"a.gif": b"damaged"}, PICTURE),
        ({"a.WAV": b"damaged", "b.flac": HEARD}, SOUND),
        ({"whatever": STILL}, PICTURE),
    ],
)
def test_files_are_what_their_names_and_the_first_of_them_say(
    files: dict[str, bytes | Path], medium: str
) -> None:
    assert medium_of(files) == medium


def test_a_mixture_is_refused_in_a_sentence() -> None:
    with pytest.raises(InputError, match='"b.wav" is a sound and "a.png" is none, but the files'):
        read_media({"a.png": STILL, "b.wav": HEARD})


def test_sounds_of_a_table_are_decoded_as_on_their_page(tmp_path: Path) -> None:
    (tmp_path / "b.flac").write_bytes(HEARD)
    files: dict[str, bytes | Path] = {
        "x.csv": b"audio,reference\na.flac,3 1\nb.flac,42\nc.flac,5\n",
        "a.flac": HEARD,
        "b.flac": tmp_path / "b.flac",
        "c.flac": b"no sound",
    }
    found = read_table("x.csv", files)
    assert (found.medium, found.kind, set(found.files)) == (SOUND, "", set(files) - {"x.csv"})
    for example in found.examples[:2]:
        sound = found.asked(ASKED, example).sound
        assert sound is not None and abs(sound.seconds - 1) < 0.01
    with pytest.raises(InputError, match="is not a WAV, FLAC, Ogg, MP3 or AIFF recording"):
        found.asked(ASKED, found.examples[2])


def test_of_a_set_of_clips_one_that_stands_still_is_refused_by_itself() -> None:
    found = read_media({"a.gif": MOVING, "b.png": STILL})
    clip = found.asked(ASKED, found.examples[0]).clip
    assert clip is not None and clip.frames == 6
    with pytest.raises(InputError, match="one frame only"):
        found.asked(ASKED, found.examples[1])


def test_another_sound_under_the_same_name_is_another_set() -> None:
    one, other = read_media({"a.wav": b"1"}), read_media({"a.wav": b"2"})
    assert one.digest != other.digest and one.earlier_digest == ""


def test_is_medium_knows_the_files_of_every_medium() -> None:
    for medium in MEDIA.values():
        assert all(is_medium(f"a{ending}") for ending in medium.endings)
    assert not is_medium("a.txt")


def test_whether_a_file_on_the_disk_moves_is_known_from_its_content(tmp_path: Path) -> None:
    (tmp_path / "a.gif").write_bytes(MOVING)
    (tmp_path / "b.gif").write_bytes(STILL)
    assert medium_of({"a.gif": tmp_path / "a.gif"}) == CLIP
    assert medium_of({"b.gif": tmp_path / "b.gif"}) == PICTURE
    assert medium_of({"c.gif": tmp_path / "missing.gif"}) == PICTURE
