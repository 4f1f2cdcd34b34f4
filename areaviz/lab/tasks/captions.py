"""Captions: training of captioners with their losses, and evaluation on held-out pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import torch
from torch import Tensor

from areaviz.attention.hard import compute_reinforce_loss
from areaviz.cards.card import Opening
from areaviz.lab.heads import measure_heads_for_card
from areaviz.lab.loop import (
    Description,
    TrainConfig,
    optimise_for_training,
    step_generators,
    take_best,
)
from areaviz.lab.measure import (
    Measured,
    Options,
    Place,
    check_chosen,
    choose_openings,
    choose_pointing_head,
    choose_pointing_opening,
    make_pointing_opening,
    measure_best_pointing,
)
from areaviz.lab.pictures import (
    VIEWS,
    CaptionedPictures,
    get_picture_side,
    read_captioned_pictures,
    read_photos,
    read_pixels,
)
from areaviz.lab.sentences import (
    CHOSEN_BY,
    POINTED,
    WORTH,
    compute_cross_entropy,
    find_words_pointed_right,
    mean_loss,
    run_tokenizer,
    sum_loss,
)
from areaviz.measures.heads import find_largest
from areaviz.measures.pointing import (
    Box,
    Floats,
    PointedWords,
    compute_box_overlaps,
    compute_pointing_figures,
    find_centres_inside,
    find_coordinates_in_boxes,
)
from areaviz.models.base import TOKENIZER
from areaviz.models.captions import CaptionPass, CaptionTransformer, ShowAttendTell
from areaviz.models.generation import GENERATION_BATCH, GENERATION_NETWORKS, GenerationModel
from areaviz.models.network import PictureNetwork
from areaviz.models.tokenizer import PAD, Tokenizer, pad_rows, shift_targets
from areaviz.samples.dataset import GroundedSentence
from areaviz.samples.scenes import TIE, make_scenes
from areaviz.trace.areas import Area, AreaGrid, IntArray, sum_coverage
from areaviz.trace.errors import InputError
from areaviz.trace.request import Picture, Request

# Attention supervision: a loss that trains the areas of one head with gold boxes.
#
# A word with a gold box should attend to areas that overlap its box. The loss uses the intersection
# over union of area and box. An area that fits an object is therefore better than a single cell
# inside it. Shapes: N sentences, T words, W words with boxes, A areas, B pictures, M cells, C
# channels.


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


# The loss of "Show, attend and tell": words, evenness of attention, and reward of hard choices.
#
# Shapes: N sentences, T words, M cells, V vocabulary.


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


# Training of captioners on photos or shape scenes, from pixels or from finished features.
#
# Shapes: B pictures, N captions, T words, M cells, C channels.


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptionsConfig(TrainConfig):
    """The recipe of a captioner.

    Args:
        pictures: "photos" or "scenes".
        network: A key of `GENERATION_NETWORKS`.
        batch: Pictures per update.
        vocabulary: Largest number of words in the tokenizer.
        encoder_run: Name of the run whose picture encoder is loaded and frozen, or "" to train an
            encoder.
        views: Number of versions of each training photo that the finished encoder encodes.
        start_run: Name of the run whose best weights this run starts from, or "" for none.
        label_smoothing: Label smoothing for the next word, 0 to 1.
        evenly: Weight of the term that spreads attention evenly over the cells (Xu et al. 2015, Eq.
            14).
        entropy: Weight of the entropy of hard attention. It keeps the choices of cells varied.
        captions_each: Captions per picture in an update. 0 uses all of them.
        any_true: Whether a scene is trained with all its `clear_sentences` instead of only its own.
        told: Weight of the loss that supervises attention with gold boxes, see `compute_told_loss`.
            0 turns it off.
        told_head: Layer and number of the supervised head, counted from 0.
    """

    pictures: str
    network: str = "captioner"
    batch: int = 32
    vocabulary: int = 3000
    encoder_run: str = ""
    start_run: str = ""
    views: int = VIEWS
    label_smoothing: float = 0.1
    evenly: float = 1.0
    entropy: float = 0.01
    captions_each: int = 0
    any_true: bool = False
    told: float = 0.0
    told_head: tuple[int, int] = (1, 0)


@dataclass(frozen=True, slots=True)
class CaptionBatch:
    """A batch of pictures with the same number of captions for each."""

    # Pixels or features.
    pictures: Tensor
    # Token ids [N, T], in the order of the pictures.
    captions: Tensor
    # The areas to which each word should attend, or None if attention is not supervised.
    told: AttentionTargets | None = None


@dataclass(slots=True)
class Captions:
    """The captioning task: pictures, or features of a finished encoder, and their captions."""

    Recipe: ClassVar[type[TrainConfig]] = CaptionsConfig

    config: CaptionsConfig
    network: PictureNetwork
    tokenizer: Tokenizer
    train: CaptionedPictures
    valid: CaptionedPictures
    device: torch.device

    @classmethod
    def build(cls, config: CaptionsConfig, data: Path, folder: Path, device: torch.device) -> Self:
        """Read or generate the pictures, build the vocabulary and make the network."""
        side = get_picture_side(config.model)
        runs = folder.parent
        train = read_captioned_pictures(config.pictures, "train", data, runs, side, config.any_true)
        valid = read_captioned_pictures(config.pictures, "val", data, runs, side)
        _check_told(config)
        tokenizer = run_tokenizer(
            folder / TOKENIZER, train.texts(), config.vocabulary, start_run=config.start_run
        )
        torch.manual_seed(config.seed)
        options, make = GENERATION_NETWORKS[config.network]
        network = make(options(len(tokenizer), **config.model))
        assert isinstance(network, PictureNetwork)
        network = optimise_for_training(network.to(device), device)
        # A finished encoder encodes all pictures once here instead of in every update.
        if config.encoder_run:
            run = runs / config.encoder_run
            train = train.encoded(network.pictures, run, device, config.views)
            valid = valid.encoded(network.pictures, run, device)
        if config.start_run:
            take_best(network, runs / config.start_run, device)
        return cls(config, network, tokenizer, train, valid, device)

    def batches(self, first_step: int) -> Iterator[CaptionBatch]:
        """Yield batches without end, with the same number of captions for each picture."""
        for rng in step_generators(self.config.seed, first_step):
            # Sort the indices, because all pictures are in one large file.
            chosen = np.sort(rng.choice(len(self.train), self.config.batch, replace=False))
            if self.config.told or self.config.captions_each:
                yield self._drawn(chosen, rng)
            else:
                captions = self.train.ids(self.tokenizer, chosen).to(self.device)
                yield CaptionBatch(self.train.look(chosen, rng).to(self.device), captions)

    def _drawn(self, chosen: IntArray, rng: np.random.Generator) -> CaptionBatch:
        """Draw sentences for the chosen pictures, with attention targets if needed."""
        sentences = self.train.sentences(chosen, self.config.captions_each, rng)
        views = self.train.draw_views(len(chosen), rng)
        said = [sentence for some in sentences for sentence in some]
        captions = pad_rows([self.tokenizer.ids(sentence.text) for sentence in said])
        told = None
        if self.config.told:
            grounded = []
            for index, view, some in zip(chosen.tolist(), views.tolist(), sentences, strict=True):
                grounded += [self.train.seen(index, view, sentence) for sentence in some]
            told = AttentionTargets.of(grounded, self.tokenizer, self._told_grid()).to(self.device)
        pictures = self.train.look_at(chosen, views).to(self.device)
        return CaptionBatch(pictures, captions.to(self.device), told)

    def _told_grid(self) -> AreaGrid:
        layer, _ = self.config.told_head
        return self.network.config.areas(layer).make_grid(self.network.grid**2)

    def loss(self, batch: CaptionBatch) -> Tensor:
        """Compute the loss of a batch.

        This is the network's own loss, or cross-entropy of the next word in nats. If attention is
        supervised, its weighted loss is added.
        """
        features = self._features(batch.pictures)
        if batch.told is not None:
            assert isinstance(self.network, CaptionTransformer)
            layer, head = self.config.told_head
            words, told = compute_told_caption_loss(
                self.network,
                features,
                batch.captions,
                batch.told,
                (layer, head),
                self.config.label_smoothing,
            )
            return words + self.config.told * told
        loss = OWN_LOSSES.get(self.config.network, compute_word_loss)
        return loss(self.network, features, batch.captions, self.config)

    def validate(self, step: int) -> dict[str, float]:
        """Measure cross-entropy per word, and how often attention points into the gold boxes."""
        totals, right = [], []
        for first in range(0, len(self.valid), self.config.batch):
            chosen = np.arange(first, min(first + self.config.batch, len(self.valid)))
            features = self._features(self.valid.look(chosen, None).to(self.device))
            captions = self.valid.ids(self.tokenizer, chosen).to(self.device)
            totals.append(sum_loss(self.network(features, shift_targets(captions)), captions))
            if first < POINTED:
                right += self._points(features[: POINTED - first], chosen[: POINTED - first])
        loss = mean_loss(totals)
        if not right:
            return {"valid_loss": loss, "score": loss}
        pointing = float(np.mean(right))
        return {"valid_loss": loss, "valid_pointing": pointing, "score": loss - WORTH * pointing}

    def save(self, folder: Path) -> None:
        """Write the tokenizer."""
        self.tokenizer.save(folder / TOKENIZER)

    def describe(self) -> Description:
        """Return the task's part of the model card."""
        config = self.network.config
        texts = self.train.about(self.network.encoder_config.kind)
        # A network without attention cannot point, so only its loss counts.
        chosen_by = CHOSEN_BY if config.layers else "validation loss"
        return Description(
            family=self.config.network,
            title=f"{texts.title}, {config.about}{TOLD if self.config.told else ''}",
            task="caption",
            level="word",
            mechanism=config.mechanism,
            trained_length=max(len(text.split()) for text in self.train.texts()),
            config=asdict(config),
            data=texts.data,
            limits=texts.limits + self._about_told(),
            licence=texts.licence,
            recipe={"chosen_by": chosen_by, "encoder": dict(self.train.encoder)},
        )

    def _about_told(self) -> str:
        """Return the card's sentence about a head with supervised attention, or "" without one."""
        if not self.config.told:
            return ""
        layer, head = self.config.told_head
        return (
            f" Head {head + 1} of layer {layer + 1} was told where to look: gold boxes taught it,"
            " so its maps show what it was taught."
        )

    def _features(self, pictures: Tensor) -> Tensor:
        """Return features [B, M, C] in float32, from pixels or from finished features."""
        return (
            self.network.encode_pictures(pictures)
            if pictures.dtype == torch.uint8
            else pictures.float()
        )

    def _points(self, features_BMC: Tensor, chosen: IntArray) -> list[bool]:
        """Return whether attention points into the box of each boxed word in the first captions."""
        config = self.network.config
        if not config.layers:
            return []
        grounded = [self.valid.grounded[index][0] for index in chosen.tolist()]
        captions = pad_rows([self.tokenizer.ids(sentence.text) for sentence in grounded]).to(
            self.device
        )
        run = self.network.attend(features_BMC, shift_targets(captions))
        layer, heads = config.layers - 1, slice(None)
        if self.config.told:
            layer, told = self.config.told_head
            heads = slice(told, told + 1)
        areas = config.areas(layer).make_grid(features_BMC.shape[1])
        weights_BQA = run.weights["encoder-decoder"][layer][:, heads].mean(1).cpu().numpy()
        sentences = [(sentence.text, sentence.boxes) for sentence in grounded]
        return find_words_pointed_right(weights_BQA, areas, self.tokenizer, sentences)


def _check_told(config: CaptionsConfig) -> None:
    """Check that the recipe can supervise attention.

    Raises:
        InputError: The network does not support it, or the photos change with every update.
    """
    if not config.told:
        return
    if config.network != "captioner":
        raise InputError(
            f'The recipe "{config.name}" trains attention with gold boxes (told ='
            f' {config.told}). Only the network "captioner" supports that. Leave told out.'
        )
    if config.pictures == "photos" and not config.encoder_run:
        raise InputError(
            f'The recipe "{config.name}" trains attention with gold boxes on photos that'
            " change with every update. Give an encoder_run, whose views of a photo are"
            " fixed."
        )


def compute_word_loss(
    network: Any, features_BMC: Tensor, captions_NT: Tensor, config: CaptionsConfig
) -> Tensor:
    """Compute the cross-entropy of the next word with label smoothing."""
    logits_NTV = network(features_BMC, shift_targets(captions_NT)).float()
    return compute_cross_entropy(logits_NTV, captions_NT, config.label_smoothing)


TOLD = ", told where to look"
"""Suffix for the title of a model whose attention was supervised with boxes."""

OWN_LOSSES: Mapping[str, Callable[[Any, Tensor, Tensor, CaptionsConfig], Tensor]] = {
    "teller": show_attend_tell_loss
}
"""Losses of networks that need another loss than the cross-entropy of the next word."""


# Localisation by whole areas, which compares the top area of a word with its gold boxes.
#
# `areaviz.measures.pointing` evaluates the top cell. Here, an area is evaluated as a whole.
#
# Shapes: A areas, R rows and C columns of possible positions of areas of one shape.


def compute_area_hits(rows: Iterable[tuple[Floats, AreaGrid, Sequence[Box]]]) -> dict[str, float]:
    """Compute the figures of the top areas of many words. Ties are resolved by index.

    - multi_words: share of the words whose top area has several cells.
    - overlap: mean intersection over union of the top area and the boxes.
    - overlap_cell: mean intersection over union of the top single cell and the boxes.
    - overlap_lift: overlap divided by overlap_cell.
    - overlap_best_cell and overlap_best: mean overlap of the best cell and of the best area
      regardless of weights, which are the upper limits for cells and areas.
    - area_hit: share of the words whose top area has its centre in a box.
    - area_hit_fixed: the area_hit of areas of the same shapes at one fixed position per shape,
    which is the best one for the given words.

    Args:
        rows: For each word its weights [A], their grid and its gold boxes.

    Raises:
        ValueError: There are no words.
    """
    words = several = hits = 0
    overlaps_4 = np.zeros(4)
    sums: dict[tuple[int, int], Floats] = {}
    for weights_A, grid, boxes in rows:
        top = grid.area(int(weights_A.argmax()))
        overlap_A = compute_box_overlaps(grid, boxes)
        hit_RC = _find_centres_inside(top, grid, boxes)
        shape = (top.height, top.width)
        sums[shape] = sums.get(shape, np.zeros(hit_RC.shape)) + hit_RC
        hits += int(hit_RC[top.top, top.left])
        several += top.size > 1
        # Single cells come first in the order of areas.
        cells_N = overlap_A[: grid.items]
        cell = int(weights_A[: grid.items].argmax())
        own = overlap_A[grid.index(top)]
        overlaps_4 += own, cells_N[cell], cells_N.max(), overlap_A.max()
        words += 1
    if not words:
        raise ValueError("Figures need at least one word that has gold boxes, got none.")
    overlap, overlap_cell, best_cell, best = (overlaps_4 / words).tolist()
    return {
        "multi_words": several / words,
        "overlap": overlap,
        "overlap_cell": overlap_cell,
        "overlap_lift": overlap / max(overlap_cell, 1e-9),
        "overlap_best_cell": best_cell,
        "overlap_best": best,
        "area_hit": hits / words,
        "area_hit_fixed": float(sum(hit_RC.max() for hit_RC in sums.values())) / words,
    }


def _find_centres_inside(area: Area, grid: AreaGrid, boxes: Sequence[Box]) -> Floats:
    """Return whether an area of this shape has its centre in a box at each position: [R, C]."""
    top_R = np.arange(grid.height - area.height + 1)
    left_C = np.arange(grid.width - area.width + 1)
    y_R, x_C = (top_R + area.height / 2) / grid.height, (left_C + area.width / 2) / grid.width
    inside_RC: Floats = find_coordinates_in_boxes(x_C, y_R, boxes).astype(np.float64)
    return inside_RC


# Evaluation of captioners on held-out pictures, for the figures of their cards.
#
# Shapes: H heads, Q words, A areas.


SITE = "encoder-decoder"
OF_AREAS = ("multi_words", "overlap", "overlap_lift", "area_hit")
"""Figures of areas for which the untrained network is measured as well."""


@dataclass(frozen=True, slots=True)
class Held:
    """Held-out pictures with their captions."""

    pictures: Sequence[Picture]
    references: Sequence[Sequence[str]]
    grounded: Sequence[Sequence[GroundedSentence]]
    # All true sentences of each picture. Empty if they are not all known.
    true: Sequence[Mapping[str, GroundedSentence]]
    # The true sentences under a looser rule: for objects on a diagonal, both relations are
    # accepted.
    nearly: Sequence[Mapping[str, GroundedSentence]] = ()


def read_held_out_pictures(pictures: str, split: str, data: Path, side: int) -> Held:
    """Return the "photos" or "scenes" of a split, `side` pixels wide and high."""
    if pictures == "photos":
        photos = read_photos(data, split)
        made = [Picture.of("photo", pixels) for pixels in read_pixels(data, photos, side)]
        captions = [photo.captions for photo in photos]
        return Held(made, captions, [photo.grounded for photo in photos], ())
    scenes = make_scenes(split)
    return Held(
        [Picture.of("scene", scene.pixels(side)) for scene in scenes],
        [(scene.english.text,) for scene in scenes],
        [(scene.grounded,) for scene in scenes],
        [scene.list_true_sentences() for scene in scenes],
        [scene.list_true_sentences(TIE) for scene in scenes],
    )


def evaluate_captions(model: GenerationModel, data: Path, split: str, options: Options) -> Measured:
    """Measure a captioner on "val" or "test".

    "val" chooses the head that points best and writes it to the card, together with the figures of
    every head. "test" measures the chosen head.

    Raises:
        InputError: "val" has not been measured yet.
    """
    card, network = model.card, model.network
    assert isinstance(network, PictureNetwork)
    attends = network.config.layers > 0
    if attends:
        check_chosen(card, split)
    held = read_held_out_pictures(card.pictures, split, data, network.encoder_config.side)
    written = _write_captions(model, held, options) if options.outputs else Measured({})
    if not attends:
        return written
    first, attention = _measure_attention(model, held, written.outputs, split)
    heads: Mapping[str, Mapping[str, Any]] = {}
    opening: Mapping[str, Opening] = {SITE: first} if split == "val" else {}
    if split == "val" and options.traces:
        heads = measure_heads_for_card(model, _make_given_requests(model, held)[: options.traces])
        assert first.pointing_head is not None
        layer, head = first.pointing_head
        attention["cell"] = find_largest(heads[SITE], "cell")
        attention["multi_share"] = heads[SITE]["multi_share"][layer][head]
        opened = make_pointing_opening(heads[SITE], first.pointing_head)
        opening = {**choose_openings(heads), SITE: replace(opened, best=first.best)}
    measured = {f"{SITE}, {split}": attention}
    return replace(written, attention=measured, heads=heads, opening=opening)


def _write_captions(model: GenerationModel, held: Held, options: Options) -> Measured:
    """Write a caption for every picture and score the captions."""
    from areaviz.measures.references import score_captions

    requests = [
        Request(model.card.name, "", options.method, options.beam, picture=picture)
        for picture in held.pictures
    ]
    captions = model.generate_outputs(requests)
    figures: dict[str, Any] = {**score_captions(captions, held.references), "beam": options.beam}
    if held.true:
        is_true = [text in true for text, true in zip(captions, held.true, strict=True)]
        figures["true"] = 100 * float(np.mean(is_true))
        nearly = [text in true for text, true in zip(captions, held.nearly, strict=True)]
        figures["true_tie"] = 100 * float(np.mean(nearly))
    return Measured(figures, outputs=captions)


def _make_given_requests(model: GenerationModel, held: Held) -> list[Request]:
    """Return a request for every picture, with its first reference as the given output."""
    return [
        Request(model.card.name, "", picture=picture, target=sentences[0].text)
        for picture, sentences in zip(held.pictures, held.grounded, strict=True)
    ]


def _measure_attention(
    model: GenerationModel, held: Held, captions: Sequence[str], split: str
) -> tuple[Opening, dict[str, float]]:
    """Return how pages first show the picture, and how well the heads point.

    "val" chooses the heads. The first grounded sentence of each picture is given instead of the
    model's own, so that words and boxes are known. If all true sentences are known, those captions
    of the model that are true are measured as well.
    """
    config = model.network.config
    given = _read_attention(model, held.pictures, [sentences[0] for sentences in held.grounded])
    measured: dict[Place, dict[str, float]] = {}
    for layer in range(config.layers):
        for head in range(config.heads):
            measured[layer, head] = compute_pointing_figures(_iterate_rows(given, layer, head))
    place = choose_pointing_head(model.card, split, measured)
    blank = _read_attention(model.make_untrained(), given.pictures, given.sentences)
    untrained = compute_pointing_figures(_iterate_rows(blank, *place))
    words, blank_words = _collect_pointed_words(given), _collect_pointed_words(blank)
    first = choose_pointing_opening(model.card, SITE, place, words, split)
    figures = {
        **measured[place],
        "pointing_untrained": untrained["pointing"],
        "mass_untrained": untrained["mass"],
        **measure_areas(given, blank, place),
        "pointing_mean_of_heads": float(np.mean([one["pointing"] for one in measured.values()])),
        **measure_best_pointing("pointing", words, blank_words, first.best, measured[place]),
    }
    pictures, sentences = [], []
    for picture, text, true in zip(held.pictures, captions, held.true, strict=False):
        if text in true:
            pictures.append(picture)
            sentences.append(true[text])
    if pictures:
        own = compute_pointing_figures(
            _iterate_rows(_read_attention(model, pictures, sentences), *place)
        )
        figures |= {f"own_{name}": value for name, value in own.items()}
    return first, figures


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """Pictures, one sentence for each, and the model's attention while it reads them."""

    pictures: Sequence[Picture]
    sentences: Sequence[GroundedSentence]
    # For each picture, one array [H, Q, A] per layer.
    weights: Sequence[Sequence[Floats]]
    # For each sentence, the token of every word.
    tokens: Sequence[Sequence[int]]
    # The areas of each layer.
    grids: Sequence[AreaGrid]


def _read_attention(
    model: GenerationModel, pictures: Sequence[Picture], sentences: Sequence[GroundedSentence]
) -> Read:
    """Return the attention of the model with every sentence given, computed in batches."""
    network = model.network
    weights: list[Sequence[Floats]] = []
    for first in range(0, len(pictures), GENERATION_BATCH):
        part = range(first, min(first + GENERATION_BATCH, len(pictures)))
        run = model.attend(
            [
                Request(model.card.name, "", picture=pictures[i], target=sentences[i].text)
                for i in part
            ]
        )
        layers = [layer.float().cpu().numpy() for layer in run.weights[SITE]]
        weights += zip(*layers, strict=True)
    cells = network.areas("picture").make_grid(0).items
    grids = [network.config.areas(layer).make_grid(cells) for layer in range(network.config.layers)]
    tokens = [model.tokenizer.find_word_starts(one.text) for one in sentences]
    return Read(pictures, sentences, weights, tokens, grids)


def measure_areas(given: Read, blank: Read, place: Place) -> dict[str, float]:
    """Return the figures of a head's areas, with those of the untrained network's areas.

    The figures of the untrained network have the suffix _untrained. Attention to single cells gives
    an empty result.
    """
    grid = given.grids[place[0]]
    if grid.count == grid.items:
        return {}
    found = compute_area_hits(_iterate_rows(given, *place))
    before = compute_area_hits(_iterate_rows(blank, *place))
    return found | {f"{name}_untrained": before[name] for name in OF_AREAS}


def _collect_pointed_words(read: Read) -> PointedWords:
    """Return the cells of every word with boxes in all heads, and which of them are in a box."""
    found = []
    for weights_L, tokens, sentence in zip(read.weights, read.tokens, read.sentences, strict=True):
        layers = zip(weights_L, read.grids, strict=True)
        cells_LHQN = np.array([sum_coverage(weights, grid) for weights, grid in layers])
        if sentence.boxes:
            right = [find_centres_inside(read.grids[0], boxes) for _, boxes in sentence.boxes]
            queries = [tokens[word] for word, _ in sentence.boxes]
            found.append(PointedWords.of(cells_LHQN, queries, np.array(right)))
    return PointedWords.joined(found)


def _iterate_rows(
    read: Read, layer: int, head: int
) -> Iterator[tuple[Floats, AreaGrid, Sequence[Box]]]:
    """Yield each boxed word's weights in one head, the areas, and the boxes of the word."""
    for weights_L, tokens, sentence in zip(read.weights, read.tokens, read.sentences, strict=True):
        for word, boxes in sentence.boxes:
            yield weights_L[layer][head, tokens[word]], read.grids[layer], boxes
