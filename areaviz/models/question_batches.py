"""Questions and their stories in the form that a memory network reads.

Shapes: B questions, M facts, N sentences, V known words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor

from areaviz.data.story_questions import Question, split_sentence
from areaviz.models.memory_network import MemoryConfig, bag_sentences


@dataclass(frozen=True, slots=True)
class QuestionBatch:
    """A batch of questions in the form that the network reads, see `MemoryNetwork.forward`."""

    facts_BM2V: Tensor
    age_BM: Tensor
    question_B2V: Tensor
    answer_B: Tensor
    linear: bool = False


@dataclass(slots=True)
class QuestionLibrary:
    """The distinct sentences of questions as bags, and the questions as indices into them."""

    bags_N2V: Tensor
    facts: list[list[int]]
    questions: list[int]
    answers: list[int]

    @classmethod
    def from_questions(cls, questions: Sequence[Question], config: MemoryConfig) -> Self:
        """Collect the latest facts of each question. Leave out unknown words and answers."""
        word_number = {word: number for number, word in enumerate(config.words)}
        answer_number = {answer: number for number, answer in enumerate(config.answers)}
        known: dict[str, int] = {}
        facts, asked, answers = [], [], []
        for question in questions:
            latest = question.facts[-config.most_facts :]
            facts.append([known.setdefault(fact, len(known)) for fact in latest])
            asked.append(known.setdefault(question.text, len(known)))
            answers.append(answer_number.get(question.answer, -1))
        sentences = []
        for sentence in known:
            words = split_sentence(sentence)
            sentences.append([word_number[word] for word in words if word in word_number])
        return cls(bag_sentences(sentences, len(config.words)), facts, asked, answers)

    def make_batch(self, chosen: Sequence[int], ages: Sequence[Sequence[int]]) -> QuestionBatch:
        """Combine questions into a batch, with the ages of their facts."""
        most = max(len(self.facts[index]) for index in chosen)
        places_BM = torch.zeros(len(chosen), most, dtype=torch.int64)
        age_BM = torch.full_like(places_BM, -1)
        for row, (index, age) in enumerate(zip(chosen, ages, strict=True)):
            places_BM[row, : len(age)] = torch.tensor(self.facts[index])
            age_BM[row, : len(age)] = torch.tensor(age)
        asked_B = torch.tensor([self.questions[index] for index in chosen])
        answer_B = torch.tensor([self.answers[index] for index in chosen])
        facts_BM2V = self.bags_N2V[places_BM]
        return QuestionBatch(facts_BM2V, age_BM, self.bags_N2V[asked_B], answer_B)


def add_random_time_gaps(count: int, share: float, rng: np.random.Generator) -> list[int]:
    """Return the ages of `count` facts, oldest first, with random gaps between them.

    Args:
        count: number of facts.
        share: probability of a gap of one time step between two facts.
        rng: source of random numbers.
    """
    steps = 1 + (rng.random(count) < share)
    later = steps[::-1].cumsum() - steps[-1:]
    return [int(age) for age in later[::-1]]


def iterate_batches(
    library: QuestionLibrary, device: torch.device, linear: bool = False, size: int = 250
) -> Iterator[tuple[list[int], QuestionBatch]]:
    """Yield all questions in batches of similar length, with their indices, without gaps."""
    order = sorted(range(len(library.questions)), key=lambda index: len(library.facts[index]))
    for first in range(0, len(order), size):
        chosen = order[first : first + size]
        ages = [
            add_random_time_gaps(len(library.facts[index]), 0, np.random.default_rng(0))
            for index in chosen
        ]
        yield chosen, move_to_device(library.make_batch(chosen, ages), device, linear)


def move_to_device(batch: QuestionBatch, device: torch.device, linear: bool) -> QuestionBatch:
    """Move a batch to the network's device."""
    return QuestionBatch(
        batch.facts_BM2V.to(device),
        batch.age_BM.to(device),
        batch.question_B2V.to(device),
        batch.answer_B.to(device),
        linear,
    )
