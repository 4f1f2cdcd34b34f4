"""The widget that chooses a picture: one of the app's samples, an uploaded file, or a photograph
just taken.

The chosen picture lives in the session under keys of its own, so it survives reruns and other
pages. A file that cannot be used leaves it as it is and shows one sentence.
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st
from streamlit.runtime.uploaded_file_manager import DeletedFile

from areaviz.data.picture_samples import SAMPLES, names, sample, thumbnail
from areaviz.data.pictures import MAX_MEGABYTES, MAX_MEGAPIXELS, Decoded, decode, small_file
from areaviz.trace.errors import InputError
from areaviz.trace.limits import shown
from areaviz.trace.picture import Picture
from areaviz.ui.components.thumbnails import Thumbnail, paste_hint, picked, thumbnails
from areaviz.ui.look.focus_state import unselect
from areaviz.ui.shell.errors import problem
from areaviz.ui.shell.markdown import escaped

SAMPLE, UPLOAD, CAMERA = "Samples", "Upload", "Camera"
EXTENSIONS = ("jpg", "jpeg", "png", "webp", "gif", "bmp", "tif", "tiff")
PREVIEW = 150
"""The longest side of the picture shown beside what was done to it, in pixels."""

_UPLOADED = "upload"


def picture_input(key: str, kinds: Sequence[str], default: str) -> Picture | None:
    """Draw the widget; returns what is chosen, or None if nothing is and `default` is "".

    key: unique on the page. kinds: of the samples, see `picture_samples.KINDS`. default: the name
    of a sample. A sample of another kind, chosen before, gives way to the default; an uploaded
    picture stays.
    """
    chosen = _settled(key, names(*kinds), default)
    source = _source(key, chosen)
    if source == SAMPLE:
        _sample_row(key, kinds, chosen.picture.name if chosen else "")
    elif source == UPLOAD:
        _uploader(key)
    else:
        st.camera_input(
            "Photograph", key=f"{key}_camera", on_change=_take_file, args=(key, "camera"), width=420
        )
    if sentence := st.session_state.get(f"{key}_problem"):
        problem(sentence)
    if chosen and not (source == SAMPLE and chosen.picture.name in SAMPLES):
        _preview(chosen)
    return chosen.picture if chosen else None


def recall_picture(key: str, name: str) -> None:
    """Choose the picture a link names, in the widget of this key.

    Raises:
        InputError: it was uploaded in another session or does not exist; what was chosen before
            stays chosen.
    """
    chosen = st.session_state.get(f"{key}_picture")
    if chosen and chosen.picture.name == name:
        return
    if name.startswith(f"{_UPLOADED}-"):
        st.session_state[f"{key}_source"] = UPLOAD
        raise InputError(
            "The link's picture was uploaded by whoever made the link and is not stored; "
            "upload it again or choose another one."
        )
    if name not in SAMPLES:
        raise InputError(
            f'The link names a picture "{shown(name)}", which does not exist; choose another one.'
        )
    _choose(key, Decoded(sample(name), ()))
    st.session_state[f"{key}_source"] = SAMPLE


def _choose(key: str, decoded: Decoded) -> None:
    st.session_state[f"{key}_picture"] = decoded
    st.session_state.pop(f"{key}_problem", None)
    unselect()


def _settled(key: str, offered: Sequence[str], default: str) -> Decoded | None:
    """What was chosen before, if it still can be, else the default."""
    chosen: Decoded | None = st.session_state.get(f"{key}_picture")
    if chosen and (chosen.picture.name in offered or chosen.picture.name not in SAMPLES):
        return chosen
    settled = Decoded(sample(default), ()) if default else None
    st.session_state[f"{key}_picture"] = settled
    return settled


def _source(key: str, chosen: Decoded | None) -> str:
    """Where pictures come from. Not remembered across pages, so that no camera is switched on
    unasked.
    """
    uploaded = chosen is not None and chosen.picture.name not in SAMPLES
    st.session_state.setdefault(f"{key}_source", UPLOAD if uploaded else SAMPLE)
    source = st.segmented_control(
        "Picture",
        (SAMPLE, UPLOAD, CAMERA),
        key=f"{key}_source",
        required=True,
        on_change=_forget_problem,
        args=(key,),
    )
    return source or SAMPLE


def _forget_problem(key: str) -> None:
    st.session_state.pop(f"{key}_problem", None)


def _sample_row(key: str, kinds: Sequence[str], chosen: str) -> None:
    row = [Thumbnail(name, SAMPLES[name].title, thumbnail(name)) for name in names(*kinds)]
    thumbnails(
        "Sample pictures", row, chosen, key=f"{key}_samples", on_pick=lambda: _take_sample(key)
    )


def _take_sample(key: str) -> None:
    name = picked(f"{key}_samples")
    if name in SAMPLES:
        _choose(key, Decoded(sample(name), ()))


def _uploader(key: str) -> None:
    st.file_uploader(
        "Picture file",
        EXTENSIONS,
        key=f"{key}_file",
        on_change=_take_file,
        args=(key, "file"),
        max_upload_size=MAX_MEGABYTES,
        help=(
            f"At most {MAX_MEGABYTES} MB and {MAX_MEGAPIXELS} megapixels. It stays in this session"
            " and is not stored."
        ),
    )
    paste_hint(f"{key}_file")


def _take_file(key: str, widget: str) -> None:
    """Choose what was uploaded or photographed, or keep the sentence that says why it cannot be
    used.
    """
    _forget_problem(key)
    file = st.session_state[f"{key}_{widget}"]
    if file is None or isinstance(
        file, DeletedFile
    ):  # which the browser still names after the app was started again
        return
    try:
        _choose(key, decode(file.getvalue(), _UPLOADED))
    except InputError as error:
        st.session_state[f"{key}_problem"] = str(error)


def _preview(chosen: Decoded) -> None:
    """What is chosen, small, and what was done to it."""
    picture = chosen.picture
    entry = SAMPLES.get(picture.name)
    called = f"Still chosen: the sample “{entry.title}”." if entry else "Your picture is chosen."
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        width = max(1, round(PREVIEW * picture.width / max(picture.width, picture.height)))
        st.image(
            small_file(picture, PREVIEW),
            width=width,
            alt=entry.title if entry else "The chosen picture",
        )
        st.caption(escaped(" ".join((called, *chosen.notes))))
