"""A memory network, whose question attends to facts in several hops that each change the query.

Sukhbaatar et al. 2015: position encoding (section 4.1), temporal encoding, adjacent weights
(section 2.2), linear start (section 4.2). For hop k

    p = softmax(u_k . m_i),   o = sum_i p_i c_i,   u_{k+1} = u_k + o,   answer = softmax(W u)

where m_i and c_i are the embeddings k and k + 1 of fact i. The question has the embedding of the
facts in the first hop, and W is the last embedding.

Shapes: B questions, M facts, J words of a sentence, V known words, W width, K hops, A answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from areaviz.attention.interventions import UNCHANGED, NetworkInterventions
from areaviz.trace.areas import AreaGrid

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
