"""What "Show, attend and tell" learns from: words, even looks, and for hard attention the reward of
its choices.

Shapes: N sentences, T words, M cells, V vocabulary.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from areaviz.attention.hard import reinforce
from areaviz.data.batches import shifted
from areaviz.data.tokenizer import PAD
from areaviz.models.show_attend_tell import ShowAttendTell, Told
from areaviz.training.sentences import cross_entropy

RECENT = 0.9
"""How much of a moving average stays at each update."""


class TellingOptions(Protocol):
    """What of a recipe matters here."""

    @property
    def label_smoothing(self) -> float:
        """Of the next word, 0..1."""

    @property
    def evenly(self) -> float:
        """Weight of the doubly stochastic term."""

    @property
    def entropy(self) -> float:
        """Weight of the entropy of hard choices."""


def telling_loss(
    network: ShowAttendTell, features_BMC: Tensor, captions_NT: Tensor, options: TellingOptions
) -> Tensor:
    """Cross-entropy of the next word, and what the kind of attention asks for besides."""
    hard = network.config.attention == "hard"
    told = network.tell(features_BMC, shifted(captions_NT), sample=hard)
    loss = cross_entropy(told.logits.float(), captions_NT, options.label_smoothing)
    if hard:
        return loss + choices(network.usual, told, captions_NT, options.entropy)
    return (
        loss + options.evenly * unevenness(told.weights, captions_NT)
        if network.config.layers
        else loss
    )


def unevenness(weights_NTM: Tensor, captions_NT: Tensor) -> Tensor:
    """How far each cell's attention over a sentence is from 1, squared (Xu et al. 2015, Eq. 14), a
    cell.
    """
    said_NT1 = (captions_NT != PAD).unsqueeze(2)
    return ((1 - (weights_NTM * said_NT1).sum(1)) ** 2).mean()


def choices(usual_V: Tensor, told: Told, captions_NT: Tensor, entropy: float) -> Tensor:
    """REINFORCE for the choices of cells, each rewarded by the log-probability of its own next
    word.

    This departs from survey Eq. 43-50, where the log-probability of the whole sentence rewards
    every choice: that also counts words told before a look, and many that have little to do with
    it, so the estimate is noisier. The
    price is a bias: what a look does for later words, by the state it leaves, is not rewarded.
    usual_V: the baseline, a moving average of the log-probability of each word, which this updates:
    words differ in how easily they are guessed, and that says nothing of where to look.
    """
    said_NT = captions_NT != PAD
    words = captions_NT[said_NT]
    reward = (
        told.logits.detach()
        .float()
        .log_softmax(2)
        .gather(2, captions_NT.unsqueeze(2))
        .squeeze(2)[said_NT]
    )
    surrogate = reinforce(
        told.log_probability[said_NT][:, None], reward[:, None], usual_V[words][:, None]
    )
    _follow(usual_V, words, reward)
    weights = told.weights[said_NT]
    openness = -(weights * weights.clamp_min(1e-9).log()).sum(1).mean()
    return surrogate - entropy * openness


@torch.no_grad()
def _follow(usual_V: Tensor, words: Tensor, reward: Tensor) -> None:
    """Move each word's average towards what this batch saw of it, its first mean at once.

    A word never seen has 0, which no average of log-probabilities is.
    """
    count_V = torch.zeros_like(usual_V).index_add(0, words, torch.ones_like(reward))
    mean_V = torch.zeros_like(usual_V).index_add(0, words, reward) / count_V.clamp_min(1)
    moved_V = torch.where(usual_V == 0, mean_V, RECENT * usual_V + (1 - RECENT) * mean_V)
    usual_V.copy_(torch.where(count_V > 0, moved_V, usual_V))
