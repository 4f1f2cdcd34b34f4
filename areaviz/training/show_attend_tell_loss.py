"""The loss of "Show, attend and tell": words, even looks, and the reward of hard choices.

Shapes: N sentences, T words, M cells, V vocabulary.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from areaviz.attention.hard import reinforce
from areaviz.data.batches import shifted
from areaviz.data.tokenizer import PAD
from areaviz.models.show_attend_tell import CaptionPass, ShowAttendTell
from areaviz.training.sentences import cross_entropy

RECENT = 0.9
"""How much of a moving average stays at each update."""


class LossOptions(Protocol):
    """The options of a recipe that the loss needs."""

    @property
    def label_smoothing(self) -> float:
        """Of the next word, 0..1."""

    @property
    def evenly(self) -> float:
        """Weight of the doubly stochastic term."""

    @property
    def entropy(self) -> float:
        """Weight of the entropy of hard choices."""


def show_attend_tell_loss(
    network: ShowAttendTell, features_BMC: Tensor, captions_NT: Tensor, options: LossOptions
) -> Tensor:
    """Cross-entropy of the next word, and the terms of the kind of attention."""
    hard = network.config.attention == "hard"
    run = network.run(features_BMC, shifted(captions_NT), sample=hard)
    loss = cross_entropy(run.logits.float(), captions_NT, options.label_smoothing)
    if hard:
        return loss + choice_loss(network.usual, run, captions_NT, options.entropy)
    if not network.config.layers:
        return loss
    return loss + options.evenly * unevenness(run.weights, captions_NT)


def unevenness(weights_NTM: Tensor, captions_NT: Tensor) -> Tensor:
    """The squared distance of a cell's attention in a sentence from 1 (Xu et al. 2015, Eq. 14)."""
    said_NT1 = (captions_NT != PAD).unsqueeze(2)
    return ((1 - (weights_NTM * said_NT1).sum(1)) ** 2).mean()


def choice_loss(usual_V: Tensor, run: CaptionPass, captions_NT: Tensor, entropy: float) -> Tensor:
    """REINFORCE for the choices of cells, each rewarded by its next word's log-probability.

    This departs from survey Eq. 43-50, where the log-probability of the whole sentence rewards
    every choice: that also counts words said before a look, and many that have little to do with
    it, so the estimate is noisier. The price is a bias: what a look does for later words, by the
    state it leaves, is not rewarded.

    Args:
        usual_V: the baseline, a moving average of each word's log-probability, which this updates:
            words differ in how easily they are guessed, and that says nothing of where to look.
        run: the words and the looks.
        captions_NT: what was to be said.
        entropy: weight of the entropy of the choices.
    """
    said_NT = captions_NT != PAD
    words = captions_NT[said_NT]
    likely_NTV = run.logits.detach().float().log_softmax(2)
    reward = likely_NTV.gather(2, captions_NT.unsqueeze(2)).squeeze(2)[said_NT]
    chosen = run.log_probability[said_NT]
    surrogate = reinforce(chosen[:, None], reward[:, None], usual_V[words][:, None])
    _follow(usual_V, words, reward)
    weights = run.weights[said_NT]
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
