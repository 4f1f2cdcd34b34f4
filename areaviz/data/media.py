"""What the files of a set are: pictures, sounds or clips; all files of a set are the same.

What is in a file is checked when its example is run, by the same decoder and the same limits as on
the page of its kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from areaviz.data.file_kinds import ending_of
from areaviz.trace.clip import Clip
from areaviz.trace.errors import InputError
from areaviz.trace.limits import MAX_UPLOAD_MEGABYTES, shown
from areaviz.trace.picture import Picture
from areaviz.trace.sound import Sound

PICTURE, SOUND, CLIP = "picture", "sound", "clip"
"""The parts of a request that a file can be."""
# What a request calls a file of a set: it may have any name, but this one must fit a link.
_NAME = "example"


@dataclass(frozen=True, slots=True)
class Medium:
    """One kind of files.

    Args:
        endings: of their names, in lower case.
        decode: from a file's bytes and what a link is to call it; raises InputError where they
            cannot be used.
    """

    endings: tuple[str, ...]
    decode: Callable[[bytes, str], Picture | Sound | Clip]


# Imported here, because a machine that only trains and measures has no decoder of any kind.
def _picture(content: bytes, name: str) -> Picture:
    from areaviz.data.pictures import decode

    return decode(content, name).picture


def _sound(content: bytes, name: str) -> Sound:
    from areaviz.data.sound_files import decode_sound

    return decode_sound(content, name).sound


def _clip(content: bytes, name: str) -> Clip:
    from areaviz.data.clip_files import decode_clip

    return decode_clip(content, name).clip


MEDIA: Mapping[str, Medium] = {
    PICTURE: Medium((".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff"), _picture),
    SOUND: Medium((".wav", ".flac", ".ogg", ".mp3", ".aif", ".aiff"), _sound),
    CLIP: Medium((".gif", ".webp", ".png", ".apng"), _clip),
}
"""Every kind, by the part of the request that it becomes."""


def read_medium(medium: str, content: bytes | Path, name: str = _NAME) -> Picture | Sound | Clip:
    """What is in a file.

    Args:
        medium: a key of `MEDIA`.
        content: its bytes, or where it lies.
        name: what a link calls it, a hyphen and its digest behind it.

    Raises:
        InputError: it cannot be used, as the decoder says, or is larger than any file may be; of
            such a one nothing is read.
    """
    if isinstance(content, Path):
        size = content.stat().st_size
        if size > MAX_UPLOAD_MEGABYTES << 20:
            raise InputError(
                f'"{shown(content.name)}" has {size >> 20:,} MB but at most'
                f" {MAX_UPLOAD_MEGABYTES} are possible; make it smaller."
            )
        content = content.read_bytes()
    return MEDIA[medium].decode(content, name)


def is_medium(name: str) -> bool:
    """Whether a file is a picture, a sound or a clip, by its name."""
    return any(ending_of(name) in medium.endings for medium in MEDIA.values())


def medium_of(files: Mapping[str, bytes | Path]) -> str:
    """What the files of a set are, a key of `MEDIA`; "" where there are none.

    An animation may be a picture, too: files that can all be clips are clips if the first of them,
    by name, has several frames.

    Raises:
        InputError: some are sounds and some are not.
    """
    names = sorted(files)
    if not names:
        return ""
    sounds = [name for name in names if ending_of(name) in MEDIA[SOUND].endings]
    others = [name for name in names if name not in set(sounds)]
    if sounds and others:
        raise InputError(
            f'"{shown(sounds[0])}" is a sound and "{shown(others[0])}" is none, but the files of a'
            " set are all of one kind; leave out one or the other."
        )
    if sounds:
        return SOUND
    return CLIP if _are_clips(names, files[names[0]]) else PICTURE


def _are_clips(names: Sequence[str], first: bytes | Path) -> bool:
    if any(ending_of(name) not in MEDIA[CLIP].endings for name in names):
        return False
    from areaviz.data.clip_files import moves

    return moves(first)
