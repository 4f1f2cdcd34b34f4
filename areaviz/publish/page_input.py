"""A model's input other than text, as parts of a page: a picture, a sound or a clip."""

from __future__ import annotations

import base64

from areaviz.draw.labels import Markup, make_element
from areaviz.show.grid.grid import encode_webp, is_coarse
from areaviz.show.sound.sound import encode_sound_as_data_url
from areaviz.texts.catalogue import ENGLISH, message, translate
from areaviz.trace.request import Clip, Picture, Sound


def render_picture(picture: Picture, language: str = ENGLISH) -> list[Markup]:
    """Return the picture as the model received it."""
    look = "coarse" if is_coarse(picture) else "fine"
    got = message("The picture {name}, as the model got it")
    alt = translate(got, language, name=picture.name)
    return _render_input(
        translate("Picture", language), alt, look, encode_picture_as_data_url(picture)
    )


def encode_picture_as_data_url(picture: Picture) -> str:
    """Return a data URL with the pixels of a picture."""
    return _make_data_url("image/webp", encode_webp(picture).tobytes())


def render_clip(clip: Clip, language: str = ENGLISH) -> list[Markup]:
    """Return a clip, which plays in a loop."""
    # Imported here, so that pages without clips need no libraries for clips.
    from areaviz.media.clips import encode_gif

    alt = translate("The clip {name}, as the model got it", language, name=clip.name)
    return _render_input(
        translate("Clip", language), alt, "fine", _make_data_url("image/gif", encode_gif(clip))
    )


def render_sound(sound: Sound, language: str = ENGLISH) -> list[Markup]:
    """Return a sound with the browser's own player."""
    label = translate("The sound {name}, as the model got it", language, name=sound.name)
    player = make_element(
        "audio", controls="", id="sound", src=encode_sound_as_data_url(sound), aria_label=label
    )
    return [make_element("p", translate("Sound", language), class_="label"), player]


def _render_input(title: str, alt: str, look: str, source: str) -> list[Markup]:
    image = make_element("img", id="picture", class_=look, alt=alt, src=source)
    return [make_element("p", title, class_="label"), image]


def _make_data_url(medium: str, content: bytes) -> str:
    return f"data:{medium};base64,{base64.b64encode(content).decode('ascii')}"
