"""A pointer network compared with its equations, and its decoding with its weights."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from areaviz.attention.interventions import NetworkInterventions
from areaviz.models.decoding import greedy_search
from areaviz.models.points import (
    SITES,
    PointerConfig,
    PointerNetwork,
    PointerStepper,
    make_invalid_choices_mask,
)
from areaviz.trace.changes import Hide, Weigh


def network(kind: str, seed: int = 0) -> PointerNetwork:
    torch.manual_seed(seed)
    return PointerNetwork(PointerConfig(kind, width=8)).eval()


def slow_weights(net: PointerNetwork, points: torch.Tensor, answer: list[int]) -> list[np.ndarray]:
    """Compute Eq. 3 of Vinyals et al. 2015 for one set, one point and one step at a time."""
    items, (hidden, cell) = net.reader(points[None])
    state = (
        torch.tanh(net.hidden(torch.cat([hidden[0], hidden[1]], 1)))[None],
        net.cell(torch.cat([cell[0], cell[1]], 1))[None],
    )
    fed: torch.Tensor = net.begin
    found: list[np.ndarray] = []
    passed: list[int] = []
    for choice in answer:
        out, state = net.writer(fed[None, None], state)
        scores = torch.full((len(points),), -torch.inf)
        for j in range(len(points)):
            closes = bool(passed) and j == passed[0]
            may_close = len(passed) >= net.config.count_required_points(len(points))
            if j not in passed or (closes and may_close):
                mixed = torch.tanh(net.key(items[0, j]) + net.query(out[0, 0]))
                scores[j] = net.score(mixed)[0]
        found.append(F.softmax(scores, 0).detach().numpy())
        passed.append(choice)
        fed = points[choice]
    return found


@pytest.mark.parametrize(("kind", "answer"), [("hull", [0, 2, 4, 0]), ("tour", [1, 0, 4, 3, 2, 1])])
def test_weights_follow_the_equations(kind: str, answer: list[int]) -> None:
    net, points = network(kind), torch.rand(5, 2)
    fast = net(points[None], torch.tensor([answer]))[0].exp().detach().numpy()
    np.testing.assert_allclose(fast, slow_weights(net, points, answer), atol=1e-6)


@pytest.mark.parametrize("kind", ["hull", "tour"])
def test_decoding_chooses_by_the_weights_of_the_pass(kind: str) -> None:
    net, points = network(kind, 3), torch.rand(4, 6, 2)
    found = greedy_search(PointerStepper(net, net.encode(points), 1), 6, 6, [7] * 4)
    for row, one in enumerate(found):
        assert one.finished
        passed = [place for place in one.ids if place < 6]
        assert len(set(passed)) == len(passed) >= net.config.count_required_points(6)
        answer = torch.tensor([[*passed, passed[0]]])
        log = net(points[row : row + 1], answer)[0]
        assert log.argmax(1).tolist() == answer[0].tolist()
        assert log.max(1).values.sum().item() == pytest.approx(one.log_probability, abs=1e-4)


def test_hull_closes_early_and_tour_visits_all_points() -> None:
    answer = torch.tensor([[2, 0, 1, 3, 2]])
    may = {
        kind: (~make_invalid_choices_mask(answer, 4, PointerConfig(kind)))[0, :, 2].tolist()
        for kind in ("hull", "tour")
    }
    assert may["hull"] == [True, False, False, True, True]
    assert may["tour"] == [True, False, False, False, True]


def test_changes_multiply_weights_and_hidden_points_get_none() -> None:
    net, points = network("hull"), torch.rand(1, 5, 2)
    answer = torch.tensor([[0, 1, 2, 0]])
    before = net(points, answer).exp()[0]
    changed = NetworkInterventions.from_changes([Weigh("pointer", (3,), factor=2.0)], SITES, 1)
    expected = before * torch.tensor([1.0, 1, 1, 2, 1])
    torch.testing.assert_close(
        net(points, answer, changed).exp()[0], expected / expected.sum(1, keepdim=True)
    )
    hidden = NetworkInterventions.from_changes([Hide("points", (3,))], SITES, 1)
    assert (net(points, answer, hidden).exp()[0, :, 3] == 0).all()
