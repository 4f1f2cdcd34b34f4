"""Judge captions of ten photographs that no captioner has seen, as a table of docs/photos.md.

A content word is in the picture if a box was drawn for it by hand. Run it with
`python -m tests.judged_photos`, which writes the table anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import distribution
from pathlib import Path

from areaviz.backend.local import LocalBackend
from areaviz.cards.card import Card
from areaviz.lab.tables import format_markdown_row, replace_marked
from areaviz.measures.pointing import Box
from areaviz.media.pictures import decode_picture
from areaviz.samples.dataset import FUNCTION_WORDS
from areaviz.samples.own_media import PHOTOS, get_picture_sample
from areaviz.samples.paths import CHECKPOINTS, ROOT
from areaviz.trace.request import Picture, Request
from tests.lit_places import lit_places

PATH, MARK = ROOT / "docs" / "photos.md", "photos"
SITE = "encoder-decoder"
MODELS = ("photo-captions-regular", "photo-captions-area", "photo-captions-area-told")
SURFACES = ("coins", "brick", "grass", "moon")
"""Photographs of scikit-image, free of known copyright restrictions, that show only a surface."""
EVERYWHERE = (0.0, 0.0, 1.0, 1.0)
HAT, UNIFORM = (0.27, 0.03, 0.73, 0.3), (0.04, 0.5, 1.0, 1.0)
SUIT, COAT, CAMERAMAN = (0.05, 0.3, 0.7, 1.0), (0.0, 0.22, 0.6, 0.75), (0.0, 0.13, 0.56, 1.0)
THINGS: Mapping[str, Mapping[str, Sequence[Box]]] = {
    "hopper": {
        "black": [HAT, UNIFORM],
        "shirt": [UNIFORM],
        "hat": [HAT],
        "wearing": [(0.05, 0.03, 1.0, 1.0)],
    },
    "astronaut": {"shirt": [SUIT], "jacket": [SUIT], "holding": [SUIT]},
    "cat": {"looking": [(0.1, 0.0, 0.85, 1.0)]},
    "photographer": {
        "man": [CAMERAMAN],
        "black": [COAT],
        "shirt": [COAT],
        "standing": [CAMERAMAN],
        "looking": [CAMERAMAN],
        "camera": [(0.47, 0.25, 0.65, 0.4)],
    },
    "coffee": {},
    "rocket": {},
    "coins": {},
    "brick": {"street": [EVERYWHERE]},
    "grass": {"field": [EVERYWHERE]},
    "moon": {},
}
"""For each photograph, the boxes of every caption word that names something in it."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A caption with the numbers of its content words, of those in the picture, and right areas."""

    photo: str
    model: str
    caption: str
    words: int
    named: int
    lit: int
    middle: int

    @property
    def row(self) -> str:
        """A row of the table."""
        counts = f"{self.named} of {self.words} | {self.lit} | {self.middle}"
        return f"| {self.photo} | `{self.model}` | {self.caption} | {counts} |"


def picture(name: str) -> Picture:
    """Return one of the ten photographs."""
    if name in PHOTOS:
        return get_picture_sample(name)
    file = distribution("scikit-image").locate_file(f"skimage/data/{name}.png")
    return decode_picture(Path(str(file)).read_bytes()).picture


def judge(backend: LocalBackend, photo: str, model: str) -> Judged:
    """Describe a photograph greedily and judge the caption with the boxes drawn by hand."""
    trace = backend.trace(Request(model, "", picture=picture(photo)))
    target, attention = trace.fields["target"], trace.maps[SITE]
    place = backend.models()[model].pointing_head
    assert place is not None
    content = {}
    for number, label in enumerate(target.labels[: len(target.labels) - 1]):
        if label not in FUNCTION_WORDS:
            content[number] = label
    boxes = {n: THINGS[photo][word] for n, word in content.items() if word in THINGS[photo]}
    made = partial(Judged, photo, model, target.raw, len(content), len(boxes))
    if not boxes:
        return made(0, 0)
    found = lit_places(attention, *place, boxes)
    return made(found.right, found.middle)


def table(backend: LocalBackend) -> Iterator[str]:
    """Yield the lines of the table, its sums, and the figures of the test set."""
    yield "| Photo | Model | Caption | Words in the picture | Lit right | Middle |"
    yield "| --- | --- | --- | --: | --: | --: |"
    judged = [judge(backend, photo, model) for photo in THINGS for model in MODELS]
    yield from (one.row for one in judged)
    yield ""
    heads = ["Model", "Words in the picture", "Lit right", "Middle", "Test: right", "Test: middle"]
    yield format_markdown_row(heads)
    yield "| --- | --: | --: | --: | --: | --: |"
    for model in MODELS:
        own = [one for one in judged if one.model == model]
        named, words = sum(one.named for one in own), sum(one.words for one in own)
        lit, middle = sum(one.lit for one in own), sum(one.middle for one in own)
        shares = _test(backend.models()[model])
        yield f"| `{model}` | {named} of {words} | {lit} | {middle} | {shares} |"


def _test(card: Card) -> str:
    found = card.attention[f"{SITE}, test"]
    return f"{found['pointing']:.1%} | {found['pointing_middle']:.1%}"


def document(text: str) -> str:
    """Return the text of docs/photos.md with a new table."""
    backend = LocalBackend(CHECKPOINTS, "cpu", ())
    return replace_marked(text, MARK, list(table(backend)))


if __name__ == "__main__":
    PATH.write_text(document(PATH.read_text(encoding="utf-8")), encoding="utf-8")
