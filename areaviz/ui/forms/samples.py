"""Sentences and pictures to begin with; the sentences are like captions of photographs."""

from __future__ import annotations

from dataclasses import dataclass

from areaviz.trace.request import Focus
from areaviz.ui.forms.options import COUNTERPART

SAMPLES: tuple[str, ...] = (
    "A small dog runs across the wet grass.",
    "Two women are drinking coffee in front of a bakery.",
    "A man in a yellow jacket repairs the roof of a barn.",
    "Three children build a castle in the sand.",
    "An old sailor is mending a net beside the harbor.",
    "A girl with a red scarf feeds the ducks.",
    "A street musician plays the violin under a bridge.",
    "People are waiting for the bus in heavy rain.",
    "A black cat is sleeping on top of a piano.",
    "Several cyclists ride past a field of sunflowers.",
    "A boy jumps from a rock into the cold river.",
)


TRANSLATE = "pages/translate.py"


@dataclass(frozen=True, slots=True)
class Example:
    """A ready view of a page.

    Args:
        title: what it is called.
        text: the sentence, "" for none.
        note: why it is worth a look.
        focus: what to look at.
        view: the view to draw, "" for the first.
        area_size: the largest area, None for the trained one.
        compare: what to compare with, as in a link.
        picture: the sample's name, "" for none.
        page: the path of the page.
        hidden: places of words that are hidden from the model, from 1, as in a link.
    """

    title: str
    text: str
    note: str
    focus: Focus
    view: str = ""
    area_size: int | None = None
    compare: str = ""
    picture: str = ""
    page: str = TRANSLATE
    hidden: str = ""


EXAMPLES: tuple[Example, ...] = (
    Example(
        "Letters and spans",
        SAMPLES[5],
        "Point at a letter of the German sentence: which letters and spans of the English one weigh"
        " most in each head?",
        Focus("encoder-decoder", layer=0, items=(4,)),
    ),
    Example(
        "Regular and area attention, side by side",
        SAMPLES[0],
        "The same sentence by a model with regular attention and by one with areas. Pointing at one"
        " lights up both.",
        Focus("encoder-decoder", layer=0, items=(0,)),
        compare=COUNTERPART,
    ),
    Example(
        "Areas switched off",
        SAMPLES[8],
        "The area model with areas of one item only: the same weights, and what is left is regular"
        " attention.",
        Focus("encoder-decoder", layer=0, items=(6,)),
        area_size=1,
    ),
    Example(
        "What a letter knows of its word",
        SAMPLES[7],
        "Inside the encoder, letters look at each other: which neighbours does one letter take"
        " together, two or more?",
        Focus("encoder self", layer=0, items=(2,), areas="several"),
    ),
    Example(
        "A word that only the picture tells",
        "a large black key right of a small white diamond",
        "“White” is hidden, and a key and a diamond have two German names each. With another"
        " picture, other words.",
        Focus("encoder-decoder picture", layer=1, items=(8,)),
        picture="scene-34",
        page="pages/translate_picture.py",
        hidden="9",
    ),
    Example(
        "A caption and its rectangles",
        "",
        "Every word of the caption, and the rectangles of the picture that each head attended to"
        " when it was written.",
        Focus("encoder-decoder", layer=1, items=(3,)),
        view="film",
        picture="scene-34",
        page="pages/caption.py",
    ),
    Example(
        "A photograph in words",
        "",
        "By a small network that has seen six thousand photographs: what it gets wrong tells as"
        " much as what is right.",
        Focus("encoder-decoder", layer=1, items=(1,)),
        view="film",
        picture="astronaut",
        page="pages/caption.py",
    ),
    Example(
        "Two models before one picture",
        "",
        "Regular attention and areas describe the same scene. Pointing at a cell of one lights up"
        " both.",
        Focus("encoder self", layer=0, items=(41,)),
        picture="scene-20",
        page="pages/caption.py",
        compare=COUNTERPART,
    ),
)
