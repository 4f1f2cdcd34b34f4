"""Inputs of a page: rows of widgets, sounds, clips, pictures, and the model for a picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from areaviz.app.components import Thumbnail, draw_paste_listener, draw_thumbnails, get_picked_name
from areaviz.app.options import ModelPage, ModelState
from areaviz.app.page import AnyPage, Cards, Link, Page, State, choose_default_model
from areaviz.app.run import is_file_gone
from areaviz.app.texts import escape_markdown, shorten_line, show_error
from areaviz.cards.card import Card
from areaviz.cards.tasks import TASKS
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

# The input at the top of a page: one row of widgets, and a row of samples below it.


MAX_VISIBLE_SAMPLES = 3
"""Number of samples that are offered without opening the list."""
MAX_LABEL_CHARACTERS = 32
"""Largest number of characters of a sample's button."""


def draw_input_row(page: AnyPage) -> DeltaGenerator:
    """Return a row for the input, the model, the options and the button that runs the model."""
    return st.container(
        key=page.key("input"), horizontal=True, vertical_alignment="bottom", gap="small"
    )


def draw_sample_row(
    page: AnyPage, samples: Sequence[str], present: str, take: Callable[[str], None]
) -> None:
    """Draw buttons for the first samples and a list of the rest, without the present input."""
    offered = [sample for sample in samples if sample != present]
    with st.container(
        key=page.key("try"), horizontal=True, vertical_alignment="center", gap="small"
    ):
        st.caption("Or try", width="content")
        for sample in offered[:MAX_VISIBLE_SAMPLES]:
            _draw_button(page, shorten_line(sample, MAX_LABEL_CHARACTERS), sample, take)
        if len(offered) > MAX_VISIBLE_SAMPLES:
            draw_sample_menu(
                page,
                f"{len(offered) - MAX_VISIBLE_SAMPLES} more",
                offered[MAX_VISIBLE_SAMPLES:],
                take,
            )


def draw_sample_menu(
    page: AnyPage, label: str, samples: Sequence[str], take: Callable[[str], None]
) -> None:
    """Draw a menu of samples. `take` is called with the chosen one, before the page is drawn."""
    with st.popover(label, key=page.key("more_samples")):
        for sample in samples:
            _draw_button(page, sample, sample, take)


def _draw_button(page: AnyPage, label: str, sample: str, take: Callable[[str], None]) -> None:
    st.button(
        escape_markdown(label),
        key=page.key(f"try {sample}"),
        type="tertiary",
        on_click=take,
        args=(sample,),
    )


# The widget for choosing a sound or a clip: a sample, an uploaded file, or a recording.
#
# The choice is part of the page's state, so it survives reruns and page changes. A file stays in
# the session. If a file cannot be used, the earlier choice is kept and one sentence says why.


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


# The widget for choosing a picture: a sample, an uploaded file, or a photograph.
#
# The chosen picture is part of the page's state, so it survives reruns and page changes. If a file
# cannot be used, the chosen picture is kept and one sentence says why.


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
        kinds: the kinds of samples to offer, see `SAMPLE_KINDS`.
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
            f"{PICTURE_FORMATS_TEXT}, at most {MAX_PICTURE_MEGABYTES} MB and {MAX_MEGAPIXELS}"
            " megapixels,"
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


# Matching of pictures and models: a new picture selects a model trained on its kind.


VALIDATION_SITE = "encoder-decoder, val"
"""The figures of a card that say how often words point at what they name."""
PICTURE_TYPES = ("scene", "photo")
"""The kinds of samples that are offered."""
FIRST_SAMPLES = {"scenes": "scene-34", "photos": "photographer"}
"""The first sample for a model of each kind."""
FIRST_SAMPLES_OF_TASK = {"picture translation": {"scenes": "scene-10"}}
"""The first samples of tasks whose models look at the right things in other samples."""


@dataclass(frozen=True)
class PictureModelState(ModelState, PictureState):
    """The state of a page that shows pictures to a model."""

    def from_link(self, link: Link) -> Self:
        """Return this state with a link's model and picture, without matching them."""
        state, name = super().from_link(link), link.params.get("picture")
        if name is None or link.problem:
            return state
        return replace(state, model_kind=get_picture_type(name) if "model" in link.params else "")


def get_picture_type(name: str) -> str:
    """Return the kind of picture, as in `Card.pictures`. An upload counts as a photograph."""
    entry = PICTURE_SAMPLES.get(name)
    return "scenes" if entry and entry.kind == "scene" else "photos"


def choose_fitting_picture(
    page: Page[PictureModelState],
    cards: Cards,
    place: DeltaGenerator,
    samples: DeltaGenerator | None = None,
) -> Picture | None:
    """Let the user choose a picture, and select a model of its kind.

    Args:
        page: its state has the picture and the model.
        cards: the cards of the offered models.
        place: where to draw the choice of the source of pictures.
        samples: where to draw the samples; None draws them below.
    """
    picture = draw_picture_input(
        page, PICTURE_TYPES, choose_first_sample(page, cards), place, samples
    )
    select_model_for_picture(page, cards, picture)
    return picture


def choose_first_sample(page: ModelPage, cards: Cards) -> str:
    """Return the first sample of the page's task, of the kind that the model was trained on."""
    card = cards.get(page.state.model)
    # The page has no model before its first picture is chosen.
    task = next((one.task for one in cards.values()), "")
    first = FIRST_SAMPLES | FIRST_SAMPLES_OF_TASK.get(task, {})
    return first.get(card.pictures if card else "", first["scenes"])


def select_model_for_picture(page: ModelPage, cards: Cards, picture: Picture | None) -> None:
    """Select a model of a new picture's kind. The user's later choice is kept."""
    select_model_for_type(page, cards, get_picture_type(picture.name) if picture else "")


def select_model_for_type(page: ModelPage, cards: Cards, kind: str) -> None:
    """Select a model trained on this kind of pictures, as in `Card.pictures`; "" selects none."""
    is_fitted = page.state.model_kind == kind and page.state.model in cards
    if not kind or is_fitted:
        return
    page.set(model_kind=kind)
    card = cards.get(page.state.model)
    # The training data of external models is unknown, so the user's choice is kept.
    if card and (card.pictures == kind or not card.trained_on):
        return
    fitting = {name: one for name, one in cards.items() if one.pictures == kind}
    if fitting:
        page.set(model=_choose_first_model(fitting))


def _choose_first_model(cards: Cards) -> str:
    """Return the model that its task opens with, else the one that points best on validation."""
    first = choose_default_model(cards)
    if TASKS[cards[first].task].opens == first:
        return first

    def rank(name: str) -> tuple[float, bool]:
        return cards[name].attention.get(VALIDATION_SITE, {}).get("pointing", 0.0), name == first

    return max(cards, key=rank)


def warn_of_picture_type(card: Card, picture: Picture | None) -> str:
    """Return a sentence if the model was not trained on this kind of picture, or ""."""
    return card.unfamiliar(get_picture_type(picture.name)) if picture else ""
