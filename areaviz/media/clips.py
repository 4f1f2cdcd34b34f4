"""Clips: the form that video captioners read, and safe decoding of uploaded animations."""

from __future__ import annotations

import io
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

from areaviz.media.formats import name_file_kind
from areaviz.trace.errors import InputError
from areaviz.trace.request import FRAMES, MAX_CLIP_SIDE, MILLISECONDS, Clip

# Clips in the form a video captioner was trained on: a fixed number of small square frames.
#
# Drawings are converted to grey, light on dark. Recordings keep their colours.
#
# Shapes: F frames of a clip, N of them, H, W of a frame in pixels, S side of a model's frame, C = 1
# or 3 channels.


Pixels = npt.NDArray[np.uint8]
_GREY = np.array([0.299, 0.587, 0.114], np.float32)
"""Weights of red, green and blue in a grey value (ITU-R BT.601)."""


def choose_frames(frames: int, wanted: int) -> npt.NDArray[np.int64]:
    """Return the indices of `wanted` frames, evenly spaced from first to last: int64 [N].

    Some frames of a shorter clip are repeated.
    """
    return np.linspace(0, frames - 1, wanted).round().astype(np.int64)


def prepare_frames(pixels_FHWC: Pixels, wanted: int, side: int, colour: bool = False) -> Pixels:
    """Return `wanted` frames of a clip as squares: uint8 [N, S, S], in colour [N, S, S, 3].

    Each frame is scaled as a whole and keeps its proportions. Without colour, a clip with light
    edges is assumed to be dark on light and is inverted.
    """
    chosen_NHWC = pixels_FHWC[choose_frames(len(pixels_FHWC), wanted)]
    if colour:
        return _scale_to_squares(chosen_NHWC.astype(np.float32), side)
    edges = [chosen_NHWC[:, 0], chosen_NHWC[:, -1], chosen_NHWC[:, :, 0], chosen_NHWC[:, :, -1]]
    is_dark_on_light = np.median(np.concatenate([edge.ravel() for edge in edges])) > 127
    grey_NHW1 = (chosen_NHWC.astype(np.float32) @ _GREY)[..., None]
    return _scale_to_squares(grey_NHW1, side, is_dark_on_light)[..., 0]


def _scale_to_squares(
    pixels_NHWC: npt.NDArray[np.float32], side: int, is_negative: bool = False
) -> Pixels:
    """Scale frames to squares with black margins, keeping their proportions: [N, S, S, C]."""
    count, height, width, channels = pixels_NHWC.shape
    found = np.zeros((count, side, side, channels), np.uint8)
    scale = side / max(height, width)
    size = max(1, round(width * scale)), max(1, round(height * scale))
    left, top = (side - size[0]) // 2, (side - size[1]) // 2
    # Imported here, so that clips can be read and described without torch.
    import torch
    from torch.nn import functional as F

    pixels_NCHW = torch.from_numpy(pixels_NHWC).movedim(3, 1)
    small_NCHW = F.interpolate(pixels_NCHW, size[::-1], mode="bilinear", antialias=True)
    small_NHWC = small_NCHW.round().clamp(0, 255).to(torch.uint8).movedim(1, 3).numpy()
    shown_NHWC = 255 - small_NHWC if is_negative else small_NHWC
    found[:, top : top + size[1], left : left + size[0]] = shown_NHWC
    return found


# Safe decoding of uploaded animations: any file becomes a short clip or a clear error.
#
# The content of a file determines its format, and its header gives its size. Only the frames that a
# clip keeps are scaled down, and decoding stops after a limited time.


CLIP_FORMATS = ("GIF", "WEBP", "PNG")
CLIP_FORMATS_TEXT = "GIF, WebP or animated PNG"
MAX_CLIP_MEGABYTES = 10
# Limits of a file: megapixels of one frame, number of frames, and megapixels of all frames. A clip
# keeps fewer frames.
MAX_MEGAPIXELS, MOST_FRAMES, MOST_DECODED = 2, 300, 128
# Maximum processor time for one file in seconds, because even small files may take long to decode.
MAX_SECONDS = 5.0
# The command that converts a recorded video to a clip: 32 frames of its first four seconds.
CONVERT_TO_CLIP = "ffmpeg -i video.mp4 -t 4 -vf fps=8,scale=128:-1 clip.gif"
# Duration of a frame in milliseconds, if the file does not give one.
_USUAL = 100


@dataclass(frozen=True, slots=True)
class DecodedClip:
    """A clip, and a sentence for the user about each change that was made to it."""

    clip: Clip
    notes: tuple[str, ...]


def decode_clip(content: bytes, name: str = "upload") -> DecodedClip:
    """Return the clip in a file. Its name is `name`, a hyphen and its digest.

    Raises:
        InputError: The file is empty, has more than 10 MB, is damaged, is a recorded video or has
            another format. The error is also raised for a file with a single frame, with more than
            300 frames, or with frames that are too large or take too long to decode.
    """
    if not content:
        raise InputError(f"The file is empty. Choose a {CLIP_FORMATS_TEXT} file.")
    if len(content) > MAX_CLIP_MEGABYTES << 20:
        raise InputError(
            f"The file has {len(content) / 2**20:,.1f} MB, but the limit is"
            f" {MAX_CLIP_MEGABYTES} MB."
            " Make the clip shorter or smaller and choose it again."
        )
    if "video" in name_file_kind(content):
        raise InputError(
            "Video files are not supported. Convert the video to GIF, for example with:"
            f" {CONVERT_TO_CLIP}"
        )
    frames, count, milliseconds = _read_frames(content)
    notes = []
    if count > len(frames):
        notes.append(f"{len(frames)} of the {count} frames are used, at equal intervals.")
        milliseconds = milliseconds * count // len(frames)
    stays = int(np.clip(milliseconds, *MILLISECONDS))
    clip = Clip.of(name, np.stack(frames), stays)
    named = replace(clip, name=f"{name}-{clip.digest}")
    named.check()
    return DecodedClip(named, tuple(notes))


def has_several_frames(content: bytes | Path) -> bool:
    """Return whether a file is a picture with several frames.

    No frame is decoded.
    """
    try:
        source = content if isinstance(content, Path) else io.BytesIO(content)
        with Image.open(source, formats=CLIP_FORMATS) as image:
            return bool(getattr(image, "is_animated", False))
    except Exception:  # decoders raise many kinds of errors
        return False


def encode_gif(clip: Clip) -> bytes:
    """Return a clip as a GIF that browsers play again and again."""
    images = [Image.fromarray(frame_HWC) for frame_HWC in clip.pixels]
    file = io.BytesIO()
    images[0].save(
        file, "GIF", save_all=True, append_images=images[1:], duration=clip.milliseconds, loop=0
    )
    return file.getvalue()


def _read_frames(content: bytes) -> tuple[list[Pixels], int, int]:
    """Return the frames that a clip keeps, the number of all frames, and the duration of a frame.

    Returns:
        The kept frames, each uint8 [H, W, 3] and scaled down, the number of frames in the file, and
        the mean duration of a frame in milliseconds.
    """
    kind = name_file_kind(content)
    is_known = any(f" {name} " in kind for name in ("GIF", "WebP", "PNG"))
    what = kind if kind and not is_known else f"not a {CLIP_FORMATS_TEXT} file, or it is damaged"
    damaged = InputError(f"The file is {what}. Save the clip as GIF and choose that file.")
    try:
        with Image.open(io.BytesIO(content), formats=CLIP_FORMATS) as image:
            clock = _Clock()
            count = _count_frames(image, clock)
            if count < FRAMES[0]:
                raise InputError(
                    "The file has one frame only. Choose a clip in which something moves."
                )
            frames, durations = _read_kept_frames(image, count, clock)
            return frames, count, sum(durations) // count
    except InputError:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise _make_too_large_error(MAX_MEGAPIXELS, "a frame") from error
    except Exception as error:  # decoders raise many kinds of errors
        raise damaged from error


class _Clock:
    """A clock of this thread's processor time, so that a busy machine does not refuse clips."""

    def __init__(self) -> None:
        self._begun = time.thread_time()

    def check(self) -> None:
        """Raise InputError if decoding has taken too long."""
        if time.thread_time() - self._begun > MAX_SECONDS:
            raise InputError(
                f"The clip takes more than {MAX_SECONDS:g} seconds to decode. Make it smaller"
                " or shorter and choose it again."
            )


def _count_frames(image: Image.Image, clock: _Clock) -> int:
    """Check the size of every frame, and return their number."""
    size = image.size
    each = size[0] * size[1] / 1e6
    if each > MAX_MEGAPIXELS:
        raise _make_too_large_error(MAX_MEGAPIXELS, "a frame")
    for number in range(MOST_FRAMES + 1):
        try:
            image.seek(number)
        except EOFError:
            return number
        # A later frame of a GIF may be larger than the header says, and enlarge the picture.
        if image.width * image.height / 1e6 > MAX_MEGAPIXELS:
            raise _make_too_large_error(MAX_MEGAPIXELS, "a frame")
        if image.size != size:
            raise ValueError("frames of several sizes")
        if (number + 1) * each > MOST_DECODED:
            raise _make_too_large_error(MOST_DECODED, "all frames together")
        clock.check()
    raise InputError(f"The clip has more than {MOST_FRAMES} frames. Choose a shorter one.")


def _read_kept_frames(
    image: Image.Image, count: int, clock: _Clock
) -> tuple[list[Pixels], list[int]]:
    """Return the frames that a clip keeps, scaled down, and the milliseconds of every frame."""
    kept = set(range(count) if count <= FRAMES[1] else map(int, choose_frames(count, FRAMES[1])))
    found, durations = [], []
    for number in range(count):
        image.seek(number)
        # The duration of a WebP frame is known only after it is decoded.
        image.load()
        durations.append(int(image.info.get("duration") or _USUAL))
        if number in kept:
            found.append(_scale_down_frame(image))
        clock.check()
    return found, durations


def _scale_down_frame(image: Image.Image) -> Pixels:
    """Return a frame scaled to sides of at most `MAX_CLIP_SIDE` pixels: uint8 [H, W, 3].

    Transparent parts become white.
    """
    frame = image.convert("RGBA")
    frame.thumbnail((MAX_CLIP_SIDE, MAX_CLIP_SIDE), Image.Resampling.BILINEAR)
    ground = Image.new("RGBA", frame.size, "white")
    return np.asarray(Image.alpha_composite(ground, frame).convert("RGB"))


def _make_too_large_error(megapixels: int, what: str) -> InputError:
    return InputError(
        f"The clip has more than {megapixels} megapixels in {what}. Make it smaller and"
        " choose it again."
    )
