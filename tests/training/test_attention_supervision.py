"""The supervised loss on areas: values by hand, and a network that learns it."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from areaviz.lab.tasks.captions import (
    MIN_OVERLAP,
    AttentionTargets,
    compute_told_caption_loss,
    compute_told_loss,
)
from areaviz.models.captions import CaptionerConfig, CaptionTransformer
from areaviz.models.tokenizer import Tokenizer, shift_targets
from areaviz.samples.dataset import GroundedSentence
from areaviz.trace.areas import Area, AreaGrid

GRID = AreaGrid(4, 4, 2, 2)
BOX = (0.25, 0.25, 0.75, 0.75)
SENTENCE = GroundedSentence("a red circle", ((1, (BOX,)), (2, (BOX,))))


def words() -> Tokenizer:
    return Tokenizer.train(["a red circle", "a blue square"], "word", 20)


def told() -> AttentionTargets:
    return AttentionTargets.of([SENTENCE], words(), GRID)


def weights_on(area: Area) -> torch.Tensor:
    weights = torch.zeros(1, 4, GRID.count)
    weights[:, :, GRID.index(area)] = 1.0
    return weights


def test_boxed_words_are_supervised_at_their_position() -> None:
    found = told()
    assert found.sentence.tolist() == [0, 0] and found.step.tolist() == [1, 2]
    best = found.overlap.argmax(1).tolist()
    assert [GRID.area(index) for index in best] == [Area(1, 1, 2, 2)] * 2
    assert found.overlap.max() == 1.0


@pytest.mark.parametrize(
    ("area", "relative"),
    [
        (Area(1, 1, 2, 2), 1.0),
        (Area(1, 1, 1, 1), 0.25),
        (Area(0, 0, 2, 2), 1 / 7),
        (Area(3, 3, 1, 1), MIN_OVERLAP),
    ],
)
def test_told_loss_is_relative_overlap_with_best_area(area: Area, relative: float) -> None:
    assert compute_told_loss(weights_on(area), told()).item() == pytest.approx(-math.log(relative))


def test_sentences_without_boxes_have_no_loss() -> None:
    nothing = AttentionTargets.of([GroundedSentence("a red circle", ())], words(), GRID)
    assert compute_told_loss(weights_on(Area(0, 0, 1, 1)), nothing).item() == 0.0
    without_extent = GroundedSentence("a red circle", ((1, ((0.5, 0.5, 0.5, 0.5),)),))
    assert not len(AttentionTargets.of([without_extent], words(), GRID).sentence)


def tiny_captioner() -> CaptionTransformer:
    torch.manual_seed(0)
    options = CaptionerConfig(
        vocabulary=len(words()),
        width=16,
        filter=16,
        heads=2,
        dropout=0.0,
        encoder={"side": 32, "channels": 2},
        grid=4,
        area_size=2,
    )
    return CaptionTransformer(options)


@pytest.mark.parametrize(("layer", "head"), [(0, 1), (1, 0)])
def test_told_loss_uses_the_chosen_layer_and_head(layer: int, head: int) -> None:
    network, features = tiny_captioner(), torch.randn(1, 16, 16)
    captions = torch.tensor([words().ids(SENTENCE.text)])
    _, looked = compute_told_caption_loss(network, features, captions, told(), (layer, head), 0.0)
    run = network.attend(features, shift_targets(captions))
    weights_NTA = run.weights["encoder-decoder"][layer][:, head]
    assert looked.item() == pytest.approx(compute_told_loss(weights_NTA, told()).item())


def test_told_loss_trains_only_the_chosen_head() -> None:
    network = tiny_captioner()
    features, captions = torch.randn(1, 16, 16), torch.tensor([words().ids(SENTENCE.text)] * 2)
    both = AttentionTargets.of([SENTENCE, SENTENCE], words(), GRID)
    optimiser = torch.optim.Adam(network.parameters(), 0.02)
    losses = []
    for _ in range(60):
        said, looked = compute_told_caption_loss(network, features, captions, both, (1, 1), 0.0)
        optimiser.zero_grad()
        (said + looked).backward()
        optimiser.step()
        losses.append(looked.item())
    assert losses[-1] < losses[0] / 2
    run = network.attend(features, torch.tensor([[2, *words().ids(SENTENCE.text)[:-1]]]))
    weights_QA = run.weights["encoder-decoder"][1][0, 1].detach()
    again = compute_told_loss(weights_QA[None], told()).item()
    assert again == pytest.approx(losses[-1], abs=0.2)
    assert np.isfinite(said.item())
