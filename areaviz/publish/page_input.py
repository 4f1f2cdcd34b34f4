"""What a model was given that is no text, as parts of a page: a picture, a sound, a clip."""

from __future__ import annotations

import base64

from areaviz.drawing.markup import Markup, element
from areaviz.interactive.grid import webp
from areaviz.interactive.grid_print import is_coarse
from areaviz.trace.clip import Clip
from areaviz.trace.picture import Picture
from areaviz.trace.sound import Sound


def pictured(picture: Picture) -> list[Markup]:
    """A picture as the model got it."""
    look = "coarse" if is_coarse(picture) else "fine"
    alt = f"The picture {picture.name}, as the model got it"
    return _shown("Picture", alt, look, _address("image/webp", webp(picture).tobytes()))


def played(clip: Clip) -> list[Markup]:
    """A clip, which plays by itself, again and again."""
    # Here, so that other pages need nothing that reads and writes clips.
    from areaviz.data.clip_files import gif

    alt = f"The clip {clip.name}, as the model got it"
    return _shown("Clip", alt, "fine", _address("image/gif", gif(clip)))


def heard(sound: Sound) -> list[Markup]:
    """A sound with the browser's own player."""
    # Here, so that other pages need nothing that reads and writes sounds.
    from areaviz.data.sound_files import flac

    label = f"The sound {sound.name}, as the model got it"
    source = _address("audio/flac", flac(sound))
    player = element("audio", controls="", src=source, aria_label=label)
    return [element("p", "Sound", class_="label"), player]


def _shown(title: str, alt: str, look: str, source: str) -> list[Markup]:
    image = element("img", id="picture", class_=look, alt=alt, src=source)
    return [element("p", title, class_="label"), image]


def _address(medium: str, content: bytes) -> str:
    return f"data:{medium};base64,{base64.b64encode(content).decode('ascii')}"
