"""Figures of a listener, compared with values that a reader of the strings would count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from areaviz.lab.measure import Options
from areaviz.lab.tasks import speech
from areaviz.lab.tasks.speech import (
    Recordings,
    Utterance,
    compute_hit_share,
    draw_strings,
    evaluate_speech,
    make_sound,
    mean_times,
    measure_attention,
)
from areaviz.trace.request import Request
from tests.pages import folder


def recordings() -> Recordings:
    digits = np.repeat(np.arange(10), 2)
    samples = [np.full(2400 + 160 * int(digit), 0.1, np.float32) for digit in digits]
    return Recordings(samples, digits, np.zeros(20, np.int64))


def ideal(strings: Sequence[Utterance]) -> list[np.ndarray]:
    """Return weights on the middle of every digit."""
    found = []
    for one in strings:
        weights = np.zeros((len(one.text), len(one.samples) // 320 + 1), np.float32)
        for row, (first, behind) in enumerate(one.bounds):
            weights[row, (first + behind) // 2 // 320] = 1.0
        found.append(weights)
    return found


class Ear:
    """A listener that omits the last digit and attends to the middle of every digit."""

    card = folder.card("listener", "item-wise soft")

    def __init__(self, strings: Sequence[Utterance]) -> None:
        self.strings = strings

    def make_untrained(self) -> Ear:
        return self


STRINGS = draw_strings(recordings(), 1, 6, (6, 10), 0.3)


@pytest.fixture
def _looking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speech, "trace_weights", lambda _, strings: ideal(strings))


def test_strings_are_equal_for_every_model() -> None:
    again = draw_strings(recordings(), 1, 6, (6, 10), 0.3)
    assert [one.text for one in STRINGS] == [one.text for one in again]
    assert all(6 <= len(one.text) <= 10 for one in STRINGS)
    assert len(make_sound(STRINGS[0]).samples) == len(STRINGS[0].samples)
    long = draw_strings(recordings(), 1, 40, (12, 14), 0.8)
    repeats = [a == b for one in long for a, b in zip(one.text, one.text[1:], strict=False)]
    assert np.mean(repeats) == pytest.approx(0.82, abs=0.06)


@pytest.mark.usefixtures("_looking")
def test_exact_attention_hits_and_baselines_do_not() -> None:
    weights = ideal(STRINGS)
    assert compute_hit_share(weights, STRINGS) == 1.0
    assert compute_hit_share([one[::-1] for one in weights], STRINGS) < 0.3
    figures = measure_attention(Ear(STRINGS), weights, STRINGS, STRINGS)  # type: ignore[arg-type]
    assert figures["hit"] == 1.0 > figures["hit_diagonal"] > figures["hit_uniform"]
    assert figures["hit_uniform"] == pytest.approx(1 / 8.5, abs=0.05)
    assert figures["dependence"] == pytest.approx(figures["dependence_diagonal"], abs=0.1)
    blind = [np.tile(one[:1], (len(one), 1)) for one in weights]
    same = measure_attention(Ear(STRINGS), blind, STRINGS, STRINGS)  # type: ignore[arg-type]
    assert same["dependence"] == pytest.approx(0.0, abs=1e-6) and same["hit"] < 0.3


def test_mean_time_of_digit_uses_strings_containing_it() -> None:
    times = mean_times(STRINGS)
    assert len(times) == max(len(one.text) for one in STRINGS) and times == sorted(times)
    first = [sum(one.bounds[0]) / 2 for one in STRINGS]
    assert times[0] == pytest.approx(np.mean(first))


@pytest.mark.usefixtures("_looking")
def test_omitted_digit_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setattr(speech, "read_recordings", lambda *_: recordings())
    monkeypatch.setattr(
        speech, "transcribe_strings", lambda _, strings, __: [one.text[:-1] for one in strings]
    )
    monkeypatch.setattr(speech, "STRINGS", 20)
    monkeypatch.setattr(speech, "LONG_STRINGS", 10)
    found = evaluate_speech(Ear(STRINGS), tmp_path, "val", Options())  # type: ignore[arg-type]
    wanted = [one.text for one in draw_strings(recordings(), 2, 20, (6, 10), 0.3)]
    assert found.figures["error"] == pytest.approx(20 / sum(map(len, wanted)))
    assert found.figures["hit"] == found.figures["long_hit"] == 1.0
    assert found.figures["long_error"] < found.figures["error"] and found.figures["strings"] == 20
    assert "hit_untrained" in found.attention["encoder-decoder, val"]
    # One head that is right at its own step is no set, so there is nothing to choose.
    assert not found.opening


@pytest.mark.usefixtures("_looking")
def test_listener_that_attends_one_step_later_opens_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    def late(_: object, strings: Sequence[Utterance]) -> list[np.ndarray]:
        return [np.concatenate([rows[:1], rows]) for rows in ideal(strings)]

    monkeypatch.setattr(speech, "read_recordings", lambda *_: recordings())
    monkeypatch.setattr(
        speech, "transcribe_strings", lambda _, strings, __: [one.text for one in strings]
    )
    monkeypatch.setattr(speech, "trace_weights", late)
    found = evaluate_speech(Ear(STRINGS), tmp_path, "val", Options())  # type: ignore[arg-type]
    best = found.opening["encoder-decoder"].best
    assert best is not None and best.heads == ((0, 0, 1),) and best.opens
    assert best.error == 0.0 < best.error_single
    attention = found.attention["encoder-decoder, val"]
    assert attention["best_hit"] == attention["best_hit_low"] == 1.0
    assert attention["best_hit_diagonal"] == attention["hit_diagonal"]


def test_requests_have_the_sound_and_the_decoding() -> None:
    asked: list[Request] = []

    class Writer:
        card = type("Card", (), {"name": "listener"})

        def generate_outputs(self, requests: Sequence[Request]) -> list[str]:
            asked.extend(requests)
            return [" 12 "] * len(requests)

    written = speech.transcribe_strings(Writer(), STRINGS, Options(beam=1))  # type: ignore[arg-type]
    assert written == ["12"] * 6 and {one.method for one in asked} == {"greedy"}
    assert asked[0].sound == make_sound(STRINGS[0])
