"""The widget for choosing a clip: a sample or an uploaded animation.

The chosen clip is part of the page's state, so it survives reruns and page changes. If a file
cannot be used, the chosen clip is kept and one sentence says why.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import streamlit as st

from areaviz.data.clip_files import (
    CONVERT,
    FORMATS_TEXT,
    MAX_MEGABYTES,
    MOST_FRAMES,
    DecodedClip,
    decode_clip,
)
from areaviz.data.clip_samples import SAMPLES, clip_sample
from areaviz.trace.clip import Clip
from areaviz.ui.forms.own_file import not_here, take_file
from areaviz.ui.shell.errors import problem
from areaviz.ui.shell.markdown import escaped
from areaviz.ui.shell.page import Page
from areaviz.ui.shell.state import Link, State

SAMPLE, UPLOAD = "Samples", "Upload"
FIRST = next(iter(SAMPLES))


@dataclass(frozen=True)
class ClipState(State):
    """The state of a page with a clip."""

    # The chosen sample, and the uploaded clip if there is one.
    clip_sample: str = FIRST
    own_clip: DecodedClip | None = None
    # The source of clips: samples or files.
    clip_source: str = SAMPLE
    # Why the present file cannot be used, in one sentence.
    refusal: str = ""

    def from_link(self, link: Link) -> Self:
        """Return this state with a link's clip; the present clip is kept if that is unavailable."""
        state = super().from_link(link)
        name = link.params.get("clip")
        own = self.own_clip
        if name is None or link.problem or (own and own.clip.name == name):
            return state
        if name in SAMPLES:
            return replace(state, clip_sample=name, clip_source=SAMPLE)
        return replace(state, problem=not_here("clip", name))


ClipPage = Page[ClipState]


def clip_input(page: ClipPage) -> Clip:
    """Draw the widget; return the chosen clip: the last uploaded one, or a sample."""
    source = page.segments(
        "Clip", "clip_source", {SAMPLE: SAMPLE, UPLOAD: UPLOAD}, label_visibility="collapsed"
    )
    if source == SAMPLE:
        titles = {name: one.title for name, one in SAMPLES.items()}
        name = page.choose(
            st.selectbox,
            "What happens",
            "clip_sample",
            titles,
            label_visibility="collapsed",
            then=page.unlock,
        )
        return clip_sample(name)
    with st.container():
        return _own_clip(page)


def _own_clip(page: ClipPage) -> Clip:
    """Draw the widget for a file; return the uploaded clip, or the sample while there is none."""
    own = page.state.own_clip
    key = page.key("clip_file")
    # Accept all file types: Streamlit would otherwise reject files without advice.
    st.file_uploader(
        "Animation",
        key=key,
        on_change=take_file,
        args=(page, key, "own_clip", decode_clip),
        max_upload_size=MAX_MEGABYTES,
        help=(
            f"{FORMATS_TEXT}, at most {MAX_MEGABYTES} MB and {MOST_FRAMES} frames. It stays in this"
            " session and is not stored."
        ),
    )
    if page.state.refusal:
        problem(page.state.refusal)
    else:
        st.caption(f"Of a recorded video (MP4, WebM) make a GIF first, for example by `{CONVERT}`")
    if own is None:
        st.caption("Until there is one of yours, the sample stays.")
        return clip_sample(page.state.clip_sample)
    about = f"Yours, {own.clip.frames} frames of {own.clip.width} × {own.clip.height} pixels."
    st.caption(escaped(" ".join((about, *own.notes))))
    return own.clip
