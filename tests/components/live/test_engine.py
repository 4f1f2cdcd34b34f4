"""The engine of live pages gives what Python gives: outputs, fields and weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from areaviz.cards.card import read_card
from areaviz.live.build import LiveModel
from areaviz.models import MODELS
from areaviz.samples.own_media import get_picture_sample
from areaviz.samples.paths import CHECKPOINTS
from areaviz.trace.areas import Area
from areaviz.trace.changes import Change, Gate, Hide, Weigh
from areaviz.trace.record import Trace
from areaviz.trace.request import Picture, Request
from tests.components.live.node import assert_equal_traces, documents, trace_of
from tests.sampled import sampled

SENTENCES = (
    "Two young men are playing football in a park.",
    "A small dog runs.",
    "  A café　with ﬁve  naïve 狗 and 🐕‍🦺 dogs\tat “night”. ",
    "A woman in a red dress is holding an umbrella while two children, both with hats, look on.",
    "x",
    "Ṩ é́́ ｶﾞ ½ ＡＢＣ …",
)


def traces(model: LiveModel, requests: list[Request]) -> list[tuple[Trace, Trace]]:
    """Return the traces of the engine and of Python, request by request."""
    folder, card = CHECKPOINTS / model.card.name, model.card
    pairs = []
    for request, document in zip(requests, documents(model, requests), strict=True):
        size = request.area_size
        python = MODELS[card.family].load(folder, card, torch.device("cpu"), size)
        pairs.append((trace_of(document), python.trace([request])[0]))
    return pairs


def live(name: str) -> LiveModel:
    folder = CHECKPOINTS / name
    return LiveModel.load(folder, read_card(folder / "card.json"))


@pytest.mark.parametrize(
    "name", sampled(["token-boundary", "char-boundary", "token-regular"], "token-boundary")
)
@pytest.mark.parametrize("method", sampled(["greedy", "beam"], "beam"))
def test_translators_agree_with_python(name: str, method: str) -> None:
    sentences = SENTENCES if name == "token-boundary" else SENTENCES[:2]
    requests = [Request(name, text, method).checked() for text in sentences]
    for found, expected in traces(live(name), requests):
        assert_equal_traces(found, expected)


@pytest.mark.parametrize("name", ["language-model-boundary", "language-model-lstm"])
def test_language_model_agrees_with_python(name: str) -> None:
    changes = (Hide("history", (1, 2)), Weigh("decoder self", items=(3,), factor=4.0, head=1))
    requests = [
        Request(name, "A man in a"),
        Request(name, "Two dogs 狗 are ", "beam", 3),
        Request(name, "A man in a", target=" red shirt is running."),
        Request(name, "A woman smiles.", target=""),
        Request(name, "A man in a", changes=changes),
    ]
    for found, expected in traces(live(name), requests):
        assert_equal_traces(found, expected)


CHANGES: tuple[tuple[Change, ...], ...] = (
    (Weigh("encoder-decoder", items=(2, 3)),),
    (Weigh("encoder-decoder", areas=(Area(0, 1, 1, 3),), factor=4.0, layer=0, head=1),),
    (Weigh("encoder-decoder", items=(0, 1), layer=1, rest=True),),
    (Weigh("encoder self", items=(0,), factor=0.3, query=2),),
    (Gate("decoder self", layer=0, head=2), Gate("encoder-decoder", factor=1.5)),
    (Hide("source", (1, 4)), Weigh("decoder self", items=(0,))),
)


@pytest.mark.parametrize("changes", sampled(CHANGES, CHANGES[0], CHANGES[-1]))
def test_changed_runs_agree_with_python(changes: tuple[Change, ...]) -> None:
    request = Request("token-boundary", SENTENCES[0], "beam", 2, changes=changes)
    ((found, expected),) = traces(live("token-boundary"), [request])
    assert_equal_traces(found, expected)


def test_given_output_and_area_size_agree_with_python() -> None:
    requests = [
        Request("token-boundary", SENTENCES[1], target="Ein Hund läuft."),
        Request("token-boundary", SENTENCES[1], area_size=3),
        Request("token-boundary", SENTENCES[1], area_size=1),
    ]
    for found, expected in traces(live("token-boundary"), requests):
        assert_equal_traces(found, expected)


def test_requests_that_cannot_run_get_a_sentence() -> None:
    requests = [
        Request("token-boundary", "\u200b \u200b"),
        Request("token-boundary", "x " * 2049),
        Request("token-boundary", "A dog.", area_size=9),
    ]
    messages = [one["error"] for one in documents(live("token-boundary"), requests)]
    assert "no visible character" in messages[0]
    assert "4098 characters" in messages[1]
    assert "areas of up to 5 items" in messages[2]


@pytest.mark.parametrize(
    "name",
    sampled(
        ["lstm-boundary", "lstm-regular", "recurrent-additive", "recurrent-none"], "lstm-boundary"
    ),
)
def test_recurrent_translators_agree_with_python(name: str) -> None:
    requests = [
        Request(name, SENTENCES[0]),
        Request(name, SENTENCES[3], "beam", 3),
        Request(name, SENTENCES[1], target="Ein Hund läuft."),
    ]
    for found, expected in traces(live(name), requests):
        assert_equal_traces(found, expected)


@pytest.mark.parametrize("name", sampled(["lstm-boundary", "recurrent-additive"], "lstm-boundary"))
def test_changed_recurrent_runs_agree_with_python(name: str) -> None:
    site = "encoder-decoder"
    changes = (Hide("source", (1,)), Weigh(site, (2,), factor=3.0), Gate(site, factor=0.5))
    request = Request(name, SENTENCES[0], "beam", 2, changes=changes)
    all_hidden = Request(name, SENTENCES[1], changes=(Hide("source", tuple(range(6))),))
    for one in (request, all_hidden):
        ((found, expected),) = traces(live(name), [one])
        assert_equal_traces(found, expected)


@pytest.mark.parametrize(
    "name",
    sampled(["scene-captions-boundary", "scene-captions-regular"], "scene-captions-boundary"),
)
def test_captioners_of_scenes_agree_with_python(name: str) -> None:
    folder = CHECKPOINTS / name
    model = LiveModel.load(folder, read_card(folder / "card.json"), ["captioner"])
    change = Weigh("encoder-decoder", areas=(Area(2, 3, 2, 2),), factor=3.0)
    requests = [
        Request(name, "", "beam", 3, picture=get_picture_sample("scene-1")),
        Request(
            name,
            "",
            picture=get_picture_sample("scene-12"),
            changes=(change, Hide("picture", (9, 10))),
        ),
        Request(name, "", picture=_noise(150, 87)),
    ]
    if name == "scene-captions-regular":
        requests = [replace(one, changes=()) for one in requests]
    for found, expected in traces(model, requests):
        assert_equal_traces(found, expected)


def _noise(width: int, height: int) -> Picture:
    rng = np.random.default_rng(3)
    return Picture.of("noise", rng.integers(0, 256, (height, width, 3), np.uint8))
