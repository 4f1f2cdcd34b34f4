"""Training of memory networks on all bAbI tasks together.

Shapes: B questions, M facts, V words of the vocabulary, A answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from areaviz.cards.tasks import TASKS
from areaviz.data.babi import read_questions
from areaviz.models.stories import (
    MemoryConfig,
    MemoryNetwork,
    Question,
    QuestionBatch,
    QuestionLibrary,
    add_random_time_gaps,
    iterate_batches,
    move_to_device,
    split_sentence,
)
from areaviz.training.about import read_training_texts
from areaviz.training.config import TrainConfig
from areaviz.training.task import Description

NEAR = 64
"""Number of batches whose questions are sorted together by their number of facts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionsConfig(TrainConfig):
    """The recipe of a memory network.

    Args:
        batch: Questions per update.
        linear: Number of updates at the start in which the hops have no softmax.
        gaps: Share of facts before which an empty time step is inserted (section 4.2 of the paper).
    """

    batch: int = 32
    linear: int = 0
    gaps: float = 0.1


@dataclass(slots=True)
class Questions:
    """The task of answering questions about stories."""

    Recipe: ClassVar[type[TrainConfig]] = QuestionsConfig

    config: QuestionsConfig
    network: MemoryNetwork
    train: QuestionLibrary
    valid: QuestionLibrary
    # Task of each question of `valid`.
    valid_tasks: Sequence[int]
    device: torch.device

    @classmethod
    def build(cls, config: QuestionsConfig, data: Path, folder: Path, device: torch.device) -> Self:
        """Read bAbI from `data`, collect the vocabulary and the answers, and make the network.

        Raises:
            FileNotFoundError: The corpus is not in `data`.
        """
        questions, valid = read_questions(data, "train"), read_questions(data, "val")
        options = MemoryConfig(*list_words_and_answers(questions), **config.model)
        torch.manual_seed(config.seed)
        network = MemoryNetwork(options).to(device)
        train, held_out = (
            QuestionLibrary.from_questions(questions, options),
            QuestionLibrary.from_questions(valid, options),
        )
        return cls(config, network, train, held_out, [one.task for one in valid], device)

    def batches(self, first_step: int) -> Iterator[QuestionBatch]:
        """Yield every question once per epoch, in a new order each epoch.

        The questions of a batch have similar numbers of facts.
        """
        each = len(self.train.questions) // self.config.batch
        step = first_step
        while True:
            epoch, place = divmod(step, each)
            rng = np.random.default_rng((self.config.seed, epoch))
            order = self._order(rng)
            for number in range(place, each):
                chosen = order[number].tolist()
                rng = np.random.default_rng((self.config.seed, epoch, number))
                ages = [
                    add_random_time_gaps(len(self.train.facts[i]), self.config.gaps, rng)
                    for i in chosen
                ]
                batch = self.train.make_batch(chosen, ages)
                yield move_to_device(batch, self.device, step < self.config.linear)
                step += 1

    def _order(self, rng: np.random.Generator) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
        """Return the random order of an epoch's questions as indices [batches, batch]."""
        count, size = len(self.train.questions), self.config.batch
        order = rng.permutation(count)
        lengths = np.array([len(facts) for facts in self.train.facts])
        rows = []
        for first in range(0, count, NEAR * size):
            part = order[first : first + NEAR * size]
            rows.append(part[lengths[part].argsort(kind="stable")])
        whole = np.concatenate(rows)[: count // size * size].reshape(-1, size)
        return rng.permutation(whole)

    def loss(self, batch: QuestionBatch) -> Tensor:
        """Compute the cross-entropy of the answers."""
        found = self.network(batch.facts_BM2V, batch.age_BM, batch.question_B2V, batch.linear)
        return F.cross_entropy(found.logits_BA, batch.answer_B)

    def validate(self, step: int) -> dict[str, float]:
        """Measure the share of wrong answers, and the accuracy of the bAbI tasks with a measure."""
        right_by_task: dict[int, list[bool]] = {}
        linear = step <= self.config.linear
        for chosen, batch in iterate_batches(self.valid, self.device, linear):
            found = self.network(batch.facts_BM2V, batch.age_BM, batch.question_B2V, linear)
            right_B = found.logits_BA.argmax(1) == batch.answer_B
            for index, right in zip(chosen, right_B.tolist(), strict=True):
                right_by_task.setdefault(self.valid_tasks[index], []).append(right)
        shares = {task: sum(found) / len(found) for task, found in right_by_task.items()}
        error = 1 - sum(shares.values()) / len(shares)
        measured = {}
        for task, share in shares.items():
            if f"qa{task}" in TASKS["questions"].measures:
                measured[f"valid_qa{task}"] = share
        # Add 1 to the score of weights trained without the softmax, so that they are never kept.
        return {"score": error + linear, "valid_error": error, **measured}

    def save(self, folder: Path) -> None:
        """Do nothing. A memory network needs no other files than its weights."""

    def describe(self) -> Description:
        """Return the task's part of the model card."""
        options, texts = self.network.config, read_training_texts("questions")
        return Description(
            family="memory",
            title=f"Memory network, {options.hops} hops",
            task="questions",
            level="fact",
            mechanism="item-wise soft",
            trained_length=options.most_facts,
            config=asdict(options),
            data=texts.data,
            limits=texts.limits,
            licence=texts.licence,
            recipe={"chosen_by": "validation error, mean of the 20 tasks"},
        )


def list_words_and_answers(questions: Sequence[Question]) -> tuple[list[str], list[str]]:
    """Return all words and all answers in alphabetical order."""
    words: set[str] = set()
    for question in questions:
        for sentence in (*question.facts, question.text):
            words.update(split_sentence(sentence))
    return sorted(words), sorted({question.answer for question in questions})
