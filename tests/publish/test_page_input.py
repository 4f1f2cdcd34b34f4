"""A page shows the input unchanged: a sound can be heard, and a clip plays."""

from __future__ import annotations

import base64
import io
import re
from html import unescape

import numpy as np
import soundfile
from PIL import Image

from areaviz.page.body import render_clip, render_picture, render_sound
from areaviz.page.page import make_page
from areaviz.samples.own_media import get_clip_sample
from tests import fakes


def content(markup: str, medium: str) -> bytes:
    """Return the content of the only data address of this kind in some markup."""
    (found,) = re.findall(rf'src="data:{medium};base64,([^"]+)"', unescape(markup))
    return base64.b64decode(found)


def test_sound_plays_unchanged() -> None:
    sound = fakes.sound("one", 0.5)
    samples, rate = soundfile.read(
        io.BytesIO(content(render_sound(sound)[1], "audio/flac")), dtype="int16"
    )
    assert np.array_equal(samples, sound.samples) and len(samples) / rate == sound.seconds


def test_clip_plays_all_frames_in_a_loop() -> None:
    clip = get_clip_sample("three-left-grows")
    with Image.open(io.BytesIO(content(render_clip(clip)[1], "image/gif"))) as image:
        assert image.n_frames == clip.frames and image.size == (clip.width, clip.height)
        assert image.info["loop"] == 0 and image.info["duration"] == clip.milliseconds


def test_picture_with_few_pixels_is_shown_coarse() -> None:
    assert 'class="coarse"' in render_picture(fakes.picture("digit", 20, 20))[1]
    assert 'class="fine"' in render_picture(fakes.picture("photo", 300, 300))[1]


def test_file_names_are_text() -> None:
    assert "<b>" not in "".join(render_sound(fakes.sound('"><b>x', 0.1)))


def test_page_of_sound_has_a_player() -> None:
    html = make_page(fakes.sound_trace("3141"))
    assert html.count("<audio controls") == 1 and "media-src data:" in unescape(html)
    assert 'id="hearing"' in html
    # This page has nothing to point at.
    assert "pointing at" not in html
