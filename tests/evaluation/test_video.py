"""Figures of a watcher, compared with values that a reader of the clips would count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
import pytest
import torch

from areaviz.cards.tasks import TASKS
from areaviz.lab.measure import Options
from areaviz.lab.sentences import run_tokenizer
from areaviz.lab.tasks import EVALUATIONS
from areaviz.lab.tasks import clips as video
from areaviz.lab.tasks.clips import (
    compute_word_accuracy,
    draw_clips,
    evaluate_video,
    find_usual_frames,
    measure_clip_attention,
    trace_given_sentences,
)
from areaviz.models.clips import VideoCaptioner, WatcherConfig
from areaviz.models.generation import GenerationModel
from areaviz.models.recording import make_clip_field
from areaviz.models.recurrent import RECURRENT_SITE
from areaviz.samples.digits import CLIP_FRAMES, CLIP_SIDE, MovingDigit, Window
from areaviz.samples.own_media import make_clip
from areaviz.trace.areas import Area, AreaGrid
from areaviz.trace.record import AttentionMap, Field, Output, Trace
from areaviz.trace.request import Request
from tests.pages import folder

BLANK = np.zeros((CLIP_FRAMES, CLIP_SIDE, CLIP_SIDE), np.uint8)
WINDOWS = ((1, 5), (9, 12))
LEFT_GROWS = MovingDigit(BLANK, 3, ("moves left", "grows"), WINDOWS)
TURNS_UP = MovingDigit(BLANK, 8, ("turns right", "moves up"), ((2, 5), (7, 12)))
CLIPS = [LEFT_GROWS, TURNS_UP]


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("CLIPS", 5), ("EACH", 1), ("KNOWN", 6)):
        monkeypatch.setattr(video, name, value)


class Eye:
    """A watcher that attends to given areas for words of an action, and else to the first frame.

    Args:
        clips: the clips that it watches, in turn.
        where: gives the area that it attends to for an action of these frames.
        untrained: the network before training.
    """

    card = folder.card("watcher", "area")

    def __init__(self, clips: Sequence[MovingDigit], where: Any, untrained: Eye | None = None):
        self.where, self._untrained = where, untrained or self
        self.clips = {clip.text: clip for clip in clips}
        self.asked: list[Request] = []

    def make_untrained(self) -> Eye:
        return self._untrained

    def trace(self, requests: Sequence[Request]) -> list[Trace]:
        self.asked += requests
        return [self._look(request) for request in requests]

    def _look(self, request: Request) -> Trace:
        assert request.clip is not None and request.target is not None
        words = request.target.split()
        anchors = np.zeros((len(words), 2), np.int64)
        target = Field("target", "text", request.target, tuple(words), anchors)
        grid = AreaGrid(1, CLIP_FRAMES, 1, 5)
        weights = np.zeros((1, 1, len(words), grid.count), np.float32)
        for row, window in enumerate(self.clips[request.target].gold()):
            first, behind = (0, 1) if window is None else self.where(window)
            weights[0, 0, row, grid.index(Area(0, first, 1, behind - first))] = 1.0
        attention = AttentionMap(RECURRENT_SITE, "target", "clip", grid, weights)
        fields = {"target": target, "clip": make_clip_field(request.clip, CLIP_FRAMES)}
        likely = np.ones(len(words), np.float32)
        result = Output("target", likely, tuple(((word, 1.0),) for word in words))
        return Trace(request, fields, result, {RECURRENT_SITE: attention})


def at(window: Window) -> Window:
    return window


def behind(window: Window) -> Window:
    return (window[1], window[1] + 1)


def beginning(window: Window) -> Window:
    return (window[0], window[0] + 1)


def figures(eye: Eye, clips: Sequence[MovingDigit] = CLIPS) -> dict[str, float]:
    traced = trace_given_sentences(eye, clips)  # type: ignore[arg-type]
    raw = trace_given_sentences(eye.make_untrained(), clips)  # type: ignore[arg-type]
    return measure_clip_attention(clips, traced, raw)


def test_action_words_are_counted_at_their_position() -> None:
    right = [clip.text for clip in CLIPS]
    assert compute_word_accuracy(right, CLIPS) == 1.0
    # Of "three", "moves", "left" and "grows", all but "left" are right. In the second clip, the
    # five words "eight", "turns", "right", "moves" and "up" are right.
    assert compute_word_accuracy(["the three moves right and then grows", right[1]], CLIPS) == 8 / 9
    # Function words do not count. Words that are missing or misplaced are wrong.
    assert compute_word_accuracy(["a three moves left or so grows", right[1]], CLIPS) == 1.0
    assert compute_word_accuracy(["the three grows and then moves left", right[1]], CLIPS) == 6 / 9
    assert compute_word_accuracy(["the three", ""], CLIPS) == 1 / 9
    assert compute_word_accuracy(["", f"{right[1]} and then grows"], CLIPS) == 5 / 9


def test_usual_frame_is_most_often_in_an_action() -> None:
    # The first action has 1-4 and 2-4: 2 is the first frame that occurs twice. Next are 9-11 and
    # 7-11.
    assert find_usual_frames(CLIPS) == (2, 9)
    third = replace(LEFT_GROWS, windows=((4, 7), (11, 14)))
    assert find_usual_frames([*CLIPS, third]) == (4, 11)


def test_exact_attention_hits_and_clip_blind_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(video, "draw_clips", lambda *_: CLIPS)
    found = figures(Eye(CLIPS, at, Eye(CLIPS, behind)))
    for name in ("peak", "first", "area", "multi_share"):
        assert found[name] == 1.0
    assert found["peak_untrained"] == 0.0 and found["clips"] == 2
    # By hand: two words of 4 frames and one of 3; two of 3 and two of 5.
    assert found["peak_uniform"] == pytest.approx(np.mean([11 / 48, 16 / 64]))
    # The usual frames, 2 and 9, are inside all these actions.
    assert found["peak_position"] == 1.0
    for clip in CLIPS:
        later = replace(clip, windows=((6, 8), (12, 15)))
        assert figures(Eye([later], at), [later])["peak_position"] == 0.0


def test_attention_outside_every_action_never_hits() -> None:
    found = figures(Eye(CLIPS, behind))
    for name in ("peak", "first", "area", "multi_share"):
        assert found[name] == 0.0


@pytest.mark.parametrize(
    ("where", "peak", "first", "area"),
    [
        # All frames of an area have equal shares, so its peak is its middle.
        (lambda start, end: (start, end + 1), 1.0, 1.0, 0.0),
        (lambda start, end: (start - 1, end - 1), 1.0, 0.0, 0.0),
        (lambda start, end: (start - 1, start + 1), 0.0, 0.0, 0.0),
        (lambda start, end: (end - 1, end + 1), 0.0, 1.0, 0.0),
        (lambda start, end: (start + 1, end), 1.0, 1.0, 1.0),
    ],
)
def test_area_hits_by_middle_start_or_whole(
    where: Any, peak: float, first: float, area: float
) -> None:
    found = figures(Eye(CLIPS, lambda window: where(*window)), [LEFT_GROWS])
    assert (found["peak"], found["first"], found["area"]) == (peak, first, area)
    assert found["multi_share"] == 1.0


def test_bits_measure_dependence_on_the_word() -> None:
    """Check seven words that attend to three frames: four to the first, two and one elsewhere."""
    found = figures(Eye(CLIPS, beginning, Eye(CLIPS, lambda _: (0, 1))), [LEFT_GROWS])
    shares = np.array([4, 2, 1]) / 7
    assert found["dependence"] == pytest.approx(-(shares * np.log2(shares)).sum(), abs=1e-5)
    assert found["dependence_untrained"] == pytest.approx(0.0, abs=1e-6)
    assert found["dependence"] < found["dependence_diagonal"] <= np.log2(7) + 1e-6


def test_right_sentence_is_given() -> None:
    eye = Eye(CLIPS, at)
    figures(eye)
    assert [request.target for request in eye.asked[:2]] == [clip.text for clip in CLIPS]
    assert eye.asked[0].clip == make_clip("drawn", LEFT_GROWS) and eye.asked[0].model == "watcher"


def test_splits_differ_and_are_equal_for_models() -> None:
    one, again, other = draw_clips("val", 4), draw_clips("val", 4), draw_clips("test", 4)
    for clip, twin in zip(one, again, strict=True):
        assert np.array_equal(clip.frames, twin.frames) and clip.windows == twin.windows
    assert [clip.text for clip in one] != [clip.text for clip in other]


def untrained_model(path: Path, **options: Any) -> GenerationModel:
    texts = [clip.text for clip in draw_clips("val", 40)]
    tokenizer = run_tokenizer(path / "tokens.model", texts, 60)
    torch.manual_seed(0)
    config = WatcherConfig(len(tokenizer), side=16, width=16, area_size=3, **options)
    card = replace(folder.card("watcher", "area"), task="video", family="watcher")
    card = replace(card, level="word", config=asdict(config))
    return GenerationModel(card, tokenizer, VideoCaptioner(config).eval())


def test_untrained_model_is_measured(tmp_path: Path) -> None:
    model = untrained_model(tmp_path)
    found = evaluate_video(model, tmp_path, "test", Options(beam=2, traces=2))
    assert set(found.figures) == {"words", "right", "clips"} and found.figures["clips"] == 5
    clips = draw_clips("test", 5)
    requests = [Request("watcher", "", "beam", 2, clip=make_clip("drawn", c)) for c in clips]
    assert list(found.outputs) == model.generate_outputs(requests)
    assert found.figures["words"] == compute_word_accuracy(found.outputs, clips) < 0.5
    assert found.figures["right"] == 0.0
    measured = found.attention[f"{RECURRENT_SITE}, test"]
    traced = trace_given_sentences(model, clips[:2])
    assert measured == measure_clip_attention(clips[:2], traced, traced) and measured["clips"] == 2
    # The network is its own baseline, because the untrained network has the same seed.
    assert measured["peak"] == measured["peak_untrained"]
    assert measured["dependence"] == measured["dependence_untrained"]
    for name, value in measured.items():
        assert name == "clips" or 0.0 <= value <= 4.0


def test_missing_attention_or_traces_measure_no_attention(tmp_path: Path) -> None:
    blind = evaluate_video(untrained_model(tmp_path, attends=False), tmp_path, "val", Options(1, 2))
    assert blind.attention == {} and len(blind.outputs) == 5
    model = untrained_model(tmp_path)
    assert evaluate_video(model, tmp_path, "val", Options(1, traces=0)).attention == {}


def test_accuracy_is_the_share_of_whole_sentences(tmp_path: Path) -> None:
    class Writer:
        card = folder.card("watcher", "none")
        network = type("Network", (), {"config": type("Config", (), {"layers": 0})})

        def generate_outputs(self, requests: Sequence[Request]) -> list[str]:
            texts = [clip.text for clip in draw_clips("val", 5)]
            return [*texts[:3], f"{texts[3]} and", ""]

    found = evaluate_video(Writer(), tmp_path, "val", Options())  # type: ignore[arg-type]
    assert found.figures["right"] == 0.6
    # An additional word at the end is not a wrong word, but makes the sentence wrong.
    assert 0.7 < found.figures["words"] < 0.9


def test_video_task_is_measured() -> None:
    task = TASKS["video"]
    assert resolve_name(EVALUATIONS["video"]) is evaluate_video
    assert set(task.splits) <= set(video.SEEDS)
