"""A memory network compared with its equations, fact by fact and word by word."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from areaviz.attention.interventions import NetworkInterventions
from areaviz.models.stories import SITES, MemoryConfig, MemoryNetwork, bag_sentences
from areaviz.trace.changes import Gate, Hide, Weigh

FACTS = [[0, 3, 1], [2, 3, 4, 1], [5], [0, 2]]
QUESTION = [4, 0]


def network(hops: int = 3) -> MemoryNetwork:
    torch.manual_seed(0)
    config = MemoryConfig("abcdef", ("x", "y", "x,y"), width=7, hops=hops, most_facts=6)
    net = MemoryNetwork(config)
    with torch.no_grad():
        for value in net.parameters():
            value.mul_(8)
    return net.eval()


def slow_sentence(table: np.ndarray, sentence: list[int]) -> np.ndarray:
    """Compute the position encoding of Sukhbaatar et al. 2015, section 4.1, with j and k from 1."""
    width, found = table.shape[1], np.zeros(table.shape[1])
    for j, word in enumerate(sentence, start=1):
        for k in range(1, width + 1):
            factor = (1 - j / len(sentence)) - (k / width) * (1 - 2 * j / len(sentence))
            found[k - 1] += factor * table[word, k - 1]
    return found


def slow_hops(net: MemoryNetwork, linear: bool) -> tuple[np.ndarray, list[np.ndarray]]:
    tables, ages = (one.detach().numpy() for one in (net.embeddings, net.ages))
    state, found = slow_sentence(tables[0], QUESTION), []
    for hop in range(net.config.hops):
        old = range(len(FACTS) - 1, -1, -1)
        inside, out = (
            [
                slow_sentence(tables[n], fact) + ages[n, age]
                for fact, age in zip(FACTS, old, strict=True)
            ]
            for n in (hop, hop + 1)
        )
        weights = np.array([one @ state for one in inside])
        if not linear:
            weights = np.exp(weights - weights.max())
            weights /= weights.sum()
        state = state + sum(weight * one for weight, one in zip(weights, out, strict=True))
        found.append(weights)
    return net.answer.detach().numpy() @ state, found


def run(net: MemoryNetwork, **options: object) -> tuple[np.ndarray, list[np.ndarray]]:
    """Run the network on the facts and two empty places, as in a padded batch."""
    padded = torch.cat([bag_sentences(FACTS, 6), torch.rand(2, 2, 6)])[None]
    ages = torch.tensor([[3, 2, 1, 0, -1, -1]])
    found = net(padded, ages, bag_sentences([QUESTION], 6), **options)
    assert all(not weights[0, 4:].any() for weights in found.weights)
    weights = [one[0, :4].detach().numpy() for one in found.weights]
    return found.logits_BA[0].detach().numpy(), weights


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("hops", [1, 3])
def test_network_follows_its_equations(hops: int, linear: bool) -> None:
    net = network(hops)
    logits, weights = run(net, linear=linear)
    slow_logits, slow_weights = slow_hops(net, linear)
    np.testing.assert_allclose(weights, slow_weights, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(logits, slow_logits, rtol=1e-4, atol=1e-4)


def test_facts_of_more_than_the_largest_age_are_as_old_as_the_oldest() -> None:
    net = network()
    facts = bag_sentences([FACTS[0]] * 3, 6)[None]
    found = net.embed_facts(facts, torch.tensor([[9, 5, 4]]), 0)[0].detach()
    assert torch.equal(found[0], found[1]) and not torch.equal(found[1], found[2])


def test_hidden_fact_is_read_in_no_hop() -> None:
    net = network()
    _, before = run(net)
    _, after = run(net, changed=NetworkInterventions.from_changes([Hide("facts", (1,))], SITES, 1))
    assert all(one[1] == 0 for one in after)
    expected = before[0] * [1, 0, 1, 1]
    np.testing.assert_allclose(after[0], expected / expected.sum(), rtol=1e-5)


def test_question_alone_answers_without_readable_facts() -> None:
    net = network()
    alone = slow_sentence(net.embeddings[0].detach().numpy(), QUESTION)
    expected = net.answer.detach().numpy() @ alone
    hidden, weights = run(
        net, changed=NetworkInterventions.from_changes([Hide("facts", (0, 1, 2, 3))], SITES, 1)
    )
    gated, _ = run(net, changed=NetworkInterventions.from_changes([Gate("hops")], SITES, 1))
    np.testing.assert_allclose(hidden, expected, rtol=1e-4)
    np.testing.assert_allclose(gated, expected, rtol=1e-4)
    assert not np.any(weights)


def test_change_of_one_hop_keeps_earlier_hops() -> None:
    net = network()
    _, before = run(net)
    changed = NetworkInterventions.from_changes(
        [Weigh("hops", (0,), factor=3.0, layer=1)], SITES, 1
    )
    _, after = run(net, changed=changed)
    np.testing.assert_allclose(after[0], before[0])
    expected = before[1] * [3, 1, 1, 1]
    np.testing.assert_allclose(after[1], expected / expected.sum(), rtol=1e-5)
