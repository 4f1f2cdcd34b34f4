"""The speech recogniser: one pass equals its steps, and padding changes nothing."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from areaviz.attention.additive import SCORINGS
from areaviz.attention.interventions import NetworkInterventions
from areaviz.media.sounds import WINDOW
from areaviz.models.network import compute_token_log_probabilities
from areaviz.models.recording import make_sound_field
from areaviz.models.recurrent import RECURRENT_SITE
from areaviz.models.speech import (
    FRAMES_PER_ITEM,
    SAMPLES_PER_ITEM,
    ListenerConfig,
    SpeechRecognizer,
)
from areaviz.models.tokenizer import START
from areaviz.trace.changes import Gate, Hide, Share
from areaviz.trace.errors import InputError
from areaviz.trace.request import Sound

VOCABULARY, BANDS = 9, 6


def listener(scoring: str = "hybrid") -> SpeechRecognizer:
    torch.manual_seed(5)
    config = ListenerConfig(VOCABULARY, scoring, BANDS, width=8, filters=2, reach=2)
    return SpeechRecognizer(config).eval()


def sound(frames: int = 22, seed: int = 1) -> torch.Tensor:
    return torch.randn(1, frames, BANDS, generator=torch.Generator().manual_seed(seed))


TARGET = torch.tensor([[START, 5, 6, 7]])


@pytest.mark.parametrize("scoring", SCORINGS)
@pytest.mark.parametrize("changes", [(), (Share(RECURRENT_SITE, 2.0, True, 2),)])
def test_steps_equal_the_whole_pass(scoring: str, changes: tuple[Share, ...]) -> None:
    network = listener(scoring)
    changed = NetworkInterventions.from_changes(changes, network.sites, 1)
    with torch.no_grad():
        logits = network.attend(sound(), TARGET, changed=changed).logits
        wanted = compute_token_log_probabilities(logits)
        stepper = network.write(sound(), changed=changed)
        # The sentence has two beams. The tokens of the second beam must not affect the first.
        for time in range(4):
            both = torch.tensor([int(TARGET[0, time]), START])
            found = stepper.step(both)
            torch.testing.assert_close(found[0], wanted[0, time], atol=1e-5, rtol=1e-5)
            if time == 1:
                stepper.select(torch.tensor([0, 0]))


def test_padding_changes_nothing() -> None:
    network = listener()
    padded = torch.full((2, 40, BANDS), torch.nan)
    padded[0, :22], padded[1] = sound()[0], sound(40, 2)[0]
    with torch.no_grad():
        alone = network.attend(sound(), TARGET)
        together = network.attend(padded, TARGET.expand(2, -1))
    items = alone.weights[RECURRENT_SITE][0].shape[-1]
    assert items == -(-22 // FRAMES_PER_ITEM)
    weights = together.weights[RECURRENT_SITE][0][0]
    torch.testing.assert_close(together.logits[0], alone.logits[0], atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(
        weights[..., :items], alone.weights[RECURRENT_SITE][0][0], atol=1e-6, rtol=0
    )
    assert weights[..., items:].abs().max() == 0


def test_weights_sum_to_one_and_depend_on_sound() -> None:
    network = listener("content")
    with torch.no_grad():
        one = network.attend(sound(), TARGET).weights[RECURRENT_SITE][0]
        other = network.attend(sound(seed=9), TARGET).weights[RECURRENT_SITE][0]
    torch.testing.assert_close(one.sum(-1), torch.ones(1, 1, 4))
    assert (one - other).abs().max() > 1e-4


def test_hidden_banned_and_gated_items_have_no_effect() -> None:
    network = listener()
    sites = {RECURRENT_SITE: ("target", "sound")}
    with torch.no_grad():
        plain = network.attend(sound(), TARGET)
        hidden = network.attend(
            sound(),
            TARGET,
            changed=NetworkInterventions.from_changes([Hide("sound", (1, 2))], sites, 1),
        )
        closed = network.attend(
            sound(),
            TARGET,
            changed=NetworkInterventions.from_changes(
                [Gate(RECURRENT_SITE, 0, None, 0.0)], sites, 1
            ),
        )
    assert hidden.weights[RECURRENT_SITE][0][..., 1:3].abs().max() == 0
    torch.testing.assert_close(hidden.weights[RECURRENT_SITE][0].sum(-1), torch.ones(1, 1, 4))
    assert (plain.logits - closed.logits).abs().max() > 1e-4


def test_items_of_a_sound_end_with_it() -> None:
    """Check that the last item ends with its last frame, or with the sound if that is sooner."""
    last = 2 * SAMPLES_PER_ITEM + WINDOW
    for samples, end in ((last + 9, last), (last - 9, last - 9)):
        field = make_sound_field(Sound.of("tone", np.zeros(samples, np.int16)), 2)
        assert field.anchors.tolist() == [[0, SAMPLES_PER_ITEM], [SAMPLES_PER_ITEM, end]]


def test_unknown_scoring_and_areas_are_refused() -> None:
    with pytest.raises(InputError, match='"scoring" is "guess"'):
        ListenerConfig(VOCABULARY, "guess")
    config = ListenerConfig(VOCABULARY)
    assert config.with_area_size(1) is config
    with pytest.raises(InputError, match="single items"):
        config.with_area_size(2)
