"""The widget for choosing a sound or a clip: a sample, an uploaded file, or a recording.

The choice is part of the page's state, so it survives reruns and page changes. A file stays in the
session. If a file cannot be used, the earlier choice is kept and one sentence says why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import streamlit as st

from areaviz.trace.errors import InputError, shorten
from areaviz.ui.app.errors import show_error
from areaviz.ui.app.markdown import escape_markdown
from areaviz.ui.app.page import AnyPage, Page
from areaviz.ui.app.state import Link, State
from areaviz.ui.app.streamlit_private import is_file_gone

SAMPLE_SOURCE, UPLOAD_SOURCE = "Samples", "Upload"
OWN_PARAM = "yours"
"""The prefix of the names of uploaded files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputOffer:
    """What a page offers for one kind of input.

    Args:
        noun: the field of a request, also the URL parameter.
        samples: the samples by name. Each has a title.
        sample: returns the input of a sample.
        sample_label: the accessible name of the list of samples.
        decode: decodes the bytes of a file, given the prefix for its name; raises InputError.
        file_label: the label above the uploader.
        formats: the formats and limits of files, as the help text begins.
        megabytes: the size limit of a file in MB.
        about: describes an input of the user.
        advice: what to do with files of other formats, as Markdown, or "".
        recorder: the label of the recorder and the name of its source; "" for no recorder.
    """

    noun: str
    samples: Mapping[str, Any]
    sample: Callable[[str], Any]
    sample_label: str
    decode: Callable[[bytes, str], Any]
    file_label: str
    formats: str
    megabytes: int
    about: Callable[[Any], str]
    advice: str = ""
    recorder: str = ""


@dataclass(frozen=True)
class MediumState(State):
    """The state of a page with a sound or a clip. Each page says in `OFFER` with which."""

    OFFER: ClassVar[InputOffer]
    # The chosen sample, "" for the first one, and the user's own decoded file if there is one.
    sample: str = ""
    own: Any = None
    source: str = SAMPLE_SOURCE
    # Why the present file cannot be used, in one sentence.
    refusal: str = ""

    @property
    def medium(self) -> Any:
        """The user's own sound or clip, None if there is none."""
        return self.own and getattr(self.own, self.OFFER.noun)

    def from_link(self, link: Link) -> Self:
        """Return this state with a link's input. The present one is kept if that is unavailable."""
        state, noun = super().from_link(link), self.OFFER.noun
        name = link.params.get(noun)
        if name is None or link.problem or (self.own and self.medium.name == name):
            return state
        if name in self.OFFER.samples:
            return replace(state, sample=name, source=SAMPLE_SOURCE)
        if name.startswith(f"{OWN_PARAM}-"):
            sentence = (
                f"The {noun} of the link was uploaded by its author and is not stored. Upload it"
                " again or choose another one."
            )
            return replace(state, problem=sentence)
        sentence = (
            f'The link names a {noun} "{shorten(name)}", which is not here. Choose another one.'
        )
        return replace(state, problem=sentence)


def draw_medium_input(page: Page[MediumState]) -> Any:
    """Draw the widget. Return the chosen input: the user's last one, or a sample."""
    offer = page.state.OFFER
    sources = {SAMPLE_SOURCE: SAMPLE_SOURCE, UPLOAD_SOURCE: UPLOAD_SOURCE}
    if offer.recorder:
        sources["Record"] = "Record"
    source = page.choose_segment(
        offer.noun.capitalize(), "source", sources, label_visibility="collapsed"
    )
    if source == SAMPLE_SOURCE:
        titles = {name: one.title for name, one in offer.samples.items()}
        name = page.choose(
            st.selectbox,
            offer.sample_label,
            "sample",
            titles,
            label_visibility="collapsed",
            after_change=page.set_and_unlock,
        )
        return offer.sample(name)
    with st.container():
        return _draw_file_input(page, offer, source == UPLOAD_SOURCE)


def _draw_file_input(page: Page[MediumState], offer: InputOffer, is_upload: bool) -> Any:
    """Draw the widget for a file or a recording. Return the user's own, or else the sample."""
    own, before = page.state.own, page.state.medium
    key = page.key(f"{offer.noun}_{'file' if is_upload else 'recorded'}")
    taken: Any = {"key": key, "on_change": take_file, "args": (page, key, "own", offer.decode)}
    if is_upload:
        # Accept all file types: Streamlit would otherwise reject files without advice.
        st.file_uploader(
            offer.file_label,
            max_upload_size=offer.megabytes,
            help=f"{offer.formats}. It stays in this session and is not stored.",
            **taken,
        )
    else:
        st.audio_input(offer.recorder, sample_rate=16_000, **taken)
    if page.state.refusal:
        show_error(page.state.refusal)
    elif offer.advice:
        st.caption(offer.advice)
    if own is None:
        st.caption("Until there is one of yours, the sample stays.")
        return offer.sample(page.state.sample or next(iter(offer.samples)))
    st.caption(escape_markdown(" ".join((f"Yours, {offer.about(before)}.", *own.notes))))
    return before


def take_file(
    page: AnyPage,
    key: str,
    field: str,
    decode: Callable[[bytes, str], Any],
    prefix: str = OWN_PARAM,
) -> None:
    """Select the uploaded file, or keep the sentence that says why it cannot be used.

    Args:
        page: its state has the fields `field` and `refusal`.
        key: the key of the upload widget.
        field: the field that receives the decoded file.
        decode: as in `InputOffer`.
        prefix: the prefix for the name of the file.
    """
    page.set(refusal="")
    file = st.session_state[key]
    if file is None or is_file_gone(file):
        return
    try:
        page.set_and_unlock(**{field: decode(file.getvalue(), prefix)})
    except InputError as error:
        page.set(refusal=str(error))
