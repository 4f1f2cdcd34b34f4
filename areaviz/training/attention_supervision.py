"""Attention supervision: a loss that trains the areas of one head with gold boxes.

A word with a gold box should attend to areas that overlap its box. The loss uses the intersection
over union of area and box. An area that fits an object is therefore better than a single cell
inside it. Shapes: N sentences, T words, W words with boxes, A areas, B pictures, M cells, C
channels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from areaviz.measures.pointing import compute_box_overlaps
from areaviz.models.captions import CaptionTransformer
from areaviz.models.tokenizer import Tokenizer, shift_targets
from areaviz.samples.dataset import GroundedSentence
from areaviz.trace.areas import AreaGrid
from areaviz.training.sentences import compute_cross_entropy

MIN_OVERLAP = 1e-9
"""Minimum overlap in the loss. It limits the loss of a word."""


@dataclass(frozen=True, slots=True)
class AttentionTargets:
    """Attention targets for the words of sentences."""

    # Index of each word's sentence, int64 [W].
    sentence: Tensor
    # Step that writes the word, int64 [W].
    step: Tensor
    # Overlap of each area with the word's boxes, divided by the largest overlap, [W, A].
    overlap: Tensor

    @classmethod
    def of(
        cls, sentences: Sequence[GroundedSentence], tokenizer: Tokenizer, grid: AreaGrid
    ) -> AttentionTargets:
        """Make targets for every word with boxes in `sentences`."""
        places, overlaps = [], [np.zeros((0, grid.count))]
        for number, sentence in enumerate(sentences):
            tokens = tokenizer.find_word_starts(sentence.text)
            for word, boxes in sentence.boxes:
                overlap_A = compute_box_overlaps(grid, boxes)
                # A box without extent overlaps nothing, so it cannot be a target.
                if overlap_A.max() > 0:
                    places.append((number, tokens[word]))
                    overlaps.append(overlap_A[None] / overlap_A.max())
        place_W2 = torch.tensor(places, dtype=torch.int64).reshape(-1, 2)
        overlap_WA = torch.from_numpy(np.concatenate(overlaps)).float()
        return cls(place_W2[:, 0], place_W2[:, 1], overlap_WA)

    def to(self, device: torch.device) -> AttentionTargets:
        """Return the targets on `device`."""
        return AttentionTargets(
            self.sentence.to(device), self.step.to(device), self.overlap.to(device)
        )


def compute_told_loss(weights_NTA: Tensor, told: AttentionTargets) -> Tensor:
    """Compute the supervision loss: the mean over words of -log of the attended overlap.

    The attended overlap of a word is the sum of the overlaps of all areas, weighted by attention.
    Overlaps are relative to that of the best area. The loss is 0 if all weight is on the best
    areas, or if there are no words with boxes.
    """
    if not len(told.sentence):
        return weights_NTA.new_zeros(())
    weights_WA = weights_NTA[told.sentence, told.step].float()
    overlap_W = (weights_WA * told.overlap).sum(1)
    return -overlap_W.clamp_min(MIN_OVERLAP).log().mean()


def compute_told_caption_loss(
    network: CaptionTransformer,
    features_BMC: Tensor,
    captions_NT: Tensor,
    told: AttentionTargets,
    head: tuple[int, int],
    smoothing: float,
) -> tuple[Tensor, Tensor]:
    """Compute the cross-entropy of the next word and the supervision loss of a head in one pass.

    Args:
        network: The captioner.
        features_BMC: Features of the pictures.
        captions_NT: Token ids of the captions.
        told: Attention targets.
        head: Layer and number of the head, counted from 0.
        smoothing: Label smoothing, 0 to 1.

    Returns:
        Both losses.
    """
    memory_BMW, _ = network.encode(features_BMC)
    run = network.decode(memory_BMW, None, shift_targets(captions_NT), need_weights=True)
    layer, number = head
    # The queries of all sentences of a picture are next to each other.
    weights_BQA = run.weights["encoder-decoder"][layer][:, number]
    weights_NTA = weights_BQA.reshape(len(captions_NT), captions_NT.shape[1], -1)
    words = compute_cross_entropy(run.logits.float(), captions_NT, smoothing)
    return words, compute_told_loss(weights_NTA, told)
