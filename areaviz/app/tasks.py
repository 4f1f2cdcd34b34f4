"""The pages of tasks: Reason, Translate, Read, Caption, Listen and Watch.

Each page has its form and, where its answer needs a text of its own, its result below the form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import numpy as np
import streamlit as st

from areaviz.app.changes import WhatIfState, describe_normalisation
from areaviz.app.examples import SAMPLES
from areaviz.app.input import (
    InputOffer,
    MediumState,
    PictureModelState,
    choose_fitting_picture,
    draw_input_row,
    draw_medium_input,
    draw_sample_menu,
    draw_sample_row,
)
from areaviz.app.options import (
    ModelState,
    add_options,
    build_compared_requests,
    choose_model,
    choose_model_and_options,
    draw_options_popover,
    draw_run_options,
    get_compared_model,
)
from areaviz.app.page import WRITES_PARAM, Cards, Link, Page, choose_default_model
from areaviz.app.result import draw_traces
from areaviz.app.texts import escape_markdown
from areaviz.cards.card import Card
from areaviz.draw.labels import pluralise
from areaviz.measures.references import count_edits
from areaviz.media.clips import (
    CLIP_FORMATS_TEXT,
    CONVERT_TO_CLIP,
    MAX_CLIP_MEGABYTES,
    MOST_FRAMES,
    decode_clip,
)
from areaviz.media.sounds import MAX_SOUND_MEGABYTES, SOUND_FORMATS_TEXT, decode_sound
from areaviz.samples.own_media import CLIP_SAMPLES, SOUND_SAMPLES, get_clip_sample, get_sound_sample
from areaviz.samples.reasoning import POINT_KINDS, POINTS, SENTENCES, STORIES, separate_punctuation
from areaviz.trace.changes import Share
from areaviz.trace.errors import InputError
from areaviz.trace.kinds import EXPECTED, EXTENT, GOLD, format_points, read_tree, split_story
from areaviz.trace.record import Trace
from areaviz.trace.request import SECONDS, Focus, Request
from areaviz.views.sound.sound import GOLD_TIMES
from areaviz.views.strip.strip import GOLD_FRAMES

# The form of Reason: a story with a question, points, or a sentence, depending on the model.


_BEAM_WIDTH = 4
STORIES_BY_QUESTION = {one.question: one for one in STORIES}


@dataclass(frozen=True)
class ReasonState(WhatIfState):
    """The state of the page Reason."""

    is_written_in_pictures = True
    model: str = ""
    # The facts of a story, one per line, and the question.
    facts: str = "\n".join(STORIES[0].facts)
    question: str = STORIES[0].question
    # The sentence to parse.
    sentence: str = SENTENCES[0]
    # The points as in a request, and how many times they were replaced by new ones.
    points: str = POINTS
    clicks: int = 0
    # The text of a link, until the task of its model is known.
    brought: str = ""

    def from_link(self, link: Link) -> Self:
        """Return this state with the model and the text of a link."""
        state = super().from_link(link)
        return replace(state, model=link.request.model, brought=link.params.get("text", ""))

    def with_linked_text(self, task: str) -> Self:
        """Return this state with the link's text as input for models of a task."""
        text = self.brought
        if task == "questions":
            facts, question = _split_story(text)
            return replace(self, facts=facts, question=question, brought="")
        if task == "parsing":
            return replace(self, sentence=text, brought="")
        return replace(self, points=text, brought="")

    def with_text(self, text: str) -> Self:
        """Return this state with a text that the user wrote in the picture."""
        return replace(self.without_lock(), brought=text)


ReasonPage = Page[ReasonState]


def draw_reason_form(page: ReasonPage, cards: Cards) -> tuple[Request, ...]:
    """Draw the form. Return the requests."""
    if page.state.model not in cards:
        page.set(model=choose_default_model(cards))
    if page.state.brought:
        page.set_state(page.state.with_linked_text(cards[page.state.model].task))
    card = _draw_task_row(page, cards)
    if card.task == "questions":
        return (Request(card.name, _draw_story(page)),)
    if card.task == "parsing":
        return (Request(card.name, _draw_sentence(page)),)
    return (Request(card.name, _draw_points(page), method="beam", beam=_BEAM_WIDTH),)


def _draw_task_row(page: ReasonPage, cards: Cards) -> Card:
    """Draw the choice of the subject next to the title, and the options. Return the model."""
    with st.container(
        key=page.key("subject"), horizontal=True, vertical_alignment="center", gap="small"
    ):
        subjects = {name: get_task_title(cards[name]) for name in cards}
        page.choose_segment("What to reason about", "model", subjects, label_visibility="collapsed")
        st.space("stretch")
        card = cards[page.state.model]
        with draw_options_popover(page):
            if card.task == "questions":
                label = "Facts, one per line, the latest last"
                page.draw_widget(
                    st.text_area,
                    label,
                    "facts",
                    height=190,
                    width=420,
                    after_change=page.set_and_unlock,
                )
            elif card.task == "points":
                help = f"x,y of every point, from 0 to {EXTENT:,}, with blanks between points."
                page.draw_widget(
                    st.text_input,
                    "Points",
                    "points",
                    help=help,
                    width=420,
                    after_change=page.set_and_unlock,
                )
    return card


def get_task_title(card: Card) -> str:
    """Return the kind of input about which a model reasons."""
    if card.task == "questions":
        return "A story"
    if card.task == "parsing":
        return "A sentence's tree"
    return f"Points: {POINT_KINDS[str(card.config['kind'])]}"


def join_story(facts: str, question: str) -> str:
    """Return the text of a request: one line per fact, each with a full stop."""
    sentences = []
    for line in facts.splitlines():
        fact = line.strip()
        if fact:
            sentences.append(fact if fact[-1] in ".!?" else f"{fact}.")
    asked = question.strip()
    if asked and not asked.endswith("?"):
        asked = f"{asked}?"
    return " ".join([*sentences, asked]).strip()


def _split_story(text: str) -> tuple[str, str]:
    """Return the facts of a request's text, one per line, and the question."""
    try:
        facts, (start, end) = split_story(text)
    except InputError:
        return text, ""
    return "\n".join(text[first:last] for first, last in facts), text[start:end]


def _draw_story(page: ReasonPage) -> str:
    with draw_input_row(page):
        label = "Question"
        page.draw_widget(
            st.text_input,
            label,
            "question",
            label_visibility="collapsed",
            after_change=page.set_and_unlock,
        )
        draw_sample_menu(
            page,
            f"{len(STORIES_BY_QUESTION)} stories",
            list(STORIES_BY_QUESTION),
            partial(_take_sample, page),
        )
        st.button("Ask", key=page.key("ask"), type="primary")
    return join_story(page.state.facts, page.state.question)


def _take_sample(page: ReasonPage, question: str) -> None:
    chosen = STORIES_BY_QUESTION[question]
    page.set_and_unlock(facts="\n".join(chosen.facts), question=chosen.question)


def _draw_sentence(page: ReasonPage) -> str:
    with draw_input_row(page):
        label = "Sentence"
        page.draw_widget(
            st.text_input,
            label,
            "sentence",
            label_visibility="collapsed",
            after_change=page.set_and_unlock,
        )
        label = f"{len(SENTENCES)} sentences"
        draw_sample_menu(
            page, label, SENTENCES, lambda sentence: page.set_and_unlock(sentence=sentence)
        )
        st.button("Draw the tree", key=page.key("parse"), type="primary")
    return separate_punctuation(page.state.sentence)


def _draw_points(page: ReasonPage) -> str:
    """Draw the row of the points. They are moved in the picture, and typed under Options."""
    with draw_input_row(page):
        st.caption(
            "Drag a point, click to add one, double-click to remove it: the model answers again."
        )
        st.button("Ten new points", on_click=_scatter_points, args=(page,))
    return page.state.points


def _scatter_points(page: ReasonPage) -> None:
    points_N2 = np.random.default_rng(page.state.clicks).integers(0, EXTENT + 1, (10, 2))
    page.set_and_unlock(points=format_points(points_N2), clicks=page.state.clicks + 1)


# The answer of a reasoning model, compared with the right answer, and its attention.


def add_gold_facts(trace: Trace) -> Trace:
    """Add to a trace of a sample story its right answer and the facts from which it follows."""
    for story in STORIES:
        if story.text == trace.request.text:
            numbers = " ".join(str(fact + 1) for fact in story.gold)
            known = {GOLD: numbers, EXPECTED: story.answer}
            return replace(trace, details={**trace.details, **known})
    return trace


def describe_answer(trace: Trace) -> str:
    """Return a sentence about a tree, or "" for a story or points, whose picture says it."""
    return "" if "question" in trace.fields or "points" in trace.fields else _describe_tree(trace)


def _describe_tree(trace: Trace) -> str:
    """Describe whether the tree is complete, and its size."""
    source = next(iter(trace.maps.values())).memory
    words = len(trace.fields[source].raw.split())
    tree = read_tree(trace.fields[trace.output.field].raw.split())
    if tree.problem:
        return f"What the model wrote is no tree: {escape_markdown(tree.problem)}"
    if not tree.nodes:
        return "What the model wrote is no tree: it has no bracket."
    if not tree.is_closed:
        return "What the model wrote is no tree: a bracket stays open."
    if tree.words != words:
        return (
            f"The model wrote a tree of {pluralise(tree.words, 'word')}, and the sentence has"
            f" {words}. Punctuation counts as words."
        )
    levels = 1 + max(node.depth for node in tree.nodes)
    return (
        f"The model wrote a whole tree: {pluralise(len(tree.nodes), 'bracket')} around"
        f" {pluralise(words, 'word')}, {pluralise(levels, 'level')} deep."
    )


draw_answers = partial(draw_traces, say=describe_answer, complete=add_gold_facts)
"""Run the requests, show the answers, and explore their attention."""


# The input of Translate: text, model and options. Every change runs the model at once.


@dataclass(frozen=True)
class TranslateState(ModelState, WhatIfState):
    """The state of the page Translate."""

    text: str = SAMPLES[0]
    # Whether to run the model; false if a link cannot be followed.
    is_asked: bool = True

    def from_link(self, link: Link) -> Self:
        """Return this state with the text of a link. It runs at once if the link is valid."""
        text = link.params.get("text", self.text)
        return replace(super().from_link(link), text=text, is_asked=not link.problem)


def draw_translate_form(page: Page[TranslateState], cards: Cards) -> tuple[Request, ...]:
    """Draw the form. Return the requests, two when comparing."""
    take_text = partial(page.set_and_unlock, is_asked=True)
    sources = {card.recipe.get("source", "en") for card in cards.values()}
    label = "English text" if sources == {"en"} else "Text"
    with draw_input_row(page):
        page.draw_widget(
            st.text_input, label, "text", label_visibility="collapsed", after_change=take_text
        )
        card = choose_model_and_options(page, cards)
        ask = {"is_asked": True}
        st.button("Translate", type="primary", on_click=page.set, kwargs=ask)
    draw_sample_row(page, SAMPLES, page.state.text, lambda text: take_text(text=text))
    asked = build_compared_requests(page, card, cards, Request(card.name, page.state.text))
    return asked if page.state.is_asked else ()


# The form of Read: the text, the model, and whether the model continues the text.


MODE_LABELS: Mapping[bool, str] = {False: "Read the text", True: "Go on with it"}


@dataclass(frozen=True)
class ReadState(ModelState, WhatIfState):
    """The state of the page Read."""

    text: str = SAMPLES[0]
    # Whether the model continues the text, if it can.
    writes: bool = False

    def from_link(self, link: Link) -> Self:
        """Return this state with the text of a link."""
        text = link.params.get("text", self.text)
        return replace(super().from_link(link), text=text, writes=WRITES_PARAM in link.params)

    def to_link(
        self, request: Request, focus: Focus | None = None, view: str = ""
    ) -> dict[str, str]:
        """Return the URL parameters, and whether the model continues the text."""
        params = super().to_link(request, focus, view)
        return {**params, WRITES_PARAM: "1"} if self.writes else params


def draw_read_form(page: Page[ReadState], cards: Cards) -> tuple[Request, ...]:
    """Draw the form. Return the requests, two when comparing."""
    with draw_input_row(page):
        page.draw_widget(
            st.text_area,
            "Text",
            "text",
            height=68,
            label_visibility="collapsed",
            after_change=page.set_and_unlock,
        )
        card = choose_model_and_options(page, cards, decodes=page.state.writes)
    with st.container(
        key=page.key("below"), horizontal=True, vertical_alignment="center", gap="small"
    ):
        draw_sample_row(page, SAMPLES, page.state.text, lambda text: page.set_and_unlock(text=text))
        if any(map(_can_write, cards.values())):
            page.choose_segment("Mode", "writes", MODE_LABELS, label_visibility="collapsed")
    other = get_compared_model(page, card, cards)
    if not page.state.writes:
        both = [card] if other is None else [card, other]
        return tuple(Request(one.name, page.state.text, target=one.given) for one in both)
    st.caption("It writes up to 24 more tokens, and is then shown over all of them.")
    return add_options(page, Request(card.name, page.state.text), other)


def _can_write(card: Card) -> bool:
    return "target" in card.can


# The form of Caption: picture, model, question if the model takes one, and decoding.


CELLS_LABEL = "{size} rows and {size} columns of cells"
MAX_AREA_SIDE = 4


@dataclass(frozen=True)
class CaptionState(PictureModelState, WhatIfState):
    """The state of the page Caption."""

    # The question for a vision-language model, "" for a description.
    question: str = ""

    def from_link(self, link: Link) -> Self:
        """Return this state with the question of a link."""
        question = link.params.get("text", self.question)
        return replace(super().from_link(link), question=question)


def draw_caption_form(page: Page[CaptionState], cards: Cards) -> tuple[Request, ...]:
    """Draw the form. Return the requests, () while there is no picture."""
    row = draw_input_row(page)
    with row:
        source = st.container(horizontal=True, vertical_alignment="center", gap="small")
    picture = choose_fitting_picture(page, cards, source, source)
    with row:
        card = choose_model_and_options(page, cards, largest=MAX_AREA_SIDE, extent=CELLS_LABEL)
    other = get_compared_model(page, card, cards)
    models = [one for one in (card, other) if one is not None]
    _draw_question_field(page, models)
    if picture is None:
        return ()
    asked = add_options(page, Request(card.name, "", picture=picture), other)
    # A model that takes no question gets none, so that equal requests stay equal.
    texts = [page.state.question.strip() if one.question else "" for one in models]
    return tuple(replace(one, text=text) for one, text in zip(asked, texts, strict=True))


def _draw_question_field(page: Page[CaptionState], models: Sequence[Card]) -> None:
    """Draw the field for a question if one of the models takes a question."""
    usual = next((one.question for one in models if one.question), "")
    if usual:
        page.draw_widget(
            st.text_input,
            "Question",
            "question",
            placeholder=usual,
            max_chars=300,
            after_change=page.set_and_unlock,
            help="Ask a question about the picture. If the model does not answer questions, this is"
            " how its text begins. Leave it empty for a description of the picture.",
        )


# The form of Listen: the sound, the model, and the normalisation of its scores.


SITE = "encoder-decoder"
"""The attention type from the transcript to the sound."""
SHARPNESS_LABELS = {0.5: "× 0.5", 1.0: "As trained", 2.0: "× 2", 4.0: "× 4"}
WINDOW_LABELS = {0: "None", 10: "0.4 s", 20: "0.8 s", 40: "1.6 s"}
"""Window sizes, in encoder items before and after. A second has 25 items."""


@dataclass(frozen=True)
class ListenState(MediumState, ModelState, WhatIfState):
    """The state of the page Listen."""

    OFFER = InputOffer(
        noun="sound",
        samples=SOUND_SAMPLES,
        sample=get_sound_sample,
        sample_label="Recording",
        decode=decode_sound,
        file_label="Sound file",
        formats=(
            f"{SOUND_FORMATS_TEXT}, at most {MAX_SOUND_MEGABYTES} MB and {SECONDS[1]:.0f} seconds"
        ),
        megabytes=MAX_SOUND_MEGABYTES,
        about=lambda sound: f"{sound.seconds:.1f} seconds",
        recorder="Say digits in English, one after the other",
    )
    sharpness: float = 1.0
    is_smooth: bool = False
    window: int = 0

    def from_link(self, link: Link) -> Self:
        """Return this state with a link's switches. Other changes of the link go to What if."""
        share = Share(SITE)
        for change in link.request.changes:
            if isinstance(change, Share) and _is_switched(change):
                share = change
        return replace(
            super().from_link(link),
            sharpness=share.factor,
            is_smooth=share.smooth,
            window=share.window,
        )


def _is_switched(share: Share) -> bool:
    """Return whether the page's switches can express this normalisation of scores."""
    return share.site == SITE and share.factor in SHARPNESS_LABELS and share.window in WINDOW_LABELS


def draw_listen_form(page: Page[ListenState], cards: Cards) -> tuple[Request, ...]:
    """Draw the form. Return the requests, two when comparing.

    If a switch is set and no other model was chosen, the second request has no switches set.
    """
    with draw_input_row(page):
        sound = draw_medium_input(page)
        card = choose_model(page, cards)
        with draw_options_popover(page):
            draw_run_options(page, card)
            share = _draw_switches(page)
    other = get_compared_model(page, card, cards)
    trained = add_options(page, Request(card.name, "", sound=sound), other)
    if share == Share(SITE):
        return trained
    switched = tuple(replace(request, changes=(share,)) for request in trained)
    return switched if other else (*switched, *trained)


def _draw_switches(page: Page[ListenState]) -> Share:
    """Draw the switches for the normalisation of scores. The learned weights stay unchanged."""
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        factor = page.choose_segment("Sharpen", "sharpness", SHARPNESS_LABELS)
        window = page.choose_segment("Window each way", "window", WINDOW_LABELS)
        help = (
            "Each score goes through a sigmoid instead of the softmax, so that one item is not read"
            " at the cost of all others."
        )
        smooth = page.draw_widget(st.toggle, "Smooth", "is_smooth", help=help)
    return Share(SITE, factor, bool(smooth), window)


# The transcript of a speech recogniser, compared with the reference, and its attention.


def _get_title(request: Request, requests: Sequence[Request], cards: Cards) -> str:
    """Return the name of the model; if it runs twice, the function that normalises its scores."""
    if len({one.model for one in requests}) == len(requests):
        return cards[request.model].title
    for change in request.changes:
        if isinstance(change, Share):
            return describe_normalisation(change)
    return "As trained"


def add_gold_times(trace: Trace) -> Trace:
    """Add to a trace of a sample recording the times in seconds at which its digits are spoken."""
    sound = trace.request.sound
    sample = SOUND_SAMPLES.get(sound.name) if sound else None
    if sample is None:
        return trace
    return replace(trace, details={**trace.details, GOLD_TIMES: sample.spoken})


def describe_transcript(trace: Trace) -> str:
    """Return the transcript in a Markdown sentence, with its accuracy if it is known."""
    digits = trace.fields[trace.output.field].raw.strip()
    heard = " ".join(digits) or "nothing"
    sound = trace.request.sound
    sample = SOUND_SAMPLES.get(sound.name) if sound else None
    if sample is None:
        return f"Heard: **{escape_markdown(heard)}**"
    wrong = count_edits(digits, sample.text)
    if not wrong:
        return f"Heard: **{escape_markdown(heard)}**, every digit right."
    said = " ".join(sample.text)
    return f"Heard: **{escape_markdown(heard)}**, said: {said}, {pluralise(wrong, 'mistake')}."


draw_transcripts = partial(
    draw_traces, say=describe_transcript, complete=add_gold_times, name=_get_title
)
"""Run the requests, show the transcripts, and explore their attention."""


# The form of Watch: clip, model and decoding.


@dataclass(frozen=True)
class WatchState(MediumState, ModelState, WhatIfState):
    """The state of the page Watch."""

    OFFER = InputOffer(
        noun="clip",
        samples=CLIP_SAMPLES,
        sample=get_clip_sample,
        sample_label="What happens",
        decode=decode_clip,
        file_label="Animation",
        formats=f"{CLIP_FORMATS_TEXT}, at most {MAX_CLIP_MEGABYTES} MB and {MOST_FRAMES} frames",
        megabytes=MAX_CLIP_MEGABYTES,
        about=lambda clip: f"{clip.frames} frames of {clip.width} × {clip.height} pixels",
        advice=(
            f"Of a recorded video (MP4, WebM) make a GIF first, for example by `{CONVERT_TO_CLIP}`"
        ),
    )


def draw_watch_form(page: Page[WatchState], cards: Cards) -> tuple[Request, ...]:
    """Draw the form. Return the requests, two when comparing."""
    with draw_input_row(page):
        clip = draw_medium_input(page)
        card = choose_model_and_options(page, cards)
    return build_compared_requests(page, card, cards, Request(card.name, "", clip=clip))


# The description by a video model, compared with the actual event, and its attention.


def add_gold_frames(trace: Trace) -> Trace:
    """Add to a trace of a sample clip the frames in which its digit acts."""
    clip = trace.request.clip
    sample = CLIP_SAMPLES.get(clip.name) if clip else None
    if sample is None:
        return trace
    return replace(trace, details={**trace.details, GOLD_FRAMES: sample.acts})


def describe_clip(trace: Trace) -> str:
    """Return the description in a Markdown sentence, with its accuracy if it is known."""
    seen = trace.fields[trace.output.field].raw.strip() or "nothing"
    clip = trace.request.clip
    sample = CLIP_SAMPLES.get(clip.name) if clip else None
    if sample is None:
        return f"Seen: **{escape_markdown(seen)}**."
    if seen == sample.text:
        return f"Seen: **{escape_markdown(seen)}**, which is right."
    return (
        f"Seen: **{escape_markdown(seen)}**, but what happens is: {escape_markdown(sample.text)}."
    )


draw_descriptions = partial(draw_traces, say=describe_clip, complete=add_gold_frames)
"""Run the requests, show the descriptions, and explore their attention."""
