"""A memory network as a model, which reads a story and a question and returns a Trace.

Shapes: M facts, A answers, K hops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
import torch

from areaviz.attention.interventions import NetworkInterventions
from areaviz.cards.card import Card
from areaviz.data.story_questions import split_sentence
from areaviz.models.base import OnStep
from areaviz.models.checkpoint import load_weights
from areaviz.models.device import build_untrained, prepare_for_inference
from areaviz.models.memory_network import (
    SITE,
    SITES,
    Hops,
    MemoryConfig,
    MemoryNetwork,
    bag_sentences,
)
from areaviz.trace.areas import AreaGrid, FloatArray
from areaviz.trace.changes import Places
from areaviz.trace.errors import InputError, shorten
from areaviz.trace.kinds import make_facts_field, make_question_field
from areaviz.trace.record import AttentionMap, Field, Output, Trace
from areaviz.trace.request import Request

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
