"""Recurrent writers keep the names of their weights and their outputs from version to version.

The weights are a sine of their position, so no random numbers are involved. The names and the
logits were noted when the writers still had separate code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
import torch
from torch import Tensor

from areaviz.models.clips import VideoCaptioner, WatcherConfig
from areaviz.models.network import GenerationNetwork
from areaviz.models.speech import ListenerConfig, SpeechRecognizer
from areaviz.models.translation import Birnn, BirnnConfig, LstmConfig, LstmTranslator

VOCABULARY, WIDTH = 7, 4
SOURCE, TARGET = torch.tensor([[4, 5, 6, 2], [5, 2, 0, 0]]), torch.tensor([[1, 4, 6], [1, 5, 0]])
FRAMES = torch.linspace(-1, 1, 2 * 9 * 3).reshape(2, 9, 3)
CLIP = (torch.arange(2 * 4 * 8 * 8) % 251).reshape(2, 4, 8, 8).to(torch.uint8)

WRITERS: Mapping[str, tuple[Callable[[], GenerationNetwork], Tensor]] = {
    "lstm": (
        lambda: LstmTranslator(LstmConfig(VOCABULARY, depth=2, width=WIDTH, area_size=2)),
        SOURCE,
    ),
    "birnn": (lambda: Birnn(BirnnConfig(VOCABULARY, width=WIDTH, scoring=3)), SOURCE),
    "birnn, no attention": (
        lambda: Birnn(BirnnConfig(VOCABULARY, attention="none", width=WIDTH)),
        SOURCE,
    ),
    "listener": (
        lambda: SpeechRecognizer(
            ListenerConfig(VOCABULARY, bands=3, width=WIDTH, filters=2, reach=1)
        ),
        FRAMES,
    ),
    "watcher": (
        lambda: VideoCaptioner(
            WatcherConfig(VOCABULARY, frames=4, side=8, width=WIDTH, area_size=2)
        ),
        CLIP,
    ),
    "watcher, no attention": (
        lambda: VideoCaptioner(
            WatcherConfig(VOCABULARY, attends=False, frames=4, side=8, width=WIDTH)
        ),
        CLIP,
    ),
}

EXPECTED: Mapping[str, tuple[str, list[float]]] = {
    "lstm": (
        "embedding encoder decoder start cross hidden_out",
        [0.0573, -0.0583, 0.0524, -0.0406, 0.024, -0.0047, -0.0152],
    ),
    "birnn": (
        "embedding forwards backwards start attention word_gates context_gates hidden_gates"
        " hidden_out context_out",
        [-0.0955, 0.0133, 0.0705, -0.146, 0.2048, -0.2398, 0.2472],
    ),
    "birnn, no attention": (
        "embedding forwards backwards start word_gates context_gates hidden_gates hidden_out"
        " context_out",
        [-0.0547, -0.1987, 0.4292, -0.6101, 0.7205, -0.7476, 0.6883],
    ),
    "listener": (
        "embedding narrow narrower forwards backwards attention cell hidden_out context_out",
        [0.4542, -0.3446, 0.1952, -0.0232, -0.1515, 0.3086, -0.4301],
    ),
    "watcher": (
        "time embedding seeing moving decoder cross hidden_out",
        [-0.4235, 0.4915, -0.5027, 0.4558, -0.3562, 0.2154, -0.0498],
    ),
    "watcher, no attention": (
        "time embedding seeing moving decoder hidden_out",
        [0.4127, -0.4379, 0.4125, -0.3394, 0.2271, -0.0886, -0.0602],
    ),
}
"""The names of the weights in their order, and the logits of the last token."""


def set_weights(network: GenerationNetwork) -> GenerationNetwork:
    with torch.no_grad():
        for number, (_, values) in enumerate(sorted(network.named_parameters())):
            places = torch.arange(values.numel(), dtype=torch.float64)
            values.copy_((places * 0.7 + number).sin().reshape(values.shape) * 0.5)
    return network.eval()


def last_logits(network: GenerationNetwork, seen: Tensor) -> list[float]:
    """Return the logits of the first example's last token."""
    with torch.no_grad():
        logits: Tensor = network.attend(seen, TARGET).logits
    return [round(value, 4) for value in logits[0, -1].tolist()]


def names(network: GenerationNetwork) -> str:
    """Return the first parts of the names of all weights."""
    return " ".join(dict.fromkeys(name.split(".")[0] for name in network.state_dict()))


@pytest.mark.parametrize("name", WRITERS)
def test_writer_keeps_weight_names_and_logits(name: str) -> None:
    make, seen = WRITERS[name]
    network = set_weights(make())
    kept, logits = EXPECTED[name]
    assert names(network) == kept
    assert last_logits(network, seen) == pytest.approx(logits, abs=2e-4)


@pytest.mark.parametrize("name", WRITERS)
def test_writing_token_by_token_gives_the_logits_of_one_pass(name: str) -> None:
    make, seen = WRITERS[name]
    network = set_weights(make())
    with torch.no_grad():
        at_once = network.attend(seen, TARGET).logits
        stepper = network.write(seen)
        for place, ids in enumerate(TARGET.T):
            stepped = stepper.step(ids)
            # The stepper removes padding, start and unknown symbol from the distribution.
            allowed = stepped.isfinite()
            wanted = at_once[:, place].masked_fill(~allowed, -torch.inf).log_softmax(-1)
            torch.testing.assert_close(stepped[allowed], wanted[allowed])
