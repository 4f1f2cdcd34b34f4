"""Translation with a picture: pairs for training, training, and evaluation.

The evaluation compares outputs with and without the picture, and tests words that only the
picture shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from areaviz.cards.card import Opening
from areaviz.lab.heads import measure_heads_for_card
from areaviz.lab.loop import Description, TrainConfig, optimise_for_training, step_generators
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
from areaviz.lab.multi30k import read_split
from areaviz.lab.pictures import (
    VIEWS,
    CaptionedPictures,
    Photo,
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
    find_longest,
    find_words_pointed_right,
    mean_loss,
    run_tokenizer,
    sum_loss,
)
from areaviz.lab.tasks.translation import compute_length_limit, encode_pairs
from areaviz.measures.pointing import (
    Floats,
    PointedWords,
    compute_pointing_figures,
    find_centres_inside,
)
from areaviz.models.base import TOKENIZER
from areaviz.models.generation import GENERATION_BATCH, GenerationModel
from areaviz.models.network import PictureNetwork
from areaviz.models.picture_translation import SITES, DoublyAttentiveTransformer, TwoMemoriesConfig
from areaviz.models.tokenizer import Tokenizer, pad_rows, shift_targets
from areaviz.samples.dataset import FUNCTION_WORDS, Box, Boxes
from areaviz.samples.scenes import AMBIGUOUS, MASK, SCENE_PIXELS, Scene, Sentence, make_scenes
from areaviz.trace.areas import AreaGrid, sum_coverage
from areaviz.trace.request import Picture, Request

# Training sentence pairs with pictures, in batches of one kind each.
#
# Shapes: B examples, M source items, T target items, P cells, C channels.


BATCH_KINDS = ("text", "caption", "triple")
"""Kinds of batches: sentence pairs, pictures with a sentence of the target language, and both."""


@dataclass(frozen=True, slots=True)
class Example:
    """One example, with a picture, a source sentence or both."""

    # Index of the picture, or -1 for none.
    picture: int
    # Source sentence, or "" for none.
    source: str
    target: str
    # Indices of the source words that can be masked, because a picture may show them.
    maskable: tuple[int, ...] = ()
    # Index and gold boxes of each target word that has boxes.
    boxes: Boxes = ()

    def masked(self, share: float, rng: np.random.Generator) -> str:
        """Return the source with each maskable word masked with probability `share`."""
        words = self.source.split(" ")
        hidden = {index for index in self.maskable if rng.random() < share}
        return " ".join(MASK if index in hidden else word for index, word in enumerate(words))


@dataclass(frozen=True, slots=True)
class PairBatch:
    """A batch of one kind."""

    # Token ids [B, M], or None without sources.
    source: Tensor | None
    # Features [B, P, C], or None without pictures.
    pictures: Tensor | None
    # Token ids [B, T], which begin with the start symbol.
    target_in: Tensor
    # Token ids [B, T].
    target_out: Tensor

    def to(self, device: torch.device) -> PairBatch:
        """Return the batch on `device`, with features in single precision."""
        source = None if self.source is None else self.source.to(device)
        pictures = None if self.pictures is None else self.pictures.to(device).float()
        return PairBatch(source, pictures, self.target_in.to(device), self.target_out.to(device))


@dataclass(frozen=True, slots=True, eq=False)
class TrainingPairs:
    """Pictures, and the examples of each kind."""

    pictures: CaptionedPictures
    examples: Mapping[str, Sequence[Example]]

    def texts(self) -> Iterator[str]:
        """Yield the mask and every sentence of both languages."""
        yield MASK
        for examples in self.examples.values():
            yield from (text for one in examples for text in (one.source, one.target) if text)

    def batch(
        self,
        kind: str,
        chosen: Sequence[Example],
        tokenizer: Tokenizer,
        share: float,
        rng: np.random.Generator | None,
    ) -> PairBatch:
        """Return examples of a kind as a batch.

        Each maskable word of a source is masked with probability `share`. Without `rng`, pictures
        are unchanged and the masked words are always equal.
        """
        drawn = rng or np.random.default_rng(0)
        target_out = pad_rows([tokenizer.ids(one.target) for one in chosen])
        source, pictures = None, None
        if kind != "caption":
            source = pad_rows([tokenizer.ids(one.masked(share, drawn)) for one in chosen])
        if kind != "text":
            pictures = self.pictures.look(np.array([one.picture for one in chosen]), rng)
        return PairBatch(source, pictures, shift_targets(target_out), target_out)

    def draw(self, kind: str, count: int, rng: np.random.Generator) -> list[Example]:
        """Draw `count` examples of a kind with targets of similar length, to save padding."""
        examples = self.examples[kind]
        several = [examples[i] for i in rng.integers(len(examples), size=4 * count).tolist()]
        several.sort(key=lambda one: len(one.target))
        first = int(rng.integers(4)) * count
        return several[first : first + count]


def read_training_pairs(
    pictures: str, split: str, data: Path, runs: Path, side: int = SCENE_PIXELS
) -> TrainingPairs:
    """Return the "photos" or "scenes" of "train" or "val", `side` pixels wide and high.

    Raises:
        FileNotFoundError: A corpus is not in `data`.
    """
    seen = read_captioned_pictures(pictures, split, data, runs, side)
    if pictures == "scenes":
        return TrainingPairs(seen, _make_examples_from_scenes(split))
    photos = read_photos(data, split)
    return TrainingPairs(seen, _make_examples_from_photos(photos, _read_pairs(data, split, photos)))


def _make_examples_from_scenes(split: str) -> dict[str, list[Example]]:
    triples, captions = [], []
    for number, scene in enumerate(make_scenes(split)):
        source, target = scene.english, scene.german.text
        boxes = scene.german_grounded.boxes
        triples.append(Example(number, source.text, target, find_seen_words(source), boxes))
        captions.append(Example(number, "", target))
    return {"text": triples, "caption": captions, "triple": triples}


def find_seen_words(sentence: Sentence) -> tuple[int, ...]:
    """Return the indices of the words that the picture shows: sizes, colours and shapes."""
    kinds = enumerate(sentence.kinds)
    return tuple(index for index, kind in kinds if kind in ("size", "colour", "noun"))


def _make_examples_from_photos(
    photos: Sequence[Photo], pairs: Sequence[tuple[str, str]]
) -> dict[str, list[Example]]:
    triples, captions = [], []
    for number, photo in enumerate(photos):
        if photo.pair is not None:
            triples.append(Example(number, *photo.pair, _find_content_words(photo.pair[0])))
        captions += [Example(number, "", text) for text in photo.german]
    return {"text": [Example(-1, *pair) for pair in pairs], "caption": captions, "triple": triples}


def _find_content_words(text: str) -> tuple[int, ...]:
    """Return the indices of the words that are not function words."""
    words = [word.lower().strip(".,") for word in text.split(" ")]
    return tuple(index for index, word in enumerate(words) if word not in FUNCTION_WORDS)


def _read_pairs(data: Path, split: str, photos: Sequence[Photo]) -> list[tuple[str, str]]:
    """Return the sentence pairs of a split.

    The training pairs of Multi30k that belong to a photo of another split are left out. Training
    therefore never reads a held-out sentence.
    """
    if split != "train":
        return [photo.pair for photo in photos if photo.pair is not None]
    held = set()
    for other in ("val", "test"):
        held |= {photo.pair[0] for photo in read_photos(data, other) if photo.pair is not None}
    return [pair for pair in read_split(data, "train") if pair[0] not in held]


# Training of the Transformer with two memories: a text and a picture.
#
# Batches of sentence pairs, of pictures with a sentence, and of both are mixed (Arslan et al. 2018,
# section 6.1). Shapes: B examples, T target items, A areas.


LEVELS = {"photos": "token", "scenes": "word"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureTranslationConfig(TrainConfig):
    """The recipe of a translator that also reads pictures.

    Args:
        pictures: "photos" or "scenes".
        encoder_run: Name of the run whose picture encoder is loaded and frozen.
        views: Number of versions of each training photo that the encoder encodes.
        mixture: Share of the batches of each kind in `BATCH_KINDS`.
        hide: Probability of masking a source word that the picture may show.
        batch: Examples per update.
        vocabulary: Largest number of items in the tokenizer.
        label_smoothing: Label smoothing for the next token, 0 to 1.
    """

    pictures: str
    encoder_run: str
    views: int = VIEWS
    mixture: Mapping[str, float] = field(
        default_factory=lambda: {"text": 0.3, "caption": 0.2, "triple": 0.5}
    )
    hide: float = 0.3
    batch: int = 64
    vocabulary: int = 6000
    label_smoothing: float = 0.1


@dataclass(slots=True)
class PictureTranslation:
    """The task: sentence pairs, pictures, and both together."""

    Recipe: ClassVar[type[TrainConfig]] = PictureTranslationConfig

    config: PictureTranslationConfig
    network: DoublyAttentiveTransformer
    tokenizer: Tokenizer
    train: TrainingPairs
    valid: TrainingPairs
    device: torch.device

    @classmethod
    def build(
        cls, config: PictureTranslationConfig, data: Path, folder: Path, device: torch.device
    ) -> Self:
        """Read or draw the pictures, learn the tokenizer and make the network."""
        side = get_picture_side(config.model)
        train = read_training_pairs(config.pictures, "train", data, folder.parent, side)
        valid = read_training_pairs(config.pictures, "val", data, folder.parent, side)
        level = LEVELS[config.pictures]
        tokenizer = run_tokenizer(folder / TOKENIZER, train.texts(), config.vocabulary, level)
        torch.manual_seed(config.seed)
        network = DoublyAttentiveTransformer(TwoMemoriesConfig(len(tokenizer), **config.model))
        network = optimise_for_training(network.to(device), device)
        run, encoder = folder.parent / config.encoder_run, network.pictures
        train = replace(train, pictures=train.pictures.encoded(encoder, run, device, config.views))
        valid = replace(valid, pictures=valid.pictures.encoded(encoder, run, device))
        return cls(config, network, tokenizer, train, valid, device)

    def batches(self, first_step: int) -> Iterator[PairBatch]:
        """Yield batches without end. The kind of each batch is drawn at random."""
        shares = [self.config.mixture.get(kind, 0.0) for kind in BATCH_KINDS]
        for rng in step_generators(self.config.seed, first_step):
            kind = str(rng.choice(BATCH_KINDS, p=shares))
            chosen = self.train.draw(kind, self.config.batch, rng)
            batch = self.train.batch(kind, chosen, self.tokenizer, self.config.hide, rng)
            yield batch.to(self.device)

    def loss(self, batch: PairBatch) -> Tensor:
        """Compute the cross-entropy of the next token with label smoothing, in nats."""
        logits = self.network(batch.source, batch.pictures, batch.target_in)
        return compute_cross_entropy(logits.float(), batch.target_out, self.config.label_smoothing)

    def validate(self, step: int) -> dict[str, float]:
        """Measure cross-entropy per token with the picture, without it and with a wrong picture.

        The wrong picture is that of the next example. If there are gold boxes, the share of words
        for which the best head points into a box is also measured.
        """
        examples = self.valid.examples["triple"][:1024]
        # A translator that ignores pictures has an equal loss with a wrong picture.
        turned = [*examples[1:], examples[0]]
        wrong = []
        for one, other in zip(examples, turned, strict=True):
            wrong.append(replace(one, picture=other.picture))
        loss = self._loss("triple", examples)
        losses = {
            "valid_loss": loss,
            "valid_loss_without": self._loss("text", examples),
            "valid_loss_wrong": self._loss("triple", wrong),
        }
        if not examples[0].boxes:
            return {**losses, "score": loss}
        pointing = self._measure_pointing(examples[:POINTED])
        return {**losses, "valid_pointing": pointing, "score": loss - WORTH * pointing}

    def save(self, folder: Path) -> None:
        """Write the tokenizer."""
        self.tokenizer.save(folder / TOKENIZER)

    def describe(self) -> Description:
        """Return the task's part of the model card."""
        texts = self.train.pictures.about(self.network.encoder_config.kind)
        triples = self.valid.examples["triple"]
        pairs = encode_pairs(self.tokenizer, [(one.source, one.target) for one in triples])
        counts = {kind: f"{len(examples):,}" for kind, examples in self.train.examples.items()}
        return Description(
            family="doubly",
            title=TITLES[self.config.pictures],
            task="picture translation",
            level=LEVELS[self.config.pictures],
            mechanism=self.network.config.mechanism,
            trained_length=find_longest(
                self.tokenizer.ids(source) for source in self._list_sources()
            ),
            config=asdict(self.network.config),
            data={**texts.data, "examples": counts},
            limits=texts.translated,
            licence=texts.licence,
            recipe={
                "length_limit": compute_length_limit(pairs),
                "encoder": dict(self.train.pictures.encoder),
                "chosen_by": CHOICES[self.config.pictures],
            },
        )

    def _list_sources(self) -> set[str]:
        """Return the sources of all training pairs, with or without a picture."""
        return {one.source for kind in ("text", "triple") for one in self.train.examples[kind]}

    def _measure_pointing(self, examples: Sequence[Example]) -> float:
        """Return the share of words with boxes for which the best head points into a box."""
        areas = self.network.areas("picture").make_grid(0)
        right: dict[int, list[bool]] = {}
        for part, batch in self._batches("triple", examples, 0.0):
            run = self.network.attend(batch.source, batch.pictures, batch.target_in)
            sentences = [(one.target, one.boxes) for one in part]
            heads = torch.cat(run.weights[SITES["picture"]], 1).unbind(1)
            for head, weights_BTA in enumerate(heads):
                weights = weights_BTA.float().cpu().numpy()
                found = find_words_pointed_right(weights, areas, self.tokenizer, sentences)
                right.setdefault(head, []).extend(found)
        return max(float(np.mean(words)) for words in right.values())

    def _loss(self, kind: str, examples: Sequence[Example]) -> float:
        totals = []
        for _, batch in self._batches(kind, examples, self.config.hide):
            logits = self.network(batch.source, batch.pictures, batch.target_in)
            totals.append(sum_loss(logits, batch.target_out))
        return mean_loss(totals)

    def _batches(
        self, kind: str, examples: Sequence[Example], hide: float
    ) -> Iterator[tuple[Sequence[Example], PairBatch]]:
        """Yield validation examples in batches of 64."""
        for first in range(0, len(examples), 64):
            part = examples[first : first + 64]
            batch = self.valid.batch(kind, part, self.tokenizer, hide, None)
            yield part, batch.to(self.device)


TITLES = {"photos": "Translation with a photo", "scenes": "Translation with a shape scene"}
CHOICES = {
    "photos": "validation loss: no gold boxes are known for the German words",
    "scenes": f"{CHOSEN_BY} of the best head",
}


# Words of a scene's sentence that only the picture shows, and how often they are right.


WORD_KINDS = ("colour", "noun", "ambiguous")
"""The kinds of tested words: a hidden colour, a hidden noun with two German translations, and a
visible noun with two translations.
"""


@dataclass(frozen=True, slots=True)
class TestedWord:
    """One word that is tested."""

    # Index of the scene.
    number: int
    # Source text.
    source: str
    # Index of the word in the translation.
    place: int
    # The right word.
    word: str


def choose_tested_words(scenes: Sequence[Scene], kind: str) -> list[TestedWord]:
    """Return the tested word of each scene, for a kind of `WORD_KINDS`.

    Scenes without such a word are left out.
    """
    found = []
    for number, scene in enumerate(scenes):
        one = _choose_tested_word(number, scene, kind)
        if one is not None:
            found.append(one)
    return found


def compute_share_of_right_words(translations: Sequence[str], asked: Sequence[TestedWord]) -> float:
    """Return the share of translations with the right word at its place, 0 to 1."""
    right = 0
    for text, one in zip(translations, asked, strict=True):
        right += text.split()[one.place : one.place + 1] == [one.word]
    return right / len(asked)


def _choose_tested_word(number: int, scene: Scene, kind: str) -> TestedWord | None:
    """Return the tested word of a suitable object.

    It is the first suitable object of the scene, or the last one if `number` is even.
    """
    things = []
    for index, spoken in enumerate(scene.spoken):
        if kind == "colour" or spoken.shape in AMBIGUOUS:
            things.append(index)
    if not things:
        return None
    thing = things[-1] if number % 2 == 0 else things[0]
    word = "colour" if kind == "colour" else "noun"
    source = scene.english
    if kind != "ambiguous":
        source = source.masked(_find_place(source, thing, word))
    place = _find_place(scene.german, thing, word)
    return TestedWord(number, source.text, place, scene.german.words[place])


def _find_place(sentence: Sentence, thing: int, kind: str) -> int:
    """Return the position in a sentence of the colour or the noun of an object."""
    return list(zip(sentence.objects, sentence.kinds, strict=True)).index((thing, kind))


# Evaluation of translators that also read pictures, with and without the picture.
#
# If gold boxes are known, the evaluation also measures whether attention points into them. Shapes:
# L layers, H heads, T target items, A areas.


CONDITIONS = ("", "_without", "_blank", "_wrong")
"""Suffixes for the true picture, no picture, a grey picture and the next example's picture."""
Seen = Sequence[Picture | None]


@dataclass(frozen=True, slots=True)
class PicturePairs:
    """Held-out examples."""

    pictures: Sequence[Picture]
    sources: Sequence[str]
    targets: Sequence[str]
    # The scenes of the pictures. Empty for photos.
    scenes: Sequence[Scene] = ()


def read_picture_pairs(pictures: str, split: str, data: Path, side: int) -> PicturePairs:
    """Read the "photos" with a translation, or the "scenes", of a split.

    Pictures are `side` pixels wide and high.

    Raises:
        FileNotFoundError: The photos are not in `data`.
    """
    if pictures == "scenes":
        scenes = make_scenes(split)
        made = [Picture.of("scene", scene.pixels(side)) for scene in scenes]
        english = [scene.english.text for scene in scenes]
        return PicturePairs(made, english, [scene.german.text for scene in scenes], scenes)
    photos = [photo for photo in read_photos(data, split) if photo.pair is not None]
    pairs = [photo.pair for photo in photos if photo.pair is not None]
    made = [Picture.of("photo", pixels) for pixels in read_pixels(data, photos, side)]
    return PicturePairs(made, [source for source, _ in pairs], [target for _, target in pairs])


def evaluate_picture_translation(
    model: GenerationModel, data: Path, split: str, options: Options
) -> Measured:
    """Measure a translator on "val" or "test" in each of `CONDITIONS`."""
    card, network = model.card, model.network
    assert isinstance(network, PictureNetwork)
    if card.pictures == "scenes":
        check_chosen(card, split)
    held = read_picture_pairs(card.pictures, split, data, network.encoder_config.side)
    written = _write_translations(model, held, options) if options.outputs else Measured({})
    site = SITES["picture"]
    first, attention = _measure_attention(model, held, split)
    heads: Mapping[str, Mapping[str, Any]] = {}
    opening: dict[str, Opening] = {}
    if split == "val" and options.traces:
        heads = measure_heads_for_card(model, _make_given_requests(model, held)[: options.traces])
        opening = choose_openings(heads)
        if first is not None and first.pointing_head is not None:
            opened = make_pointing_opening(heads[site], first.pointing_head)
            first = replace(opened, best=first.best)
    if split == "val" and first is not None:
        opening[site] = first
    measured = {f"{site}, {split}": attention}
    return replace(written, attention=measured, heads=heads, opening=opening)


def _write_translations(model: GenerationModel, held: PicturePairs, options: Options) -> Measured:
    """Translate in each condition and score the translations."""
    from areaviz.measures.references import score_translations

    seen = make_conditions(held.pictures)
    outputs = {
        name: translate_texts(model, held.sources, pictures, options)
        for name, pictures in seen.items()
    }
    figures: dict[str, float | int | str] = {
        **score_translations(outputs[""], held.targets),
        "beam": options.beam,
    }
    for name in CONDITIONS[1:]:
        figures[f"bleu{name}"] = score_translations(outputs[name], held.targets)["bleu"]
    if held.scenes:
        figures |= _score_hidden_words(model, held.scenes, seen, options)
    return Measured(figures, outputs=outputs[""])


def _make_given_requests(model: GenerationModel, held: PicturePairs) -> list[Request]:
    """Return a request for every example, with its picture and its translation given."""
    examples = zip(held.sources, held.pictures, held.targets, strict=True)
    return [
        Request(model.card.name, source, picture=picture, target=target)
        for source, picture, target in examples
    ]


def translate_texts(
    model: GenerationModel, sources: Sequence[str], pictures: Seen, options: Options
) -> list[str]:
    """Return the translation of every text, each with its picture or without one."""
    requests = [
        Request(model.card.name, source, options.method, options.beam, picture=picture)
        for source, picture in zip(sources, pictures, strict=True)
    ]
    return model.generate_outputs(requests)


def make_conditions(pictures: Sequence[Picture]) -> Mapping[str, Seen]:
    """Return the pictures of all examples in each of the conditions."""
    grey = Picture.of("grey", np.full((8, 8, 3), 128, np.uint8))
    return {
        "": pictures,
        "_without": [None] * len(pictures),
        "_blank": [grey] * len(pictures),
        "_wrong": [*pictures[1:], pictures[0]],
    }


def _score_hidden_words(
    model: GenerationModel, scenes: Sequence[Scene], seen: Mapping[str, Seen], options: Options
) -> dict[str, float | int]:
    """Return the share of right words that only the picture shows, in each condition.

    The figures also have the number of tested sentences of each kind.
    """
    figures: dict[str, float | int] = {}
    for kind in WORD_KINDS:
        asked = choose_tested_words(scenes, kind)
        sources = [one.source for one in asked]
        for name, pictures in seen.items():
            part = [pictures[one.number] for one in asked]
            translations = translate_texts(model, sources, part, options)
            figures[f"{kind}{name}"] = compute_share_of_right_words(translations, asked)
        figures[f"{kind}_sentences"] = len(asked)
    return figures


@dataclass(frozen=True, slots=True, eq=False)
class Looked:
    """Attention on one example with its reference given."""

    # Weights on the picture, [L, H, T, A].
    weights: Floats
    # The picture's share of the sum of both context vectors, [T].
    share: Floats


def _measure_attention(
    model: GenerationModel, held: PicturePairs, split: str
) -> tuple[Opening | None, dict[str, float]]:
    """Return how pages first show the picture, and the metrics of attention.

    "val" chooses the heads that point best. Without boxes, the first result is None.
    """
    looked = list(iterate_passes(model, held))
    figures = {"picture_share": float(np.mean(np.concatenate([one.share for one in looked])))}
    if not held.scenes:
        return None, figures
    config, areas = model.network.config, model.network.areas("picture")
    grid = areas.make_grid(0)
    measured: dict[Place, dict[str, float]] = {}
    for layer in range(config.layers):
        for head in range(config.heads):
            rows = _iterate_rows(looked, held.scenes, grid, layer, head)
            measured[layer, head] = compute_pointing_figures(rows)
    place = choose_pointing_head(model.card, split, measured)
    blank = list(iterate_passes(model.make_untrained(), held))
    untrained = compute_pointing_figures(_iterate_rows(blank, held.scenes, grid, *place))
    words = _collect_pointed_words(looked, held.scenes, grid)
    first = choose_pointing_opening(model.card, SITES["picture"], place, words, split)
    figures |= measured[place]
    figures |= {f"{name}_untrained": untrained[name] for name in ("pointing", "mass")}
    figures |= measure_best_pointing(
        "pointing",
        words,
        _collect_pointed_words(blank, held.scenes, grid),
        first.best,
        measured[place],
    )
    return first, figures


def iterate_passes(model: GenerationModel, held: PicturePairs) -> Iterator[Looked]:
    """Yield the attention on every example with its true picture."""
    requests = _make_given_requests(model, held)
    for first in range(0, len(requests), GENERATION_BATCH):
        part = requests[first : first + GENERATION_BATCH]
        run = model.attend(part)
        layers = [layer.float().cpu().numpy() for layer in run.weights[SITES["picture"]]]
        weights_BLHTA = np.stack(layers, 1)
        text = np.stack([layer.cpu().numpy() for layer in run.strength[SITES["text"]]])
        picture = np.stack([layer.cpu().numpy() for layer in run.strength[SITES["picture"]]])
        share_BT = (picture / (picture + text)).mean((0, 2))
        for row, request in enumerate(part):
            length = len(model.tokenizer.ids(request.target or ""))
            yield Looked(weights_BLHTA[row, :, :, :length], share_BT[row, :length])


def _collect_pointed_words(
    looked: Iterable[Looked], scenes: Sequence[Scene], grid: AreaGrid
) -> PointedWords:
    """Return the cells of each German word for an object in all heads, and which are in its box."""
    found = []
    for one, scene in zip(looked, scenes, strict=True):
        known = scene.german_grounded.boxes
        right = [find_centres_inside(grid, boxes) for _, boxes in known]
        queries = [place for place, _ in known]
        found.append(PointedWords.of(sum_coverage(one.weights, grid), queries, np.array(right)))
    return PointedWords.joined(found)


def _iterate_rows(
    looked: Iterable[Looked], scenes: Sequence[Scene], grid: AreaGrid, layer: int, head: int
) -> Iterator[tuple[Floats, AreaGrid, Sequence[Box]]]:
    """Yield the weights of each German word for an object in one head, the areas, and its box."""
    for one, scene in zip(looked, scenes, strict=True):
        for place, boxes in scene.german_grounded.boxes:
            yield one.weights[layer, head, place], grid, boxes
