"""The sentences that pages and examples open with: right translations, and areas that are right.

The translations were checked and the words linked by hand, content words only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from areaviz.app.examples import EXAMPLES, SAMPLES
from areaviz.app.page import choose_default_model
from areaviz.backend.local import LocalBackend
from areaviz.samples.dataset import read_links
from areaviz.samples.paths import CHECKPOINTS
from areaviz.trace.request import Request
from tests.lit_words import lit_words

SITE = "encoder-decoder"
LINKED: Mapping[str, tuple[str, str]] = {
    "A black dog runs through the snow with a stick.": (
        "Ein schwarzer Hund rennt mit einem Stock durch den Schnee.",
        "1-1 2-2 3-3 9-6 6-9",
    ),
    "A girl with a red hat plays in the snow.": (
        "Ein Mädchen mit einem roten Hut spielt im Schnee.",
        "1-1 4-4 5-5 6-6 9-8",
    ),
    "A woman in a white hat reads a book on the beach.": (
        "Eine Frau mit einem weißen Hut liest am Strand ein Buch.",
        "1-1 4-4 5-5 6-6 11-8 8-10",
    ),
    "A boy in a blue shirt throws a red ball.": (
        "Ein Junge in einem blauen Hemd wirft einen roten Ball.",
        "1-1 4-4 5-5 6-6 8-8 9-9",
    ),
    "A woman in a black coat stands in front of a red car.": (
        "Eine Frau in einem schwarzen Mantel steht vor einem roten Auto.",
        "1-1 4-4 5-5 6-6 8-7 11-9 12-10",
    ),
    "A man with a black hat sits in front of a building.": (
        "Ein Mann mit einem schwarzen Hut sitzt vor einem Gebäude.",
        "1-1 4-4 5-5 6-6 8-7 11-9",
    ),
    "A big brown dog swims in the water with a stick.": (
        "Ein großer brauner Hund schwimmt mit einem Stock im Wasser.",
        "1-1 2-2 3-3 4-4 10-7 7-9",
    ),
    "A woman in a red dress dances on a stage.": (
        "Eine Frau in einem roten Kleid tanzt auf einer Bühne.",
        "1-1 4-4 5-5 6-6 9-9",
    ),
    "A woman in a green coat waits in front of a bus.": (
        "Eine Frau in einem grünen Mantel wartet vor einem Bus.",
        "1-1 4-4 5-5 6-6 8-7 11-9",
    ),
    "An old man with a white hat plays the guitar on the street.": (
        "Ein alter Mann mit einem weißen Hut spielt auf der Straße Gitarre.",
        "1-1 2-2 5-5 6-6 7-7 12-10 9-11",
    ),
}
"""English sentence -> its German translation, and links from English to German words."""


@pytest.fixture(scope="module")
def backend() -> LocalBackend:
    return LocalBackend(CHECKPOINTS, "cpu", ())


def test_every_offered_sentence_was_linked_by_hand() -> None:
    assert set(SAMPLES) == LINKED.keys()
    assert {one.text for one in EXAMPLES if one.page == "pages/translate.py"} <= LINKED.keys()


@pytest.mark.parametrize("text", SAMPLES)
def test_page_opens_on_a_right_translation_whose_areas_are_right(
    backend: LocalBackend, text: str
) -> None:
    cards = {name: card for name, card in backend.models().items() if card.task == "translation"}
    name = choose_default_model(cards)
    opening = cards[name].opening[SITE]
    assert opening.head is None and opening.layer == EXAMPLES[0].focus.layer
    # All heads are shown, each in its own colour; this one points at whole phrases.
    head = EXAMPLES[0].focus.head
    assert head is not None
    trace = backend.trace(Request(name, text))
    translation, marks = LINKED[text]
    assert trace.fields["target"].raw == translation
    fields = trace.fields["target"], trace.fields["source"]
    links = read_links(text, marks)[0]
    found = lit_words(trace.maps[SITE], opening.layer, head, *fields, links)
    assert found.share >= 0.75 and found.right > found.diagonal


def test_selected_examples_open_in_the_layer_of_the_card(backend: LocalBackend) -> None:
    for one in EXAMPLES:
        if one.page != "pages/translate.py" or one.level or not one.focus.items:
            continue
        opening = backend.models()["token-boundary"].opening[SITE]
        assert (one.focus.layer, one.focus.head) == (opening.layer, EXAMPLES[0].focus.head)
        trace = backend.trace(Request("token-boundary", one.text))
        labels = [trace.fields["target"].labels[item] for item in one.focus.items]
        assert all(re.fullmatch(r"\w{3,}", label) for label in labels)


@pytest.mark.parametrize("model", ["token-regular", "char-boundary"])
def test_examples_of_other_models_are_right_translations(backend: LocalBackend, model: str) -> None:
    level = "character" if model.startswith("char") else ""
    for one in EXAMPLES:
        is_shown = one.level == level and (level or one.compare)
        if one.page == "pages/translate.py" and is_shown:
            trace = backend.trace(Request(model, one.text))
            assert trace.fields["target"].raw == LINKED[one.text][0]
