"""File formats of media: their names, their extensions, and the medium of a dataset."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from areaviz.trace.errors import MAX_UPLOAD_MEGABYTES, InputError, shorten
from areaviz.trace.request import Clip, Picture, Sound

# Names of file formats, so that errors can name the format of an unsupported file.


# For ISO base media files: the brands after "ftyp".
_BRANDS = {
    "an HEIC photograph": (b"heic", b"heix", b"heim", b"heis", b"hevc", b"mif1", b"msf1"),
    "an AVIF picture": (b"avif", b"avis"),
    "an M4A recording": (b"M4A ", b"M4B ", b"F4A "),
    "a QuickTime video": (b"qt  ",),
    "a 3GP video": (b"3gp4", b"3gp5", b"3gp6", b"3g2a"),
}
# The first bytes of other formats.
_STARTS = {
    "a WMA or WMV file": b"\x30\x26\xb2\x75\x8e\x66\xcf\x11",
    "an AMR recording": b"#!AMR",
    "a CAF recording": b"caff",
    "an AU recording": b".snd",
    "a Wave64 recording": b"riff\x2e\x91\xcf\x11",
    "a MIDI file, which has notes and no sound": b"MThd",
    "a Matroska or WebM video": b"\x1aE\xdf\xa3",
    "a PDF document": b"%PDF",
    "a ZIP archive or an office document": b"PK\x03\x04",
    "a Photoshop document": b"8BPS",
    "a JPEG XL picture": b"\x00\x00\x00\x0cJXL ",
    "a JPEG 2000 picture": b"\x00\x00\x00\x0cjP  ",
    "an OpenEXR picture": b"\x76\x2f\x31\x01",
    "an icon": b"\x00\x00\x01\x00",
    "a JPEG picture": b"\xff\xd8\xff",
    "a PNG picture": b"\x89PNG\r\n\x1a\n",
    "a GIF picture": b"GIF8",
    "a BMP picture": b"BM",
    "a TIFF picture": b"II*\x00",
    "a big-endian TIFF picture": b"MM\x00*",
    "a FLAC recording": b"fLaC",
    "an Ogg recording": b"OggS",
    "an MP3 recording": b"ID3",
}


def name_file_kind(content: bytes) -> str:
    """Return what a file is, with its article, such as "an M4A recording", or "" if unknown."""
    if content[4:8] == b"ftyp":
        brand = content[8:12]
        for kind, brands in _BRANDS.items():
            if brand in brands:
                return kind
        return "an MP4 video"
    if content.startswith(b"RIFF"):
        forms = {b"WAVE": "a WAV recording", b"AVI ": "an AVI video", b"WEBP": "a WebP picture"}
        return forms.get(content[8:12], "")
    for kind, start in _STARTS.items():
        if content.startswith(start):
            return kind
    # In the header of an MPEG audio frame, layer 0 means AAC.
    if content[:1] == b"\xff" and len(content) > 1 and content[1] & 0xF6 == 0xF0:
        return "an AAC recording"
    begins = content[:4096].lower()
    is_svg = begins.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<") and b"<svg" in begins
    return "an SVG drawing" if is_svg else ""


# The extension of a file name, by which pictures, sounds and clips are recognised.


def get_extension(name: str) -> str:
    """Return the last extension of a file name in lower case, such as ".png", or ""."""
    return PurePosixPath(name).suffix.lower()


# The kinds of files in a dataset: pictures, sounds or clips. All its files are of one kind.
#
# The content of a file is checked when a model runs on its example. The decoder and limits are the
# same as for uploads on the page for that kind of file.


PICTURE, SOUND, CLIP = "picture", "sound", "clip"
"""The kinds of files, which are also fields of a request."""
# The name of a dataset's file in requests. The file's own name is not used, because names in
# requests become part of links and must be valid there.
_NAME = "example"


@dataclass(frozen=True, slots=True)
class Medium:
    """One kind of file.

    Args:
        endings: File extensions in lower case.
        decode: Function that takes a file's bytes and its name in links, and returns the decoded
            content. It raises InputError for an unusable file.
    """

    endings: tuple[str, ...]
    decode: Callable[[bytes, str], Picture | Sound | Clip]


# Decoders are imported inside these functions, because a machine that only trains and measures may
# lack their packages.
def _decode_picture(content: bytes, name: str) -> Picture:
    from areaviz.media.pictures import decode_picture

    return decode_picture(content, name).picture


def _decode_sound(content: bytes, name: str) -> Sound:
    from areaviz.media.sounds import decode_sound

    return decode_sound(content, name).sound


def _decode_clip(content: bytes, name: str) -> Clip:
    from areaviz.media.clips import decode_clip

    return decode_clip(content, name).clip


MEDIA: Mapping[str, Medium] = {
    PICTURE: Medium(
        (".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff"), _decode_picture
    ),
    SOUND: Medium((".wav", ".flac", ".ogg", ".mp3", ".aif", ".aiff"), _decode_sound),
    CLIP: Medium((".gif", ".webp", ".png", ".apng"), _decode_clip),
}
"""Every kind of file by its name, which is also the name of the request's field for it."""


def read_medium(medium: str, content: bytes | Path, name: str = _NAME) -> Picture | Sound | Clip:
    """Decode a file.

    Args:
        medium: A key of `MEDIA`.
        content: The bytes or the path of the file.
        name: Name in links, to which a hyphen and the digest are appended.

    Raises:
        InputError: The decoder cannot use the file, or the file is too large. A path to a file of
            more than `MAX_UPLOAD_MEGABYTES` is not read at all.
    """
    if isinstance(content, Path):
        size = content.stat().st_size
        if size > MAX_UPLOAD_MEGABYTES << 20:
            raise InputError(
                f'"{shorten(content.name)}" has {size >> 20:,} MB, but the limit is'
                f" {MAX_UPLOAD_MEGABYTES} MB. Make it smaller."
            )
        content = content.read_bytes()
    return MEDIA[medium].decode(content, name)


def is_medium(name: str) -> bool:
    """Return whether a file is a picture, a sound or a clip, judging by its name."""
    return any(get_extension(name) in medium.endings for medium in MEDIA.values())


def find_medium(files: Mapping[str, bytes | Path]) -> str:
    """Return the kind of a dataset's files, a key of `MEDIA`, or "" without files.

    An animation may also be a picture. If all files can be clips, they are clips if the first one
    by name has several frames.

    Raises:
        InputError: There are both sounds and other files.
    """
    names = sorted(files)
    if not names:
        return ""
    sounds = [name for name in names if get_extension(name) in MEDIA[SOUND].endings]
    others = [name for name in names if name not in set(sounds)]
    if sounds and others:
        raise InputError(
            f'"{shorten(sounds[0])}" is a sound and "{shorten(others[0])}" is not, but all'
            " files of a set must be of one kind. Leave one of them out."
        )
    if sounds:
        return SOUND
    return CLIP if _are_clips(names, files[names[0]]) else PICTURE


def _are_clips(names: Sequence[str], first: bytes | Path) -> bool:
    if any(get_extension(name) not in MEDIA[CLIP].endings for name in names):
        return False
    from areaviz.media.clips import has_several_frames

    return has_several_frames(first)
