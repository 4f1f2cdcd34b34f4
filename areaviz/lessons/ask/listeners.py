"""Question 10: which of two speech recognisers with equal error rates attends to the spoken digit?

The texts call such a model a listener.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from areaviz.app.run import get_backend
from areaviz.cards.card import Card
from areaviz.draw.pictures import encode_matrix
from areaviz.lessons.ask.question_parts import QuestionData, Texts
from areaviz.measures.references import find_boundary_hits
from areaviz.samples.own_media import SOUND_SAMPLES, get_sound_sample
from areaviz.show.message import SITE
from areaviz.trace.errors import BackendError
from areaviz.trace.record import Trace
from areaviz.trace.request import RATE, Request

SOUND = "digits-repeats"
LISTENERS = ("speech-content", "speech-hybrid")
"""The two models. They differ only in how they score a moment of the recording.

Both write the digits of the recording without an error.
"""


def list_requests() -> list[Request]:
    """Return the requests whose traces the question needs."""
    return [Request(model, "", sound=get_sound_sample(SOUND)) for model in LISTENERS]


def make_question(texts: Texts) -> QuestionData:
    """Ask how often each listener attends to the digit that it writes."""
    traces = [get_backend().trace(request) for request in list_requests()]
    hits = [sum(find_attended_digits(trace)) for trace in traces]
    digits = len(SOUND_SAMPLES[SOUND].text)
    numbers: dict[str, Any] = {
        "names": [texts["content"], texts["hybrid"]],
        "least": 0,
        "most": digits,
        "answer": hits,
        "strips": [_make_strip(trace, texts) for trace in traces],
    }
    words: dict[str, object] = {"digits": digits, "text": " ".join(SOUND_SAMPLES[SOUND].text)}
    for name, card, hit in zip(("content", "hybrid"), _read_cards(), hits, strict=True):
        test = card.figures["test"]
        words[f"{name}_hits"] = hit
        words[f"{name}_error"] = f"{100 * test['error']:.1f}"
        words[f"{name}_share"] = f"{100 * test['hit']:.1f}"
    heard = []
    for trace, strip in zip(traces, numbers["strips"], strict=True):
        heard.append({"name": strip["name"], "weights": _read_weights(trace).round(4).tolist()})
    deep = {
        "text": SOUND_SAMPLES[SOUND].text,
        "listeners": heard,
        "spoken": numbers["strips"][0]["spoken"],
    }
    return QuestionData(numbers, words, deep)


def find_attended_digits(trace: Trace) -> list[bool]:
    """Return for every written digit whether the moment with the largest weight is within it."""
    weights_TM = _read_weights(trace)
    sample = SOUND_SAMPLES[SOUND]
    bounds = [
        (round(RATE * start), round(RATE * end))
        for start, end in zip(sample.starts, sample.ends, strict=True)
    ]
    anchors = trace.fields[trace.maps[SITE].memory].anchors
    return find_boundary_hits(weights_TM, bounds, int(anchors[0][1] - anchors[0][0]))


def _read_weights(trace: Trace) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """Return the weights of M moments for each of T digits: [T, M].

    The output's end is left out.
    """
    weights = np.asarray(trace.maps[SITE].weights[0, 0], dtype=np.float32)
    return weights[: len(SOUND_SAMPLES[SOUND].text)]


def _make_strip(trace: Trace, texts: Texts) -> dict[str, object]:
    """Return a listener's weights as a picture, with the positions of the spoken digits below it.

    Positions are shares of the recording's length.
    """
    weights_TM = _read_weights(trace)
    anchors = trace.fields[trace.maps[SITE].memory].anchors
    length = float(anchors[-1][1]) / RATE
    sample = SOUND_SAMPLES[SOUND]
    spoken = []
    for digit, start, end in zip(sample.text, sample.starts, sample.ends, strict=True):
        spoken.append([digit, start / length, (end - start) / length])
    name = texts["content" if trace.request.model == LISTENERS[0] else "hybrid"]
    return {
        "name": name,
        "alt": texts["strip"].format(listener=name),
        "picture": encode_matrix(weights_TM, float(weights_TM.max())),
        "rows": list(sample.text),
        "spoken": spoken,
        "hits": find_attended_digits(trace),
    }


def _read_cards() -> Sequence[Card]:
    """Return the cards of the two listeners.

    Raises:
        BackendError: One of them is not installed.
    """
    known = get_backend().models()
    missing = [model for model in LISTENERS if model not in known]
    if missing:
        raise BackendError(f"The model {missing[0]} is not installed. Install areaviz again.")
    return [known[model] for model in LISTENERS]
