"""Uploaded animations, made safe: any bytes become a short clip or a sentence of refusal.

What a file is follows from its content. Its size is read from the header, every frame is made small
as soon as it is decoded, and no more is decoded than a clip may have.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

from areaviz.data.clips import chosen_frames
from areaviz.data.foreign_files import kind_of
from areaviz.trace.clip import FRAMES, MAX_SIDE, MILLISECONDS, Clip, check_clip
from areaviz.trace.errors import InputError

FORMATS = ("GIF", "WEBP", "PNG")
FORMATS_TEXT = "GIF, WebP or animated PNG"
MAX_MEGABYTES = 10
MAX_MEGAPIXELS = 2
"""Of one frame."""
MOST_FRAMES = 300
"""Of a file; of these so many are taken as a clip may have."""
MOST_DECODED = 128
"""Megapixels of all frames together: a file of many large ones would take minutes."""
CONVERT = "ffmpeg -i video.mp4 -t 4 -vf fps=8,scale=128:-1 clip.gif"
"""Makes of a recorded video what can be read: 32 frames of its first four seconds."""
_USUAL = 100
"""Milliseconds of a frame whose file does not say how long it stays."""

Pixels = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class DecodedClip:
    """A clip and, for the reader, a sentence for each thing that was changed."""

    clip: Clip
    notes: tuple[str, ...]


def decode_clip(content: bytes, name: str = "upload") -> DecodedClip:
    """The clip in a file's bytes, called `name`, a hyphen and its digest.

    Raises:
        InputError: the file is empty, has more than 10 MB, is damaged, a recorded video or of
            another format; it has one frame or more than 300, or its frames are too large.
    """
    if not content:
        raise InputError(f"The file is empty; choose a {FORMATS_TEXT} file.")
    if len(content) > MAX_MEGABYTES << 20:
        raise InputError(
            f"The file has {len(content) / 2**20:,.1f} MB but at most {MAX_MEGABYTES} are possible;"
            " make the clip shorter or smaller and choose it again."
        )
    if "video" in kind_of(content):
        raise InputError(
            f"The file is a recorded video, which is not read here; make a GIF of it, for example"
            f" by: {CONVERT}"
        )
    frames, milliseconds = _read(content)
    if len(frames) < FRAMES[0]:
        raise InputError("The file has one frame only; choose a clip in which something moves.")
    notes = []
    if len(frames) > FRAMES[1]:
        chosen = chosen_frames(len(frames), FRAMES[1])
        notes.append(f"{FRAMES[1]} of its {len(frames)} frames are used, evenly through it.")
        milliseconds = milliseconds * len(frames) // FRAMES[1]
        frames = [frames[number] for number in chosen]
    stays = int(np.clip(milliseconds, *MILLISECONDS))
    clip = Clip.of(name, np.stack(frames), stays)
    named = replace(clip, name=f"{name}-{clip.digest}")
    check_clip(named)
    return DecodedClip(named, tuple(notes))


def moves(content: bytes | Path) -> bool:
    """Whether a file of pictures has several frames; False for any other file.

    Only as much is read as says so: no frame is decoded.
    """
    try:
        source = content if isinstance(content, Path) else io.BytesIO(content)
        with Image.open(source, formats=FORMATS) as image:
            return bool(getattr(image, "is_animated", False))
    except Exception:  # decoders raise nearly everything there is
        return False


def gif(clip: Clip) -> bytes:
    """A clip as an animation that browsers show, again and again."""
    images = [Image.fromarray(frame_HWC) for frame_HWC in clip.pixels]
    file = io.BytesIO()
    images[0].save(
        file, "GIF", save_all=True, append_images=images[1:], duration=clip.milliseconds, loop=0
    )
    return file.getvalue()


def _read(content: bytes) -> tuple[list[Pixels], int]:
    """The frames, made small, each uint8 [H, W, 3], and for how many milliseconds one stays."""
    kind = kind_of(content)
    is_known = any(f" {name} " in kind for name in ("GIF", "WebP", "PNG"))
    what = kind if kind and not is_known else f"not a {FORMATS_TEXT} file, or it is damaged"
    damaged = InputError(f"The file is {what}; save the clip as GIF and choose that file.")
    try:
        with Image.open(io.BytesIO(content), formats=FORMATS) as image:
            return _frames(image)
    except InputError:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise _too_large(MAX_MEGAPIXELS, "a frame") from error
    except Exception as error:  # decoders raise nearly everything there is
        raise damaged from error


def _frames(image: Image.Image) -> tuple[list[Pixels], int]:
    size = image.size
    each = size[0] * size[1] / 1e6
    if each > MAX_MEGAPIXELS:
        raise _too_large(MAX_MEGAPIXELS, "a frame")
    found: list[Pixels] = []
    durations = []
    number = 0
    while True:
        try:
            image.seek(number)
        except EOFError:
            break
        # A later frame of a GIF may be larger than its header says, and makes the picture grow.
        if image.width * image.height / 1e6 > MAX_MEGAPIXELS:
            raise _too_large(MAX_MEGAPIXELS, "a frame")
        if image.size != size:
            raise ValueError("frames of several sizes")
        if number >= MOST_FRAMES:
            raise InputError(f"The clip has more than {MOST_FRAMES} frames; choose a shorter one.")
        if (number + 1) * each > MOST_DECODED:
            raise _too_large(MOST_DECODED, "all frames together")
        found.append(_small(image))
        durations.append(int(image.info.get("duration") or _USUAL))
        number += 1
    return found, sum(durations) // max(1, len(durations))


def _small(image: Image.Image) -> Pixels:
    """A frame, on white where it is transparent, with sides of at most 128 pixels."""
    frame = image.convert("RGBA")
    frame.thumbnail((MAX_SIDE, MAX_SIDE), Image.Resampling.BILINEAR)
    ground = Image.new("RGBA", frame.size, "white")
    return np.asarray(Image.alpha_composite(ground, frame).convert("RGB"))


def _too_large(megapixels: int, what: str) -> InputError:
    return InputError(
        f"The clip has more than {megapixels} megapixels in {what}; make it smaller and choose it"
        " again."
    )
