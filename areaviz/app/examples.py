"""Sample sentences, sample pictures, and links to the ready-made examples."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from areaviz.app.frame import draw_page_link
from areaviz.app.options import COMPARED_VALUE
from areaviz.app.page import LEVEL, WRITES_PARAM, build_link_params
from areaviz.app.run import list_missing_models
from areaviz.samples.paths import LOOKS
from areaviz.trace.request import Focus, Request

# Sample sentences and pictures. The sentences resemble captions of photographs.


SAMPLES: tuple[str, ...] = (
    "A black dog runs through the snow with a stick.",
    "A girl with a red hat plays in the snow.",
    "A woman in a white hat reads a book on the beach.",
    "A boy in a blue shirt throws a red ball.",
    "A woman in a black coat stands in front of a red car.",
    "A man with a black hat sits in front of a building.",
    "A big brown dog swims in the water with a stick.",
    "A woman in a red dress dances on a stage.",
    "A woman in a green coat waits in front of a bus.",
    "An old man with a white hat plays the guitar on the street.",
)
"""Sentences with a right translation. In the head that Translate opens with, their areas contain
the right words. A test verifies both with links made by hand.
"""

TRANSLATE, READ = "pages/translate.py", "pages/read.py"


@dataclass(frozen=True, slots=True)
class Example:
    """A ready-made view of a page.

    Args:
        title: the displayed title.
        text: the sentence, "" for none.
        note: the reason why it is worth seeing.
        focus: the selection; without items, the word whose top span has the largest weight, which
            is computed when the pages' traces are stored.
        view: the view to draw, "" for the first.
        area_size: the largest area, None for the size in training.
        compare: the model to compare with, as in a link.
        picture: the name of a sample picture, "" for none.
        sound: the name of a sample recording, "" for none.
        clip: the name of a sample clip, "" for none.
        page: the path of the page.
        hidden: positions of hidden words, from 1, as in a link.
        level: the level of the model, as in `Card.level`; "" for the page's default model.
        writes: whether a language model continues the text.
    """

    title: str
    text: str
    note: str
    focus: Focus
    view: str = ""
    area_size: int | None = None
    compare: str = ""
    picture: str = ""
    sound: str = ""
    clip: str = ""
    page: str = TRANSLATE
    hidden: str = ""
    level: str = ""
    writes: bool = False

    @property
    def slug(self) -> str:
        """The title in the form of a file name."""
        return "-".join(re.findall("[a-z]+", self.title.lower()))


EXAMPLES: tuple[Example, ...] = (
    Example(
        "Words and spans",
        SAMPLES[0],
        "The stick comes last in English and earlier in German. Point at a German word: which"
        " English words does this head look at?",
        Focus("encoder-decoder", layer=1, head=2, items=(7,), unit="word"),
    ),
    Example(
        "Regular and area attention, side by side",
        SAMPLES[2],
        "The same sentence by a model that can look at single words only, and by one that can look"
        " at spans. Pointing at one lights up both.",
        Focus("encoder-decoder", layer=1, head=2, items=(6,), unit="word"),
        compare=COMPARED_VALUE,
    ),
    Example(
        "A model with areas, without them",
        SAMPLES[3],
        "This model was trained with areas. Here it may use single items only, and the ball is no"
        " longer red. Models that were trained without areas translate this sentence well.",
        Focus("encoder-decoder", layer=1, head=2, items=(6,), unit="word"),
        area_size=1,
    ),
    Example(
        "What a letter knows of its word",
        SAMPLES[1],
        "Inside a model of letters they look at each other: which neighbours does one letter take"
        " together, two or more?",
        Focus("encoder self", layer=0, items=(2,), areas="several"),
        level="character",
    ),
    Example(
        "What comes next?",
        "A man in a yellow jacket repairs the roof of a barn.",
        "A language model reads a sentence and guesses each word from those before it. Behind “a"
        " yellow” it thought of a shirt first: which spans did it look at?",
        Focus("decoder self", layer=1, items=(5,)),
        page=READ,
    ),
    Example(
        "A sentence goes on",
        "A little girl in a",
        "The same model goes on with a beginning, a piece at a time. Point at a word that it wrote:"
        " which words, or spans of several, did it read for it?",
        Focus("decoder self", layer=1, items=(9,)),
        page=READ,
        writes=True,
    ),
    Example(
        "A word that only the picture tells",
        "a large blue moon left of a large red key",
        "“Red” is hidden, and key has two meanings: “Schlüssel” (of a door) or “Taste” (of a"
        " keyboard).",
        Focus("encoder-decoder picture best", items=(8,)),
        picture="scene-9",
        page="pages/translate_picture.py",
        hidden="9",
    ),
    Example(
        "A caption and its rectangles",
        "",
        "Every word of the caption, and the rectangles of the picture that a head looked at when"
        " it was written.",
        Focus("encoder-decoder", layer=1, head=0, items=(9,)),
        view="film",
        picture="scene-34",
        page="pages/caption.py",
    ),
    Example(
        "Two models before one picture",
        "",
        "Two captioners describe the same scene. Point at a cell of one to light up both.",
        Focus("encoder self", layer=0, items=(41,)),
        picture="scene-26",
        page="pages/caption.py",
        compare=COMPARED_VALUE,
    ),
    Example(
        "A question and its facts",
        "",
        "“Where is the apple?” A memory network reads the story once a hop: first who picked the"
        " apple up, then where she went.",
        Focus("hops", layer=2, items=(0,)),
        page="pages/reason.py",
    ),
    Example(
        "Around a cloud of points",
        "",
        "A pointer network writes a hull by pointing at the points themselves: which did it think"
        " of at each step?",
        Focus("pointer", items=(3,)),
        view="points",
        page="pages/reason.py",
        level="point",
    ),
    Example(
        "A tree grows over its sentence",
        "The old man saw a dog in the park.",
        "A sentence becomes a tree, written bracket by bracket. Which words does each bracket look"
        " at before it opens?",
        Focus("encoder-decoder", items=(6,)),
        view="tree",
        page="pages/reason.py",
        level="token",
    ),
    Example(
        "Seven digits, heard one by one",
        "",
        "A listener writes down spoken digits. Play the recording: which moments did it listen to"
        " for each?",
        Focus("encoder-decoder", items=(2,)),
        sound="digits-plain",
        page="pages/listen.py",
    ),
    Example(
        "Two listeners, fourteen digits",
        "",
        "Runs of the same digit, longer than any of training: one listener goes on from where it"
        " listened before, the other knows only what things sound like, and leaves digits out.",
        Focus("encoder-decoder", items=(4,)),
        compare=COMPARED_VALUE,
        sound="digits-long",
        page="pages/listen.py",
    ),
    Example(
        "What happens, frame by frame",
        "",
        "“The three moves left and then grows”: the words of each action are read from the frames"
        " in which it happens, several at once.",
        Focus("encoder-decoder", items=(2, 6)),
        clip="three-left-grows",
        page="pages/watch.py",
    ),
)


# Links to the ready-made examples, and the menu of a page's own examples.


@cache
def load_stored_examples() -> Mapping[str, Mapping[str, Any]]:
    """Return the results of `areaviz openings`, which opened the examples, by their slugs.

    These are the "models" that ran and, for an example that names no items, the URL parameters of
    its selection, "look".
    """
    found: dict[str, Any] = json.loads(LOOKS.read_text(encoding="utf-8"))
    return found


def list_missing_models_for(example: Example) -> list[str]:
    """Return the models that an example needs and this machine lacks."""
    return list_missing_models(load_stored_examples().get(example.slug, {}).get("models", ()))


def build_example_link(example: Example) -> dict[str, str]:
    """Return the URL parameters of an example, which set its text, picture, options and selection.

    The page chooses the model, because it knows which ones are available.
    """
    request = Request("", example.text, area_size=example.area_size)
    params = build_link_params(request, example.focus, example.view, example.compare)
    params.pop("model", None)
    if example.level:
        params[LEVEL] = example.level
    if not example.focus.items:
        params |= load_stored_examples().get(example.slug, {}).get("look", {})
    if example.writes:
        params[WRITES_PARAM] = "1"
    for name in ("picture", "sound", "clip", "hidden"):
        value = getattr(example, name)
        if value:
            params[name] = value
    return params


def list_examples(page: str) -> Sequence[Example]:
    """Return the examples of a page, given by its name."""
    return [example for example in EXAMPLES if Path(example.page).stem == page]


def draw_examples_menu(page: str) -> None:
    """Draw a button that lists the examples of a page, if it has any whose models are available."""
    examples = [example for example in list_examples(page) if not list_missing_models_for(example)]
    if not examples:
        return
    with st.popover("Examples", key="examples", type="tertiary"):
        for example in examples:
            draw_page_link(
                example.page, example.title, build_example_link(example), help=example.note
            )
