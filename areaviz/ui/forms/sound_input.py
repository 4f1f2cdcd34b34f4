"""The widget for choosing a sound: a sample, an uploaded file, or a new recording.

The chosen sound is part of the page's state, so it survives reruns and page changes. If a file
cannot be used, the chosen sound is kept and one sentence says why.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import streamlit as st

from areaviz.data.sound_files import FORMATS_TEXT, MAX_MEGABYTES, DecodedSound, decode_sound
from areaviz.data.sound_samples import SAMPLES, sound_sample
from areaviz.trace.sound import SECONDS, Sound
from areaviz.ui.forms.own_file import not_here, take_file
from areaviz.ui.shell.errors import problem
from areaviz.ui.shell.markdown import escaped
from areaviz.ui.shell.page import Page
from areaviz.ui.shell.state import Link, State

SAMPLE, UPLOAD, RECORD = "Samples", "Upload", "Record"
FIRST = next(iter(SAMPLES))


@dataclass(frozen=True)
class SoundState(State):
    """The state of a page with a sound."""

    # The chosen sample, and the user's own sound if there is one.
    sound_sample: str = FIRST
    own_sound: DecodedSound | None = None
    # The source of sounds: samples, files or recordings.
    sound_source: str = SAMPLE
    # Why the present file cannot be used, in one sentence.
    refusal: str = ""

    def from_link(self, link: Link) -> Self:
        """Return this state with a link's sound; the present one is kept if that is unavailable."""
        state = super().from_link(link)
        name = link.params.get("sound")
        own = self.own_sound
        if name is None or link.problem or (own and own.sound.name == name):
            return state
        if name in SAMPLES:
            return replace(state, sound_sample=name, sound_source=SAMPLE)
        return replace(state, problem=not_here("sound", name))


SoundPage = Page[SoundState]


def sound_input(page: SoundPage) -> Sound:
    """Draw the widget; return the chosen sound: the user's last one, or a sample."""
    sources = {SAMPLE: SAMPLE, UPLOAD: UPLOAD, RECORD: RECORD}
    source = page.segments("Sound", "sound_source", sources, label_visibility="collapsed")
    if source == SAMPLE:
        titles = {name: one.title for name, one in SAMPLES.items()}
        name = page.choose(
            st.selectbox,
            "Recording",
            "sound_sample",
            titles,
            label_visibility="collapsed",
            then=page.unlock,
        )
        return sound_sample(name)
    with st.container():
        return _own_sound(page, source)


def _own_sound(page: SoundPage, source: str) -> Sound:
    """Draw the widget for a file or a recording; return the user's sound, or else the sample."""
    own = page.state.own_sound
    key = page.key("sound_file" if source == UPLOAD else "sound_recorded")
    if source == UPLOAD:
        # Accept all file types: Streamlit would otherwise reject files without advice.
        st.file_uploader(
            "Sound file",
            key=key,
            on_change=take_file,
            args=(page, key, "own_sound", decode_sound),
            max_upload_size=MAX_MEGABYTES,
            help=(
                f"{FORMATS_TEXT}, at most {MAX_MEGABYTES} MB and {SECONDS[1]:.0f} seconds. It stays"
                " in this session and is not stored."
            ),
        )
    else:
        st.audio_input(
            "Say digits in English, one after the other",
            sample_rate=16_000,
            key=key,
            on_change=take_file,
            args=(page, key, "own_sound", decode_sound),
        )
    if page.state.refusal:
        problem(page.state.refusal)
    if own is None:
        st.caption("Until there is one of yours, the sample stays.")
        return sound_sample(page.state.sound_sample)
    st.caption(escaped(" ".join((f"Yours, {own.sound.seconds:.1f} seconds.", *own.notes))))
    return own.sound
