"""The attention of the shipped video captioner depends on what happens in the clip."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from areaviz.cards.card import read_card
from areaviz.cards.tasks import TASKS
from areaviz.models.generation import GenerationModel
from areaviz.samples.digits import DigitBank, MovingDigit, render_actions
from areaviz.samples.own_media import CLIP_SAMPLES, get_clip_sample, make_clip
from areaviz.samples.paths import CHECKPOINTS
from areaviz.trace.areas import FloatArray
from areaviz.trace.changes import Hide
from areaviz.trace.query import item_shares, top_areas
from areaviz.trace.record import Trace
from areaviz.trace.request import Clip, Request

NAME, SITE = "video-both", "encoder-decoder"
SENTENCE = CLIP_SAMPLES["three-left-grows"].text


@pytest.fixture(scope="module")
def watcher() -> GenerationModel:
    folder = CHECKPOINTS / NAME
    return GenerationModel.load(folder, read_card(folder / "card.json"), torch.device("cpu"))


def seen(watcher: GenerationModel, clip: Clip, target: str | None = None) -> Trace:
    return watcher.trace([Request(NAME, "", clip=clip, target=target)])[0]


def weights(trace: Trace) -> FloatArray:
    """Return the attention of every word to each frame."""
    return item_shares(trace.maps[SITE], 0, None)


def middle(trace: Trace, word: int) -> float:
    """Return the middle of a word's top area, whose frames have equal attention."""
    area = top_areas(trace.maps[SITE], 0, None, word, k=1)[0].area
    return area.left + (area.width - 1) / 2


def test_its_page_opens_with_it(watcher: GenerationModel) -> None:
    assert watcher.card.task == "video" and TASKS["video"].opens == NAME
    assert watcher.card.mechanism == "area"


def test_sample_clips_are_described_right(watcher: GenerationModel) -> None:
    right = [
        seen(watcher, get_clip_sample(name)).fields["target"].raw == sample.text
        for name, sample in CLIP_SAMPLES.items()
    ]
    assert sum(right) >= 4


def test_words_of_an_action_attend_to_its_frames(watcher: GenerationModel) -> None:
    hits = []
    for name, sample in CLIP_SAMPLES.items():
        trace = seen(watcher, get_clip_sample(name), sample.text)
        frames = get_clip_sample(name).pixels[..., 0]
        gold = MovingDigit(frames, sample.digit, sample.actions, sample.windows).gold()
        hits.append(
            all(
                window[0] <= middle(trace, word) <= window[1] - 1
                for word, window in enumerate(gold)
                if window is not None
            )
        )
    assert len(hits) == 5 and sum(hits) >= 3


def test_different_and_still_clips_change_the_attention(watcher: GenerationModel) -> None:
    clip = get_clip_sample("three-left-grows")
    plain = weights(seen(watcher, clip, SENTENCE))
    np.testing.assert_array_equal(weights(seen(watcher, clip, SENTENCE)), plain)
    still = clip.pixels[:1].repeat(clip.frames, 0)
    others = [get_clip_sample("eight-shrinks-right"), Clip.of("still", still)]
    for other in others:
        changed = weights(seen(watcher, other, SENTENCE))
        # At least a quarter of the attention of some word for an action moves.
        moved = np.abs(changed - plain)[[2, 3, 6]].sum(1) / 2
        assert moved.max() > 0.25
    assert seen(watcher, others[1]).fields["target"].raw != SENTENCE


def test_delayed_action_delays_the_attention(watcher: GenerationModel) -> None:
    moved: list[float] = []
    for digit, actions in ((2, ("moves up", "shrinks")), (4, ("grows", "turns left"))):
        found = []
        for windows in (((1, 5), (7, 11)), ((5, 9), (11, 15))):
            # The seed gives identical drawings and places.
            rng = np.random.default_rng(3)
            made = render_actions(DigitBank(1, 99), rng, [(digit, actions, windows)])[0]
            trace = seen(watcher, make_clip("drawn", made), made.text)
            words = [word for word, window in enumerate(made.gold()) if window]
            found.append([middle(trace, word) for word in words])
        earlier, later = map(np.array, found)
        moved += (later - earlier).tolist()
    assert min(moved) > 0 and np.median(moved) == pytest.approx(4, abs=1)


def test_hidden_frames_are_unread_and_change_the_text(watcher: GenerationModel) -> None:
    request = Request(NAME, "", clip=get_clip_sample("three-left-grows"), target=SENTENCE)
    first = tuple(range(1, 6))
    changed = replace(request, changes=(Hide("clip", first),))
    plain, hidden = watcher.trace([request])[0], watcher.trace([changed])[0]
    assert weights(hidden)[:, 1:6].max() == 0.0
    # Without the frames of the move, the output does not mention it. The growth is still visible.
    moves, grows = 2, 6
    assert plain.output.probabilities[moves] > 0.5 > hidden.output.probabilities[moves]
    assert hidden.output.probabilities[grows] > 0.5
