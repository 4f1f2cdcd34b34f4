"""Evaluation of memory networks on held-out questions, for the figures of their cards.

Shapes: B questions, M facts, K hops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from areaviz.data.babi import read_questions
from areaviz.evaluation.measure import Measured, Options
from areaviz.models.stories import (
    AnsweringModel,
    MemoryNetwork,
    Question,
    QuestionLibrary,
    iterate_batches,
)


@dataclass(slots=True)
class Readings:
    """The results of a network, by the number of the question."""

    # True if the answer is right.
    right: dict[int, bool] = field(default_factory=dict)
    # Weights of the facts that were read, float [K, M].
    weights: dict[int, Tensor] = field(default_factory=dict)


def evaluate_questions(model: AnsweringModel, data: Path, split: str, _: Options) -> Measured:
    """Measure a memory network on "val" or "test" of bAbI, over all tasks."""
    questions = read_questions(data, split)
    found = answer_questions(model.network, questions, model.device)
    shares: dict[int, list[bool]] = {}
    for number, question in enumerate(questions):
        shares.setdefault(question.task, []).append(found.right[number])
    figures = {f"qa{task}": sum(one) / len(one) for task, one in sorted(shares.items())}
    right = sum(figures.values()) / len(figures)
    known = read_questions(data, "val")
    attention = measure_attention(model, known, questions, found)
    counted = {"right": right, **figures, "questions": len(questions)}
    return Measured(counted, {f"hops, {split}": attention})


@torch.inference_mode()
def answer_questions(
    network: MemoryNetwork, questions: Sequence[Question], device: torch.device
) -> Readings:
    """Answer questions and return whether each is right, with the weights of the facts."""
    library, found = QuestionLibrary.from_questions(questions, network.config), Readings()
    for chosen, batch in iterate_batches(library, device):
        run = network(batch.facts_BM2V, batch.age_BM, batch.question_B2V)
        right_B = (run.logits_BA.argmax(1) == batch.answer_B).tolist()
        weights_BKM = torch.stack(run.weights, 1).cpu()
        for row, number in enumerate(chosen):
            facts = len(library.facts[number])
            found.right[number] = right_B[row]
            found.weights[number] = weights_BKM[row, :, :facts]
    return found


def measure_attention(
    model: AnsweringModel,
    known: Sequence[Question],
    questions: Sequence[Question],
    found: Readings,
) -> dict[str, float]:
    """Return how often a hop's heaviest fact is a gold fact of the corpus.

    "hit, hop k" is that share. "hit" is the share of gold facts that are the heaviest of some hop.
    It is compared with three baselines: distinct random facts, one per hop, the facts with the
    largest mean weight of their age over `known`, and the untrained network. "change with the
    question" is the distance of the weights from those under another question about the same facts.
    It is 0 for equal weights and 1 for weights that share no fact.
    """
    hops, device = model.network.config.hops, model.device
    gold = [_find_latest_gold_facts(one, model.network.config.most_facts) for one in questions]
    before = answer_questions(model.make_untrained().network, questions, device)
    ages_KM = _average_weight_by_age(
        answer_questions(model.network, known, device), model.network.config.most_facts
    )
    by_age = {
        number: _expand_weights_by_age(ages_KM, one.shape[1])
        for number, one in found.weights.items()
    }
    figures = {}
    for hop in range(hops):
        tops = {number: one[hop].argmax() for number, one in found.weights.items()}
        figures[f"hit, hop {hop + 1}"] = float(
            np.mean([int(tops[number]) in gold[number] for number in tops if gold[number]])
        )
    figures["hit"] = compute_covered_share(found.weights, gold)
    figures["hit_uniform"] = _compute_random_share(found.weights, gold)
    figures["hit_position"] = compute_covered_share(by_age, gold)
    figures["hit_untrained"] = compute_covered_share(before.weights, gold)
    figures["change with the question"] = _measure_change(model, questions, found)
    return figures


def compute_covered_share(weights: dict[int, Tensor], gold: Sequence[set[int]]) -> float:
    """Return the mean share of a question's gold facts that are the heaviest of some hop."""
    shares = []
    for number, weights_KM in weights.items():
        if gold[number]:
            read = set(weights_KM.argmax(1).tolist())
            shares.append(len(read & gold[number]) / len(gold[number]))
    return float(np.mean(shares))


def _compute_random_share(weights: dict[int, Tensor], gold: Sequence[set[int]]) -> float:
    """Return the value of `compute_covered_share` if the hops read distinct random facts."""
    shares = []
    for number, weights_KM in weights.items():
        if gold[number]:
            hops, facts = weights_KM.shape
            shares.append(min(1.0, hops / facts))
    return float(np.mean(shares))


def _find_latest_gold_facts(question: Question, most: int) -> set[int]:
    """Return the gold facts among the latest `most` facts, counted from the first of these."""
    dropped = max(0, len(question.facts) - most)
    return {fact - dropped for fact in question.gold if fact >= dropped}


def _average_weight_by_age(found: Readings, most: int) -> Tensor:
    """Return the mean weight of facts of each age in every hop, the latest first: [K, most]."""
    hops = next(iter(found.weights.values())).shape[0]
    totals_KM, counts_M = torch.zeros(hops, most), torch.zeros(most)
    for weights_KM in found.weights.values():
        facts = weights_KM.shape[1]
        totals_KM[:, :facts] += weights_KM.flip(1)
        counts_M[:facts] += 1
    return totals_KM / counts_M.clamp_min(1)


def _expand_weights_by_age(ages_KM: Tensor, facts: int) -> Tensor:
    """Return the weights of `facts` facts if only their age counted, the oldest fact first."""
    return ages_KM[:, :facts].flip(1)


def _measure_change(model: AnsweringModel, questions: Sequence[Question], found: Readings) -> float:
    """Return the mean distance of weights from those for the next question on the same facts."""
    swapped = []
    for one, other in zip(questions, (*questions[1:], questions[0]), strict=True):
        swapped.append(replace(one, text=other.text))
    under = answer_questions(model.network, swapped, model.device)
    apart = []
    for number, (one, other) in enumerate(zip(questions, swapped, strict=True)):
        if one.text != other.text:
            difference_KM = found.weights[number] - under.weights[number]
            apart.append(float(difference_KM.abs().sum(1).mean()) / 2)
    return float(np.mean(apart))
