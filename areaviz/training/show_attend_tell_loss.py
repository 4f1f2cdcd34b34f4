"""The loss of "Show, attend and tell": words, evenness of attention, and reward of hard choices.

Shapes: N sentences, T words, M cells, V vocabulary.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from areaviz.attention.hard import compute_reinforce_loss
from areaviz.models.captions import CaptionPass, ShowAttendTell
from areaviz.models.tokenizer import PAD, shift_targets
from areaviz.training.sentences import compute_cross_entropy

RECENT = 0.9
"""Weight of the old value when a moving average is updated."""


class LossOptions(Protocol):
    """Recipe options that the loss needs."""

    @property
    def label_smoothing(self) -> float:
        """Label smoothing for the next word, 0 to 1."""

    @property
    def evenly(self) -> float:
        """Weight of the term for even attention, see `compute_unevenness`."""

    @property
    def entropy(self) -> float:
        """Weight of the entropy of hard choices."""


def show_attend_tell_loss(
    network: ShowAttendTell, features_BMC: Tensor, captions_NT: Tensor, options: LossOptions
) -> Tensor:
    """Compute the cross-entropy of the next word, plus the terms for the kind of attention."""
    hard = network.config.attention == "hard"
    run = network.run(features_BMC, shift_targets(captions_NT), sample=hard)
    loss = compute_cross_entropy(run.logits.float(), captions_NT, options.label_smoothing)
    if hard:
        return loss + compute_choice_loss(network.usual, run, captions_NT, options.entropy)
    if not network.config.layers:
        return loss
    return loss + options.evenly * compute_unevenness(run.weights, captions_NT)


def compute_unevenness(weights_NTM: Tensor, captions_NT: Tensor) -> Tensor:
    """Compute the mean squared distance of each cell's summed attention from 1.

    The sum is over the words of a sentence (Xu et al. 2015, Eq. 14).
    """
    said_NT1 = (captions_NT != PAD).unsqueeze(2)
    return ((1 - (weights_NTM * said_NT1).sum(1)) ** 2).mean()


def compute_choice_loss(
    usual_V: Tensor, run: CaptionPass, captions_NT: Tensor, entropy: float
) -> Tensor:
    """Compute the REINFORCE loss of the choices of cells.

    The reward of each choice is the log-probability of its next word.

    This differs from Eq. 43-50 of the survey, where the reward of every choice is the
    log-probability of the whole sentence. That reward also counts words before the choice and words
    that hardly depend on it, so the estimate is noisier. Our reward has a bias instead: it ignores
    the effect of a choice on later words through the network's state.

    Args:
        usual_V: Baseline, a moving average of each word's log-probability. The function updates it.
            A baseline for each word is useful, because some words are easier to guess than others
            wherever the network looks.
        run: The forward pass with the words and the chosen cells.
        captions_NT: Ids of the gold captions.
        entropy: Weight of the entropy of the choices.
    """
    said_NT = captions_NT != PAD
    words = captions_NT[said_NT]
    likely_NTV = run.logits.detach().float().log_softmax(2)
    reward = likely_NTV.gather(2, captions_NT.unsqueeze(2)).squeeze(2)[said_NT]
    chosen = run.log_probability[said_NT]
    surrogate = compute_reinforce_loss(chosen[:, None], reward[:, None], usual_V[words][:, None])
    _follow(usual_V, words, reward)
    weights = run.weights[said_NT]
    openness = -(weights * weights.clamp_min(1e-9).log()).sum(1).mean()
    return surrogate - entropy * openness


@torch.no_grad()
def _follow(usual_V: Tensor, words: Tensor, reward: Tensor) -> None:
    """Move the average of each word in the batch towards its mean reward in this batch.

    A word that has not occurred before has the average 0, and gets its first mean. Averages of
    log-probabilities are never exactly 0.
    """
    count_V = torch.zeros_like(usual_V).index_add(0, words, torch.ones_like(reward))
    mean_V = torch.zeros_like(usual_V).index_add(0, words, reward) / count_V.clamp_min(1)
    moved_V = torch.where(usual_V == 0, mean_V, RECENT * usual_V + (1 - RECENT) * mean_V)
    usual_V.copy_(torch.where(count_V > 0, moved_V, usual_V))
