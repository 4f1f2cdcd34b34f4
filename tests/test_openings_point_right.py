"""What pages with pictures, sounds and clips open with: right outputs, and areas on the things.

Boxes are those that the scenes were drawn with, and times those of the recordings and clips.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from areaviz.app.examples import EXAMPLES
from areaviz.app.input import FIRST_SAMPLES, FIRST_SAMPLES_OF_TASK
from areaviz.app.options import find_counterpart
from areaviz.backend.local import LocalBackend
from areaviz.cards.tasks import TASKS
from areaviz.measures.pointing import Box
from areaviz.samples import own_media
from areaviz.samples.dataset import GroundedSentence
from areaviz.samples.own_media import find_scene_sample, get_picture_sample, list_picture_names
from areaviz.samples.paths import CHECKPOINTS
from areaviz.samples.scenes import COLOURS, MASK, TIE
from areaviz.trace.record import Trace
from areaviz.trace.request import Request
from tests.lit_places import QUARTER, LitPlaces, lit_places

SITE = "encoder-decoder"
ENOUGH = 0.75
THIRD = 1 / 3
"""The largest share of a clip, whose areas have up to five of 16 frames."""
CAPTIONED = {one.picture for one in EXAMPLES if one.page == "pages/caption.py"}
OFFERED = list_picture_names("scene")[:5]
"""The samples that Caption shows without opening the list."""
(TRANSLATED,) = [one for one in EXAMPLES if one.page == "pages/translate_picture.py"]
"""The example of Translate with a picture."""
HEARD = {one.sound for one in EXAMPLES if one.page == "pages/listen.py"}
WATCHED = {one.clip for one in EXAMPLES if one.page == "pages/watch.py"}
Boxes = Mapping[int, Sequence[Box]]


@pytest.fixture(scope="module")
def backend() -> LocalBackend:
    return LocalBackend(CHECKPOINTS, "cpu", ())


def lit(backend: LocalBackend, trace: Trace, boxes: Boxes, largest: float = QUARTER) -> LitPlaces:
    """Return how many queries are lit right in the head that the page opens with."""
    opening = backend.models()[trace.request.model].opening.get(SITE)
    layer, head = (opening.layer, opening.head) if opening else (0, None)
    return lit_places(trace.maps[SITE], layer, head or 0, boxes, largest)


def true_of(name: str) -> Mapping[str, GroundedSentence]:
    """Return the true sentences of a sample, with the boxes of their words."""
    scene = find_scene_sample(name)
    assert scene is not None
    return scene.list_true_sentences(TIE)


def rows(times: Sequence[tuple[float, float]], whole: float) -> Boxes:
    return {number: [(a / whole, 0.0, b / whole, 1.0)] for number, (a, b) in enumerate(times)}


def test_examples_are_those_verified_here() -> None:
    assert FIRST_SAMPLES["scenes"] in CAPTIONED and all(
        find_scene_sample(name) for name in CAPTIONED
    )
    assert (
        next(iter(own_media.SOUND_SAMPLES)) in HEARD
        and next(iter(own_media.CLIP_SAMPLES)) in WATCHED
    )


@pytest.mark.parametrize("name", sorted(CAPTIONED.union(OFFERED)))
def test_captions_are_right_and_highlight_named_things(backend: LocalBackend, name: str) -> None:
    trace = backend.trace(Request(TASKS["caption"].opens, "", picture=get_picture_sample(name)))
    caption = trace.fields["target"].raw
    found = lit(backend, trace, dict(true_of(name)[caption].boxes))
    assert found.share >= ENOUGH and found.right > found.middle


@pytest.mark.parametrize("name", sorted(CAPTIONED))
def test_captions_of_the_compared_model_are_true(backend: LocalBackend, name: str) -> None:
    cards = {one.name: one for one in backend.models().values() if one.task == "caption"}
    other = find_counterpart(cards[TASKS["caption"].opens], cards)
    assert other is not None
    compared = backend.trace(Request(other.name, "", picture=get_picture_sample(name)))
    assert compared.fields["target"].raw in true_of(name)


@pytest.mark.parametrize(
    ("name", "hidden"),
    [
        (FIRST_SAMPLES_OF_TASK["picture translation"]["scenes"], 2),
        (TRANSLATED.picture, int(TRANSLATED.hidden) - 1),
    ],
)
def test_picture_translations_are_right_and_highlight_named_things(
    backend: LocalBackend, name: str, hidden: int
) -> None:
    """Check the first sample of the page, whose first colour is hidden, and the example."""
    task = "picture translation"
    scene = find_scene_sample(name)
    assert scene is not None
    words = scene.english.text.split()
    assert words[hidden] in COLOURS
    assert name != TRANSLATED.picture or " ".join(words) == TRANSLATED.text
    words[hidden] = MASK
    trace = backend.trace(
        Request(TASKS[task].opens, " ".join(words), picture=get_picture_sample(name))
    )
    assert trace.fields["target"].raw == scene.german.text
    # The German words of this sentence have the order of the English ones.
    site = TRANSLATED.focus.site
    found = lit_places(trace.maps[site], 0, 0, dict(scene.grounded.boxes))
    assert found.share >= ENOUGH and found.right > found.middle


@pytest.mark.parametrize("name", sorted(HEARD))
def test_digits_are_right_and_highlight_their_sounds(backend: LocalBackend, name: str) -> None:
    spoken, sound = own_media.SOUND_SAMPLES[name], own_media.get_sound_sample(name)
    trace = backend.trace(Request(TASKS["speech"].opens, "", sound=sound))
    assert trace.fields["target"].raw.strip() == spoken.text
    times = list(zip(spoken.starts, spoken.ends, strict=True))
    found = lit(backend, trace, rows(times, sound.seconds))
    assert found.share >= ENOUGH and found.right > found.middle


@pytest.mark.parametrize("name", sorted(WATCHED))
def test_actions_are_right_and_highlight_their_frames(backend: LocalBackend, name: str) -> None:
    acted = own_media.CLIP_SAMPLES[name]
    trace = backend.trace(Request(TASKS["video"].opens, "", clip=own_media.get_clip_sample(name)))
    assert trace.fields["target"].raw == acted.text
    words, frames = acted.text.split(), trace.maps[SITE].grid.width
    boxes: dict[int, Sequence[Box]] = {}
    for action, (start, end) in zip(acted.actions, acted.windows, strict=True):
        first = " ".join(words).split(action)[0].count(" ")
        for word in range(first, first + len(action.split())):
            boxes[word] = [(start / frames, 0.0, end / frames, 1.0)]
    found = lit(backend, trace, boxes, THIRD)
    assert found.share >= ENOUGH and found.right > found.middle
