"""The page explains a weight with the terms that Python finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from areaviz.models import MODELS
from areaviz.samples.own_media import get_picture_sample
from areaviz.samples.paths import CHECKPOINTS
from areaviz.trace.changes import Weigh
from areaviz.trace.request import Focus, Request
from areaviz.views.why import Question, explain, find_heaviest_head, list_candidates
from tests.components.live.node import plain_request, run_node
from tests.components.live.test_engine import live

CROSS = "encoder-decoder"
SENTENCE = "Two young men are playing football in a park."
ASKED = (
    (Request("token-boundary", SENTENCE, "beam"), CROSS, 3, None),
    (
        Request("token-boundary", SENTENCE, changes=(Weigh(CROSS, (5,), factor=4.0),)),
        CROSS,
        2,
        1,
    ),
    (Request("token-regular", SENTENCE), "encoder self", 1, 0),
    (Request("lstm-boundary", SENTENCE), CROSS, 0, None),
    (Request("language-model-boundary", "A man in a blue"), "decoder self", 1, 2),
    (
        Request("scene-captions-boundary", "", picture=get_picture_sample("scene-34")),
        CROSS,
        1,
        None,
    ),
)


def explained(request: Request, questions: list[dict[str, Any]]) -> list[Any]:
    model = live(request.model)
    pieces, weights = model.pieces, model.encoded_weights
    given = {"card": model.plain, "weights": weights, "pieces": pieces, "questions": questions}
    return run_node("explain_weights.mjs", given | {"request": plain_request(request)})


@pytest.mark.parametrize(("request_", "site", "layer", "head"), ASKED)
def test_parts_of_logits_agree_with_python(
    request_: Request, site: str, layer: int, head: int | None
) -> None:
    model = live(request_.model)
    folder, card = CHECKPOINTS / request_.model, model.card
    python = MODELS[card.family].load(folder, card, torch.device("cpu"))
    (trace,) = python.trace([request_])
    logits = python.logits(request_, site, layer)
    queries = range(0, trace.maps[site].weights.shape[2], 3)
    asked = {"site": site, "layer": layer, "head": head, "area": None, "beside": None}
    questions = [asked | {"query": query, "smallest": 1} for query in queries]
    for query, found in zip(queries, explained(request_, questions), strict=True):
        focus = Focus(site, layer, head, items=(query,))
        chosen = find_heaviest_head(trace, focus, query)
        grid = trace.maps[site].grid
        areas = list_candidates(trace, focus, chosen, query)
        assert found["head"] == chosen
        numbers = [one["number"] for one in found["areas"]]
        assert [grid.index(area) for area in areas] == numbers
        compared = [grid.area(one["number"]) for one in found["asked"]]
        question = Question(chosen, query, *compared)
        expected = explain(trace, focus, logits, question)
        for one, other in zip(found["asked"], expected.asked, strict=True):
            assert one["parts"].keys() == other.parts.keys()
            assert np.allclose(list(one["parts"].values()), list(other.parts.values()), atol=5e-5)
            assert one["weight"] == pytest.approx(other.weight, abs=1e-5)
        scores = dict(zip(expected.items, expected.scores, strict=True))
        seen = {item: score for item, score in scores.items() if np.isfinite(score)}
        own = {one["item"]: one["score"] for one in found["items"]}
        assert own == pytest.approx(seen, abs=5e-5)


def test_chosen_pair_of_areas_is_compared() -> None:
    request = Request("token-boundary", SENTENCE, "beam")
    asked = {"site": CROSS, "layer": 0, "head": 0, "query": 2, "area": None, "beside": None}
    (first,) = explained(request, [asked | {"smallest": 2}])
    assert all(one["width"] > 1 for one in first["areas"])
    area, beside = first["areas"][1]["number"], first["others"][3]["number"]
    (second,) = explained(request, [asked | {"smallest": 2, "area": area, "beside": beside}])
    assert [one["number"] for one in second["asked"]] == [area, beside]
