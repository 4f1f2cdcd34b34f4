"""The memory network: its questions, the network, its batches, and the model that answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
import torch
from torch import Tensor, nn

from areaviz.attention.interventions import UNCHANGED, NetworkInterventions
from areaviz.cards.card import Card
from areaviz.models.base import OnStep, build_untrained, load_weights, prepare_for_inference
from areaviz.trace.areas import AreaGrid, FloatArray
from areaviz.trace.changes import Places
from areaviz.trace.errors import InputError, shorten
from areaviz.trace.kinds import make_facts_field, make_question_field
from areaviz.trace.record import AttentionMap, Field, Output, Trace
from areaviz.trace.request import Request

# A question about a story, and the words of a sentence as a memory network reads them.


_WORD = re.compile(r"[\w']+")


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the story before it."""

    # The number of the task, 1..20.
    task: int
    # Sentences, oldest first.
    facts: tuple[str, ...]
    text: str
    # One word, or several words joined by commas.
    answer: str
    # Indices of the facts that answer the question, from 0.
    gold: tuple[int, ...]


def split_sentence(sentence: str) -> tuple[str, ...]:
    """Return the words of a sentence in lower case, without punctuation."""
    return tuple(_WORD.findall(sentence.lower()))


# A memory network, whose question attends to facts in several hops that each change the query.
#
# Sukhbaatar et al. 2015: position encoding (section 4.1), temporal encoding, adjacent weights
# (section 2.2), linear start (section 4.2). For hop k
#
#     p = softmax(u_k . m_i),   o = sum_i p_i c_i,   u_{k+1} = u_k + o,   answer = softmax(W u)
#
# where m_i and c_i are the embeddings k and k + 1 of fact i. The question has the embedding of the
# facts in the first hop, and W is the last embedding.
#
# Shapes: B questions, M facts, J words of a sentence, V known words, W width, K hops, A answers.


SITE = "hops"
SITES: Mapping[str, tuple[str, str]] = {SITE: ("question", "facts")}


@dataclass(frozen=True, slots=True)
class MemoryConfig:
    """The options of a memory network.

    Args:
        words: all known words. The index of a word is its id.
        answers: the possible answers: words, or several words joined by commas.
        width: width of the embeddings.
        hops: number of hops over the facts.
        most_facts: number of latest facts that are read.
    """

    words: Sequence[str]
    answers: Sequence[str]
    width: int = 50
    hops: int = 3
    most_facts: int = 50


@dataclass(frozen=True, slots=True)
class Hops:
    """Attention of every hop and logits of one forward pass."""

    # [B, A]
    logits_BA: Tensor
    # Weights of every hop, [B, M]. Rows sum to 1, or to 0 if every fact is banned.
    weights: list[Tensor]


def bag_sentences(sentences: Sequence[Sequence[int]], words: int) -> Tensor:
    """Encode each sentence as two sums over its words: float [M, 2, V].

    Position encoding multiplies the embedding of word j of J (from 1), entry k of W, by (1 - j/J) -
    (k/W) (1 - 2j/J). This is linear in k, so the sums of 1 - j/J and of 1 - 2j/J per word describe
    a sentence completely, for any width. `MemoryNetwork.embed` uses them.
    """
    bags_M2V = torch.zeros(len(sentences), 2, words)
    for row, sentence in enumerate(sentences):
        for place, word in enumerate(sentence, start=1):
            bags_M2V[row, 0, word] += 1 - place / len(sentence)
            bags_M2V[row, 1, word] += 1 - 2 * place / len(sentence)
    return bags_M2V


class MemoryNetwork(nn.Module):
    """A memory network, from facts and a question to the logits of the answers."""

    def __init__(self, config: MemoryConfig) -> None:
        super().__init__()
        self.config = config
        count, width = config.hops + 1, config.width
        self.embeddings = nn.Parameter(0.1 * torch.randn(count, len(config.words), width))
        self.ages = nn.Parameter(0.1 * torch.randn(count, config.most_facts, width))
        self.answer = nn.Parameter(0.1 * torch.randn(len(config.answers), width))
        slope_W = torch.arange(1, width + 1) / width
        self.register_buffer("slope", slope_W, persistent=False)
        self.slope: Tensor

    def embed(self, bags_N2V: Tensor, number: int) -> Tensor:
        """Embed sentences [..., 2, V] by one embedding, with position encoding: [..., W]."""
        both_N2W = bags_N2V @ self.embeddings[number]
        return both_N2W[..., 0, :] - self.slope * both_N2W[..., 1, :]

    def forward(
        self,
        facts_BM2V: Tensor,
        age_BM: Tensor,
        question_B2V: Tensor,
        linear: bool = False,
        changed: NetworkInterventions = UNCHANGED,
    ) -> Hops:
        """Answer questions.

        Args:
            facts_BM2V: see `bag_sentences`.
            age_BM: int64, 0 for the latest fact, -1 where there is no fact.
            question_B2V: see `bag_sentences`.
            linear: whether to leave out the softmax of the hops, as at the start of training.
            changed: a request's changes.
        """
        state_BW = self.embed(question_B2V, 0)
        weights = []
        for hop in range(self.config.hops):
            memory_BMW = self.embed_facts(facts_BM2V, age_BM, hop)
            output_BMW = self.embed_facts(facts_BM2V, age_BM, hop + 1)
            match_BM = (memory_BMW @ state_BW[..., None])[..., 0]
            if linear:
                weights_BM = match_BM.masked_fill(age_BM < 0, 0)
            else:
                weights_BM = self.compute_weights(match_BM, age_BM < 0, hop, changed)
            read_BW = (weights_BM[:, None] @ output_BMW)[:, 0]
            state_BW = state_BW + apply_gate(read_BW, hop, changed)
            weights.append(weights_BM)
        return Hops(state_BW @ self.answer.T, weights)

    def embed_facts(self, facts_BM2V: Tensor, age_BM: Tensor, number: int) -> Tensor:
        """Embed facts by one embedding, with their ages: [B, M, W]."""
        oldest = self.config.most_facts - 1
        return self.embed(facts_BM2V, number) + self.ages[number][age_BM.clamp(0, oldest)]

    def compute_weights(
        self, match_BM: Tensor, absent_BM: Tensor, hop: int, changed: NetworkInterventions
    ) -> Tensor:
        """Return the weights of one hop [B, M], with a request's changes."""
        weights_BM = match_BM.masked_fill(absent_BM, -torch.inf).softmax(1)
        weights_BM = weights_BM.nan_to_num()
        own = changed.get_layer_changes(SITE, hop)
        grid = AreaGrid(1, match_BM.shape[1], 1, 1)
        factor_11M = own.compute_multipliers(grid, 1, match_BM.device) if own else None
        if factor_11M is None:
            return weights_BM
        weighed_BM = weights_BM * factor_11M[0]
        return weighed_BM / weighed_BM.sum(1, keepdim=True).clamp_min(1e-30)


def apply_gate(read_BW: Tensor, hop: int, changed: NetworkInterventions) -> Tensor:
    """Multiply the output of a hop by the factor of its gates."""
    own = changed.get_layer_changes(SITE, hop)
    if own is None:
        return read_BW
    gated_BW: Tensor = own.apply_gates(read_BW[:, None, None])[:, 0, 0]
    return gated_BW


# Questions and their stories in the form that a memory network reads.
#
# Shapes: B questions, M facts, N sentences, V known words.


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


# A memory network as a model, which reads a story and a question and returns a Trace.
#
# Shapes: M facts, A answers, K hops.


ALTERNATIVES = 5
MAX_NAMED_WORDS = 8
"""Maximum number of unknown words that the warning names."""


@dataclass(frozen=True, slots=True)
class AnsweringModel:
    """A model that answers questions and records which facts it read in every hop."""

    card: Card
    network: MemoryNetwork

    @classmethod
    def load(
        cls, folder: Path, card: Card, device: torch.device, area_size: int | None = None
    ) -> Self:
        """Load a checkpoint.

        Raises:
            InputError: if areas of more than one fact are requested.
            BackendError: if a file is missing or damaged.
        """
        if area_size is not None and area_size > 1:
            raise InputError(
                "This model attends to single facts, not to areas. Keep the default largest area."
            )
        network = prepare_for_inference(MemoryNetwork(MemoryConfig(**card.config)), device)
        load_weights(network, folder, card.files)
        return cls(card, network)

    def make_untrained(self) -> Self:
        """Return this network with initial weights, as a baseline."""
        return replace(
            self, network=build_untrained(MemoryNetwork, self.network.config, self.device)
        )

    @property
    def device(self) -> torch.device:
        """The device of the network."""
        return self.network.embeddings.device

    def trace(self, requests: Sequence[Request], on_step: OnStep | None = None) -> list[Trace]:
        """Answer the requests one after the other.

        Raises:
            InputError: if the story, the given output or a change cannot be used.
        """
        return [self._trace(request) for request in requests]

    def _trace(self, request: Request) -> Trace:
        facts, question = make_facts_field(request.text), make_question_field(request.text)
        self._check_request(facts, request)
        unknown = self.list_unknown_words([*facts.labels, *question.labels])
        run = self.answer(facts.labels, question.labels[0], request)
        likely_A = run.logits_BA[0].float().softmax(0).cpu().numpy()
        answers = list(self.network.config.answers)
        chosen = int(likely_A.argmax())
        if request.target is not None:
            chosen = self._find_answer(request.target)
        best = (-likely_A).argsort(kind="stable")[:ALTERNATIVES]
        options = tuple((answers[one], float(likely_A[one])) for one in best)
        label = answers[chosen]
        target = Field("target", "text", label, (label,), np.array([[0, len(label)]]))
        fields = {"facts": facts, "question": question, "target": target}
        output = Output("target", likely_A[[chosen]].astype(np.float32), (options,))
        details = {"device": self.device.type}
        if unknown:
            details["warning"] = (
                f"This model has never seen {', '.join(map(shorten, unknown[:MAX_NAMED_WORDS]))}"
                f"{' and more' if len(unknown) > MAX_NAMED_WORDS else ''}: it ignores them."
            )
        return Trace(request, fields, output, {SITE: _make_hops_map(run)}, details)

    @torch.inference_mode()
    def answer(self, facts: Sequence[str], question: str, request: Request) -> Hops:
        """Run the network once on a story and its question, and apply the changes of a request."""
        device, words = self.device, len(self.network.config.words)
        bags_N2V = bag_sentences([self._index_words(one) for one in (*facts, question)], words).to(
            device
        )
        age_1M = torch.arange(len(facts) - 1, -1, -1, device=device)[None]
        changed = NetworkInterventions.from_changes(request.changes, SITES, 1)
        found: Hops = self.network(bags_N2V[None, :-1], age_1M, bags_N2V[-1:], changed=changed)
        return found

    def list_unknown_words(self, sentences: Sequence[str]) -> list[str]:
        """Return the words that the network does not know, without repetition, in order."""
        known = set(self.network.config.words)
        found: dict[str, None] = {}
        for sentence in sentences:
            for word in split_sentence(sentence):
                if word not in known:
                    found[word] = None
        return list(found)

    def _index_words(self, sentence: str) -> list[int]:
        """Return the indices of the known words of a sentence."""
        number = {word: number for number, word in enumerate(self.network.config.words)}
        return [number[word] for word in split_sentence(sentence) if word in number]

    def _find_answer(self, target: str) -> int:
        """Return the index of a given answer.

        Raises:
            InputError: if the model cannot give this answer.
        """
        answers = list(self.network.config.answers)
        if target.strip().lower() not in answers:
            raise InputError(
                f'"{shorten(target)}" is not an answer of this model. Leave the answer out,'
                f" or choose one of: {', '.join(one for one in answers if ',' not in one)}."
            )
        return answers.index(target.strip().lower())

    def _check_request(self, facts: Field, request: Request) -> None:
        """Check a request before the model runs.

        Raises:
            InputError: if the model cannot handle the request.
        """
        count, most = len(facts), self.network.config.most_facts
        if count > most:
            raise InputError(
                f"The story has {count:,} facts, but the limit is {most}. Remove {count - most:,}."
            )
        grids = {"facts": AreaGrid(1, count, 1, 1)}
        lengths = {"question": 1, "facts": count}
        hops = self.network.config.hops
        Places(SITES, hops, 1, lengths, grids).check(request.changes)


def _make_hops_map(run: Hops) -> AttentionMap:
    """Return the attention map of one question, with one layer per hop."""
    weights_KM: FloatArray = torch.cat(run.weights).float().cpu().numpy()
    grid = AreaGrid(1, weights_KM.shape[1], 1, 1)
    return AttentionMap(
        SITE, "question", "facts", grid, weights_KM[:, None, None], "softmax over facts"
    )
