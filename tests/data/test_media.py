"""Datasets of pictures, sounds and clips: which files they have, and what each becomes."""

from __future__ import annotations

from pathlib import Path

import pytest

from areaviz.media.clips import encode_gif
from areaviz.media.formats import CLIP, MEDIA, PICTURE, SOUND, find_medium, is_medium
from areaviz.media.sounds import encode_flac
from areaviz.trace.errors import InputError
from areaviz.trace.request import Request
from tests import fakes
from tests.data.test_examples import png
from tests.sets import read_media, read_table

STILL, MOVING, HEARD = png(), encode_gif(fakes.clip()), encode_flac(fakes.sound("s", 1.0))
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
def test_file_kind_follows_from_name_and_content(
    files: dict[str, bytes | Path], medium: str
) -> None:
    assert find_medium(files) == medium


def test_mixed_media_are_refused_in_one_sentence() -> None:
    with pytest.raises(InputError, match='"b.wav" is a sound and "a.png" is not, but all files'):
        read_media({"a.png": STILL, "b.wav": HEARD})


def test_sounds_of_a_table_are_decoded_like_uploads(tmp_path: Path) -> None:
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


def test_still_picture_among_clips_is_refused() -> None:
    found = read_media({"a.gif": MOVING, "b.png": STILL})
    clip = found.asked(ASKED, found.examples[0]).clip
    assert clip is not None and clip.frames == 6
    with pytest.raises(InputError, match="one frame only"):
        found.asked(ASKED, found.examples[1])


def test_different_sound_of_equal_name_changes_dataset() -> None:
    one, other = read_media({"a.wav": b"1"}), read_media({"a.wav": b"2"})
    assert one.digest != other.digest and one.earlier_digest == ""


def test_is_medium_recognises_files_of_every_medium() -> None:
    for medium in MEDIA.values():
        assert all(is_medium(f"a{ending}") for ending in medium.endings)
    assert not is_medium("a.txt")


def test_animation_on_disk_is_recognised_by_content(tmp_path: Path) -> None:
    (tmp_path / "a.gif").write_bytes(MOVING)
    (tmp_path / "b.gif").write_bytes(STILL)
    assert find_medium({"a.gif": tmp_path / "a.gif"}) == CLIP
    assert find_medium({"b.gif": tmp_path / "b.gif"}) == PICTURE
    assert find_medium({"c.gif": tmp_path / "missing.gif"}) == PICTURE
