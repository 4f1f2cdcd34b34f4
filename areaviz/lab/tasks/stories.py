"""Stories: the corpus bAbI, training of memory networks, and evaluation on its questions."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from areaviz.cards.tasks import TASKS
from areaviz.lab.loop import Description, TrainConfig, read_training_texts
from areaviz.lab.measure import Measured, Options
from areaviz.models.stories import (
    AnsweringModel,
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

# bAbI: stories of simple sentences, with questions and the facts that answer them.
#
# Weston et al. 2015, version 1.2, with 1,000 training and 1,000 test questions per task.


BABI_TASKS = range(1, 21)
VALID_SHARE = 10
"""One story in this many is held out from a training file, for choosing the checkpoint."""


def read_questions(data: Path, split: str, tasks: Sequence[int] = BABI_TASKS) -> list[Question]:
    """Read the questions of "train", "val" or "test".

    Raises:
        FileNotFoundError: The corpus is not in `data`.
    """
    questions: list[Question] = []
    for task in tasks:
        for number, story in enumerate(_iterate_stories(_find_task_file(data, task, split))):
            held_out = number % VALID_SHARE == VALID_SHARE - 1
            if split == "test" or held_out == (split == "val"):
                questions += _iterate_questions(task, story)
    return questions


def _find_task_file(data: Path, task: int, split: str) -> Path:
    folder, part = data / "babi" / "en", "test" if split == "test" else "train"
    found = sorted(folder.glob(f"qa{task}_*_{part}.txt.gz"))
    if not found:
        raise FileNotFoundError(
            f"{folder} has no qa{task}_*_{part}.txt.gz. Put the bAbI tasks, version 1.2, there."
        )
    return found[0]


def _iterate_stories(path: Path) -> Iterator[list[str]]:
    """Yield the lines of each story without their numbers. A story begins with the number 1."""
    story: list[str] = []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            number, _, text = line.rstrip("\n").partition(" ")
            if number == "1" and story:
                yield story
                story = []
            story.append(text)
    yield story


def _iterate_questions(task: int, story: Sequence[str]) -> Iterator[Question]:
    """Yield the questions of one story. Its lines, including questions, are numbered from 1."""
    facts: list[str] = []
    fact_of: dict[int, int] = {}
    for number, line in enumerate(story, start=1):
        text, *rest = line.split("\t")
        if not rest:
            fact_of[number] = len(facts)
            facts.append(text.strip())
            continue
        gold = tuple(fact_of[int(one)] for one in rest[1].split())
        yield Question(task, tuple(facts), text.strip(), rest[0], gold)


# Training of memory networks on all bAbI tasks together.
#
# Shapes: B questions, M facts, V words of the vocabulary, A answers.


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


# Evaluation of memory networks on held-out questions, for the figures of their cards.
#
# Shapes: B questions, M facts, K hops.


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
    model: AnsweringModel, known: Sequence[Question], questions: Sequence[Question], found: Readings
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
