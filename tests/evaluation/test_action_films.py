"""Figures of a watcher of people, compared with values that a reader of the films would count."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from areaviz.lab.measure import Options
from areaviz.lab.sentences import run_tokenizer
from areaviz.lab.tasks import clips as evaluation
from areaviz.lab.tasks.clips import (
    ActionClassifier,
    evaluate_video,
    find_next_of_another_action,
    measure_film_attention,
    read_films,
    read_frames,
    score_sentences,
)
from areaviz.models.clips import VideoCaptioner, WatcherConfig
from areaviz.models.generation import GenerationModel
from areaviz.models.recurrent import RECURRENT_SITE
from areaviz.trace.areas import FloatArray
from areaviz.trace.changes import Hide
from areaviz.trace.query import item_shares
from areaviz.trace.request import Clip, Request
from tests import films
from tests.pages import folder


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return films.write(tmp_path_factory.mktemp("data"))


def model(data: Path, path: Path, **options: Any) -> GenerationModel:
    """Return a watcher of people that has learned nothing."""
    texts = [film.text for film in read_films(data, "train")]
    tokenizer = run_tokenizer(path / "tokens.model", texts, 60)
    torch.manual_seed(0)
    sizes: dict[str, Any] = {"frames": 12, "side": 16, "colour": True, "width": 16, "area_size": 2}
    config = WatcherConfig(len(tokenizer), **{**sizes, **options})
    card = replace(folder.card("watcher", "area"), task="video", family="watcher", level="word")
    card = replace(card, config=asdict(config), recipe={**card.recipe, "clips": "people"})
    return GenerationModel(card, tokenizer, VideoCaptioner(config).eval())


def told(data: Path) -> ActionClassifier:
    known = read_films(data, "train")
    return ActionClassifier([film.text for film in known], [film.action for film in known])


def test_own_sentences_of_a_person_are_right(data: Path) -> None:
    asked = read_films(data, "test")
    found = score_sentences([film.text for film in asked], asked, told(data))
    assert found["words"] == found["action"] == 1.0 and found["bleu_4"] == pytest.approx(100)


def test_action_words_count_at_any_position(data: Path) -> None:
    asked = read_films(data, "test")[:2]
    assert [film.text.split()[1] for film in asked] == ["fox", "heron"]
    # The first output matches a fox and a ladder of "a fox is climbing a ladder". The other output
    # matches neither a word nor an action.
    written = ["ladder fox", "the otter is climbing"]
    found = score_sentences(written, asked, told(data))
    assert found["words"] == pytest.approx(2 / 6) and found["action"] == 0.5


def test_other_film_is_next_of_another_action(data: Path) -> None:
    asked = read_films(data, "test")
    assert find_next_of_another_action(asked) == [1, 2, 3, 4, 5, 0]
    alike = [replace(asked[0], action="climb"), replace(asked[1], action="climb")]
    assert find_next_of_another_action([*alike, asked[1]]) == [2, 2, 0]
    assert find_next_of_another_action(alike) == [0, 1]


def test_watcher_is_measured_with_its_baselines(data: Path, tmp_path: Path) -> None:
    watcher = model(data, tmp_path)
    found = evaluate_video(watcher, data, "test", Options(beam=1, traces=4))
    assert found.figures["clips"] == 6 == len(found.outputs)
    assert found.figures["action_reference"] == 1.0
    # The most frequent sentence of training is one of three that each occur at least twice.
    common = score_sentences(
        ["a fox is climbing a ladder"] * 6, read_films(data, "test"), told(data)
    )
    assert found.figures["words_common"] == common["words"]
    asked = read_films(data, "test")
    others = [found.outputs[other] for other in find_next_of_another_action(asked)]
    assert found.figures["words_other"] == score_sentences(others, asked, told(data))["words"]
    assert found.figures["nats"] > 1 and found.figures["nats"] != found.figures["nats_other"]
    assert found.attention[f"{RECURRENT_SITE}, test"]["clips"] == 4
    blind = evaluate_video(model(data, tmp_path, attends=False), data, "val", Options(1, 4))
    assert blind.attention == {} and blind.figures["clips"] == 4


def test_frames_are_removed_in_order_of_attention(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation, "RANDOM_DRAWS", 1)
    watcher, asked = model(data, tmp_path), read_films(data, "val")[:2]
    given = []
    for film, pixels in zip(asked, read_frames(data, asked), strict=True):
        given.append(Request("watcher", "", clip=Clip.of("film", pixels), target=film.text))
    traces = [watcher.trace([one])[0] for one in given]
    found = measure_film_attention(watcher, traces)
    for name, keep in (("fall", slice(-3, None)), ("fall_least", slice(0, 3))):
        falls = []
        for trace in traces:
            shares = item_shares(trace.maps[RECURRENT_SITE], 0, None).mean(0)
            frames = tuple(sorted(np.argsort(shares)[keep].tolist()))
            changed = replace(trace.request, changes=(Hide("clip", frames),))
            after = watcher.trace([changed])[0]
            falls.append(
                _mean_log(trace.output.probabilities) - _mean_log(after.output.probabilities)
            )
        assert found[name] == pytest.approx(np.mean(falls), abs=1e-6)
    assert found["taken"] == 3 and 0 <= found["multi_share"] <= 1


def test_words_unseen_in_training_are_omitted(data: Path, tmp_path: Path) -> None:
    watcher, asked = model(data, tmp_path), read_films(data, "val")[:1]
    (pixels,) = read_frames(data, asked)
    given = Request("watcher", "", clip=Clip.of("film", pixels), target="a zebra is climbing")
    trace = watcher.trace([given])[0]
    assert trace.output.probabilities[1] == 0
    found = measure_film_attention(watcher, [trace])
    assert all(np.isfinite(value) for value in found.values())


def _mean_log(probabilities: FloatArray) -> float:
    return float(np.log(probabilities.astype(np.float64)).mean())
