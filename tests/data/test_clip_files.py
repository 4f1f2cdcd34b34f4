"""Uploaded animations: every format becomes a clip, and anything else gives one error sentence."""

from __future__ import annotations

import io
import random
import re
import struct
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

from areaviz.media import clips
from areaviz.media.clips import CLIP_FORMATS, choose_frames, decode_clip, encode_gif
from areaviz.samples.own_media import get_clip_sample
from areaviz.trace.errors import InputError
from areaviz.trace.request import Clip
from tests import fakes
from tests.trace.sentence import assert_one_sentence

Pixels = npt.NDArray[np.uint8]
RED = (255, 0, 0, 255)


def steps(frames: int = 5, height: int = 20, width: int = 30) -> list[Image.Image]:
    """Return frames of a white bar that moves to the right on a dark background."""
    found = []
    for number in range(frames):
        pixels = np.full((height, width, 3), 20, np.uint8)
        left = number * (width - 1) // frames
        pixels[:, left : left + max(1, width // 6)] = 255
        found.append(Image.fromarray(pixels))
    return found


def animation(images: list[Image.Image], kind: str = "GIF", **options: Any) -> bytes:
    file = io.BytesIO()
    lossless = {"lossless": True} if kind == "WEBP" else {}
    images[0].save(file, kind, save_all=True, append_images=images[1:], **lossless, **options)
    return file.getvalue()


def refusal(content: bytes) -> str:
    with pytest.raises(InputError) as caught:
        decode_clip(content)
    assert_one_sentence(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("kind", CLIP_FORMATS)
def test_every_format_becomes_the_same_clip(kind: str) -> None:
    decoded = decode_clip(animation(steps(), kind, duration=70), "yours")
    clip = decoded.clip
    assert clip.name == f"yours-{clip.digest}" and decoded.notes == ()
    assert (clip.frames, clip.width, clip.height, clip.milliseconds) == (5, 30, 20, 70)
    wanted = np.stack([np.asarray(image) for image in steps()])
    assert np.array_equal(clip.pixels, wanted)


@pytest.mark.parametrize("kind", CLIP_FORMATS)
def test_large_frames_are_made_smaller(kind: str) -> None:
    clip = decode_clip(animation(steps(3, 150, 512), kind)).clip
    assert (clip.frames, clip.width, clip.height) == (3, 128, 38)
    small = np.stack([np.asarray(image.resize((128, 38))) for image in steps(3, 150, 512)])
    assert np.corrcoef(clip.pixels.ravel(), small.ravel())[0, 1] > 0.98


def test_clip_duration_is_bounded_mean_of_frame_durations() -> None:
    assert decode_clip(animation(steps(), duration=[40, 60, 80, 100, 120])).clip.milliseconds == 80
    # Browsers also show a frame without a duration for a tenth of a second.
    assert decode_clip(animation(steps())).clip.milliseconds == 100
    assert decode_clip(animation(steps(), "WEBP", duration=60_000)).clip.milliseconds == 10_000
    assert decode_clip(animation(steps(), "WEBP", duration=1)).clip.milliseconds == 10


@pytest.mark.parametrize("kind", CLIP_FORMATS)
def test_transparent_parts_become_white(kind: str) -> None:
    """A red frame with a transparent hole moves to the right on a transparent background."""
    images, wanted = [], []
    for number in range(3):
        inked = np.zeros((12, 12), bool)
        inked[2:8, 3 * number : 3 * number + 5] = True
        inked[4:6, 3 * number + 2 : 3 * number + 3] = False
        pixels = np.zeros((12, 12, 4), np.uint8)
        pixels[inked] = RED
        images.append(Image.fromarray(pixels))
        wanted.append(np.where(inked[..., None], RED[:3], 255))
    content = animation(images, kind, disposal=2) if kind == "GIF" else animation(images, kind)
    assert np.array_equal(decode_clip(content).clip.pixels, np.stack(wanted))


def test_excess_frames_are_thinned_with_a_note() -> None:
    decoded = decode_clip(animation(steps(64, 4, 400), duration=50))
    assert decoded.clip.frames == 32 and decoded.clip.milliseconds == 100
    assert decoded.notes == ("32 of the 64 frames are used, at equal intervals.",)
    whole = [np.asarray(image.resize((128, 1))) for image in steps(64, 4, 400)]
    # The bar is where it is in the chosen frames.
    found = decoded.clip.pixels[:, 0, :, 0].argmax(1)
    wanted = np.array([whole[number][0, :, 0].argmax() for number in choose_frames(64, 32)])
    assert np.abs(found - wanted).max() <= 2 and found[-1] > 100
    assert decode_clip(animation(steps(32, 4, 400))).notes == ()


def test_file_without_animation_gives_one_sentence() -> None:
    still = io.BytesIO()
    steps()[0].save(still, "JPEG")
    for content in (b"no clip at all", b"GIF89a", b"RIFF\0\0\0\0WEBP"):
        assert "is not a GIF, WebP or animated PNG file, or it is damaged" in refusal(content)
    named = "The file is a JPEG picture. Save the clip as GIF and choose that file."
    assert refusal(still.getvalue()) == named
    photograph = b"\0\0\0\x18ftypheic" + bytes(40)
    assert refusal(photograph).startswith("The file is an HEIC photograph.")
    assert refusal(b"").startswith("The file is empty")
    assert "10.0 MB, but the limit is 10 MB" in refusal(bytes((10 << 20) + 1))
    assert "or it is damaged" in refusal(bytes(10 << 20))


@pytest.mark.parametrize(
    "start",
    [
        b"\0\0\0 ftypisom\0\0\2\0",
        b"\0\0\0\x14ftypqt  \0\0\2\0",
        b"\x1aE\xdf\xa3\xa3B\x86\x81",
        b"RIFF8\xd1\4\0AVI LIST",
    ],
    ids=["MP4", "QuickTime", "Matroska", "AVI"],
)
def test_recorded_video_error_explains_how_to_convert(start: bytes) -> None:
    with pytest.raises(InputError, match="Video files are not supported.* ffmpeg -i"):
        decode_clip(start + bytes(100))


@pytest.mark.parametrize("kind", CLIP_FORMATS)
def test_single_frame_is_not_a_clip(kind: str) -> None:
    assert "one frame only" in refusal(animation(steps(1), kind))


@pytest.mark.parametrize("kind", CLIP_FORMATS)
def test_truncated_file_is_refused(kind: str) -> None:
    content = animation(steps(), kind)
    for share in (0.05, 0.3, 0.5, 0.7, 0.9):
        refusal(content[: int(share * len(content))])


def test_too_many_frames_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clips, "MOST_FRAMES", 6)
    assert decode_clip(animation(steps(6))).clip.frames == 6
    assert refusal(animation(steps(7))).startswith("The clip has more than 6 frames")


def test_three_hundred_frames_are_accepted() -> None:
    assert decode_clip(animation(steps(300, 1, 400))).clip.frames == 32
    assert "more than 300 frames" in refusal(animation(steps(301, 1, 400)))


@pytest.mark.parametrize("kind", CLIP_FORMATS)
def test_too_large_frame_is_refused_before_decoding(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = animation(steps(2, 1100, 2000), kind)

    def small(_: Image.Image) -> Pixels:
        raise AssertionError("it was decoded")

    monkeypatch.setattr(clips, "_scale_down_frame", small)
    assert "more than 2 megapixels in a frame" in refusal(content)


def test_all_frames_together_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clips, "MOST_DECODED", 0.005)
    assert decode_clip(animation(steps(5, 20, 50))).clip.frames == 5
    assert "megapixels in all frames together" in refusal(animation(steps(6, 20, 50)))


def test_decoding_stops_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded = []

    def small(image: Image.Image) -> Pixels:
        decoded.append(image.tell())
        return np.zeros((1, 1, 3), np.uint8)

    monkeypatch.setattr(clips, "_scale_down_frame", small)
    monkeypatch.setattr(clips, "MOST_DECODED", 0.005)
    refusal(animation(steps(40, 20, 50)))
    assert decoded == []


def test_only_kept_frames_are_made_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []
    small = clips._scale_down_frame

    def count(image: Image.Image) -> Pixels:
        drawn.append(image.tell())
        return small(image)

    monkeypatch.setattr(clips, "_scale_down_frame", count)
    assert decode_clip(animation(steps(64, 1, 100))).clip.frames == 32
    assert drawn == list(choose_frames(64, 32))


@pytest.mark.parametrize("ticks", [5, 40])
def test_decoding_stops_at_its_time_limit(ticks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every call advances the clock by a second, so the limit ends the first or second pass."""
    seconds = iter(range(1000))
    monkeypatch.setattr(clips.time, "thread_time", lambda: float(next(seconds)))
    assert clips.MAX_SECONDS == 5
    monkeypatch.setattr(clips, "MAX_SECONDS", float(ticks))
    said = "The clip takes more than [0-9]+ seconds to decode. Make it smaller"
    assert re.match(said, refusal(animation(steps(30, 1, 100))))
    assert next(seconds) == ticks + 2, "it stopped at once"


def by_hand(*sizes: tuple[int, int]) -> bytes:
    """Return a GIF with frames of the given sizes. The header has the first frame's size."""
    width, height = sizes[0]
    content = b"GIF89a" + struct.pack("<HHBBB", width, height, 0xF6, 0, 0) + bytes(3 * 128)
    for columns, rows in sizes:
        content += b"," + struct.pack("<HHHHB", 0, 0, columns, rows, 0) + b"\x07"
        # Codes keep 8 bits as long as clear codes (128) reset the table often enough.
        codes = b"".join(b"\x80" + bytes(min(columns, 100)) for _ in range(rows)) + b"\x81"
        for first in range(0, len(codes), 255):
            part = codes[first : first + 255]
            content += bytes([len(part)]) + part
        content += b"\0"
    return content + b";"


def test_later_frame_larger_than_first_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A header may promise small frames, so the size of every frame is checked."""
    assert decode_clip(by_hand((10, 10), (10, 10))).clip.frames == 2
    refusal(by_hand((10, 10), (20, 20)))
    monkeypatch.setattr(clips, "MAX_MEGAPIXELS", 0.001)
    assert "megapixels in a frame" in refusal(by_hand((10, 10), (100, 20), (10, 10)))


@pytest.mark.parametrize("filtered", ["error", "ignore"])
@pytest.mark.parametrize("side", [10_000, 20_000])
def test_decompression_bomb_warnings_become_refusals(filtered: Any, side: int) -> None:
    header = b"GIF89a" + struct.pack("<HHBBB", side, side, 0xF6, 0, 0) + bytes(3 * 128)
    content = header + by_hand((10, 10), (10, 10))[len(header) :]
    with warnings.catch_warnings():
        warnings.simplefilter(filtered, Image.DecompressionBombWarning)
        assert "more than 2 megapixels in a frame" in refusal(content)


@pytest.mark.parametrize("kind", CLIP_FORMATS)
def test_damaged_file_gives_a_clip_or_an_error(kind: str) -> None:
    content, rng = animation(steps(3, 6, 8), kind, duration=50), random.Random(1)
    refused = 0
    for _ in range(300):
        damaged = bytearray(content)
        for _ in range(rng.choice((1, 1, 2, 8))):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                decode_clip(bytes(damaged)).clip.check()
        except InputError as error:
            assert_one_sentence(error)
            refused += 1
    assert 0 < refused < 300


MEMORY = """
import resource, sys
from areaviz.media.clips import decode_clip
def most():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
content, before = sys.stdin.buffer.read(), most()
assert decode_clip(content).clip.frames == 32
print(most() - before)
"""


def test_frames_are_made_smaller_one_by_one() -> None:
    """Keeping thirty-two frames of a megapixel would take 96 MB."""
    still = animation([Image.new("P", (1000, 1000), 3)])
    # The only frame follows the colour table, and is followed by the trailer.
    frame = still[13 + (6 << still[10] % 8) : -1]
    content = still[:-1] + 31 * frame + b";"
    run = subprocess.run([sys.executable, "-c", MEMORY], input=content, capture_output=True)
    assert run.returncode == 0, run.stderr.decode()
    assert int(run.stdout) < 60_000, "kilobytes"


@pytest.mark.parametrize("clip", [get_clip_sample("three-left-grows"), fakes.clip()])
def test_clip_survives_round_trip_as_gif(clip: Clip) -> None:
    again = decode_clip(encode_gif(clip)).clip
    assert (again.frames, again.width, again.height) == (clip.frames, clip.width, clip.height)
    assert again.milliseconds == clip.milliseconds
    # A frame of a GIF has 256 colours.
    assert np.abs(again.pixels.astype(int) - clip.pixels).mean() < 6


def test_gif_loops_for_ever() -> None:
    with Image.open(io.BytesIO(encode_gif(fakes.clip()))) as image:
        assert image.format == "GIF" and image.info["loop"] == 0 and image.n_frames == 6
