"""The widget for choosing a picture: a sample, an uploaded file, or a photograph.

The chosen picture is part of the page's state, so it survives reruns and page changes. If a file
cannot be used, the chosen picture is kept and one sentence says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from areaviz.media.pictures import (
    MAX_BASELINE_MEGAPIXELS,
    MAX_MEGAPIXELS,
    MAX_PICTURE_MEGABYTES,
    PICTURE_FORMATS_TEXT,
    Decoded,
    decode_picture,
    encode_small,
)
from areaviz.samples.own_media import (
    PICTURE_SAMPLES,
    encode_thumbnail,
    get_picture_sample,
    list_picture_names,
)
from areaviz.trace.errors import InputError, shorten
from areaviz.trace.request import Picture, get_picture_name
from areaviz.ui.app.errors import show_error
from areaviz.ui.app.markdown import escape_markdown
from areaviz.ui.app.page import Page
from areaviz.ui.app.state import Link, State
from areaviz.ui.components.thumbnails import (
    Thumbnail,
    draw_paste_listener,
    draw_thumbnails,
    get_picked_name,
)
from areaviz.ui.forms.medium_input import SAMPLE_SOURCE, UPLOAD_SOURCE, take_file

CAMERA_SOURCE = "Camera"
PREVIEW_PX = 150
"""Longest side in pixels of the preview, which is next to notes on how the picture was changed."""

_UPLOADED = "upload"


@dataclass(frozen=True)
class PictureState(State):
    """The state of a page with a picture."""

    chosen: Decoded | None = None
    # The source of pictures that a link requests, until the widget shows it.
    source: str = ""
    # Why the present file cannot be used, in one sentence.
    refusal: str = ""

    def from_link(self, link: Link) -> Self:
        """Return this state with a link's picture. The present one stays if that is missing."""
        state = super().from_link(link)
        if link.problem:
            return state
        try:
            name = get_picture_name(link.params)
        except InputError as error:
            return replace(state, problem=str(error))
        if name is None or (self.chosen and self.chosen.picture.name == name):
            return state
        if name.startswith(f"{_UPLOADED}-"):
            sentence = (
                "The picture of the link was uploaded by its author and is not stored. Upload it"
                " again or choose another one."
            )
            return replace(state, source=UPLOAD_SOURCE, problem=sentence)
        if name not in PICTURE_SAMPLES:
            sentence = (
                f'The link names a picture "{shorten(name)}", which does not exist. Choose another'
                " one."
            )
            return replace(state, problem=sentence)
        return replace(
            state.with_picture(Decoded(get_picture_sample(name), ())), source=SAMPLE_SOURCE
        )

    def with_picture(self, chosen: Decoded) -> Self:
        """Return this state with another picture, without a locked selection."""
        return replace(self.without_lock(), chosen=chosen, refusal="")


PicturePage = Page[PictureState]


def draw_picture_input(
    page: PicturePage,
    kinds: Sequence[str],
    first: str,
    place: DeltaGenerator | None = None,
    samples: DeltaGenerator | None = None,
) -> Picture | None:
    """Draw the widget. Return the chosen picture, or None if there is none and `first` is "".

    If the chosen sample is of another kind, the first sample replaces it. An uploaded picture is
    kept.

    Args:
        page: its state has the picture.
        kinds: the kinds of samples to offer, see `picture_samples.KINDS`.
        first: the name of the first sample.
        place: where to draw the choice of the source; None draws it above the pictures.
        samples: where to draw the samples; None draws them below.
    """
    chosen = _get_chosen_picture(page, list_picture_names(*kinds), first)
    with place or st.container():
        source = _choose_source(page, chosen)
    if source == SAMPLE_SOURCE:
        with samples or st.container():
            _draw_sample_row(page, kinds, chosen.picture.name if chosen else "")
    elif source == UPLOAD_SOURCE:
        _draw_uploader(page)
    else:
        key = page.key("camera")
        st.camera_input(
            "Photograph",
            key=key,
            on_change=take_file,
            args=_get_take_arguments(page, key),
            width=420,
        )
    if page.state.refusal:
        show_error(page.state.refusal)
    if chosen and not (source == SAMPLE_SOURCE and chosen.picture.name in PICTURE_SAMPLES):
        _draw_preview(chosen, bool(page.state.refusal))
    return chosen.picture if chosen else None


def _get_chosen_picture(page: PicturePage, offered: Sequence[str], first: str) -> Decoded | None:
    """Return the picture chosen before if it is still available, else the first sample."""
    chosen = page.state.chosen
    if chosen and (chosen.picture.name in offered or chosen.picture.name not in PICTURE_SAMPLES):
        return chosen
    chosen = Decoded(get_picture_sample(first), ()) if first else None
    page.set(chosen=chosen)
    return chosen


def _choose_source(page: PicturePage, chosen: Decoded | None) -> str:
    """Let the user choose the source of pictures."""
    key, wanted = page.key("source"), page.state.source
    # Do not keep this across pages, so that no camera is switched on unexpectedly.
    if not wanted and key not in st.session_state:
        is_own = chosen is not None and chosen.picture.name not in PICTURE_SAMPLES
        wanted = UPLOAD_SOURCE if is_own else SAMPLE_SOURCE
    if wanted:
        st.session_state[key] = wanted
        page.set(source="")
    source = st.segmented_control(
        "Picture",
        (SAMPLE_SOURCE, UPLOAD_SOURCE, CAMERA_SOURCE),
        key=key,
        required=True,
        label_visibility="collapsed",
        on_change=page.set,
        kwargs={"refusal": ""},
    )
    return source or SAMPLE_SOURCE


def _draw_sample_row(page: PicturePage, kinds: Sequence[str], chosen: str) -> None:
    row = [
        Thumbnail(name, PICTURE_SAMPLES[name].title, encode_thumbnail(name))
        for name in list_picture_names(*kinds)
    ]
    key = page.key("samples")
    draw_thumbnails("Sample pictures", row, chosen, key=key, on_pick=lambda: _take_sample(page))


def _take_sample(page: PicturePage) -> None:
    name = get_picked_name(page.key("samples"))
    if name in PICTURE_SAMPLES:
        page.set_state(page.state.with_picture(Decoded(get_picture_sample(name), ())))


def _draw_uploader(page: PicturePage) -> None:
    key = page.key("file")
    # Accept all file types: Streamlit would otherwise reject files without advice.
    st.file_uploader(
        "Picture file",
        key=key,
        on_change=take_file,
        args=_get_take_arguments(page, key),
        max_upload_size=MAX_PICTURE_MEGABYTES,
        help=(
            f"{PICTURE_FORMATS_TEXT}, at most {MAX_PICTURE_MEGABYTES} MB and {MAX_MEGAPIXELS} megapixels,"
            f" {MAX_BASELINE_MEGAPIXELS} as an ordinary JPEG. It stays in this session and is not"
            " stored."
        ),
    )
    draw_paste_listener(key)


def _get_take_arguments(page: PicturePage, key: str) -> tuple[object, ...]:
    """Return the arguments with which `take_file` selects the picture in an upload widget."""
    return page, key, "chosen", decode_picture, _UPLOADED


def _draw_preview(chosen: Decoded, is_older: bool) -> None:
    """Draw a preview and the changes. `is_older` says that a newer picture was refused."""
    picture = chosen.picture
    entry = PICTURE_SAMPLES.get(picture.name)
    title = entry.title if entry else "The chosen picture"
    called = f"Still chosen: the sample “{title}”." if entry else "Your picture is chosen."
    if is_older and not entry:
        called = "Still chosen: your earlier picture."
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        draw_small_picture(picture, PREVIEW_PX, title)
        st.caption(escape_markdown(" ".join((called, *chosen.notes))))


def draw_small_picture(picture: Picture, side: int, alt: str) -> None:
    """Draw the picture resized so that its longest side has `side` pixels."""
    width = max(1, round(side * picture.width / max(picture.width, picture.height)))
    st.image(encode_small(picture, side), width=width, alt=alt)
