"""Clips: films of people and moving digits, training of video captioners, and evaluation."""

from __future__ import annotations

import io
import json
import tarfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from areaviz.lab.loop import (
    Description,
    TrainConfig,
    TrainingTexts,
    optimise_for_training,
    read_training_texts,
    step_generators,
)
from areaviz.lab.measure import (
    MOMENTS,
    Measured,
    Options,
    choose_moment_opening,
    measure_best_pointing,
)
from areaviz.lab.sentences import compute_cross_entropy, mean_loss, run_tokenizer, sum_loss
from areaviz.measures.heads import compute_diagonal_dependence
from areaviz.measures.pointing import PointedWords
from areaviz.media.clips import prepare_frames
from areaviz.models.base import TOKENIZER
from areaviz.models.clips import VideoCaptioner, WatcherConfig
from areaviz.models.generation import GenerationModel
from areaviz.models.recurrent import RECURRENT_SITE
from areaviz.models.tokenizer import Tokenizer, pad_rows, shift_targets
from areaviz.samples import dataset, digits
from areaviz.samples.dataset import FUNCTION_WORDS, Box
from areaviz.samples.digits import CLIP_FUNCTION_WORDS, DigitBank, MovingDigit, make_moving_digits
from areaviz.samples.own_media import make_clip
from areaviz.trace.areas import FloatArray
from areaviz.trace.changes import Hide
from areaviz.trace.errors import check_choice
from areaviz.trace.query import item_shares, query_dependence, top_areas
from areaviz.trace.record import Trace
from areaviz.trace.request import Clip, Request

# J-HMDB: 928 clips of one second in which a person does one of 21 actions (Jhuang et al. 2013).
#
# Each clip has a sentence (Gavrilyuk et al. 2018) and the person's box in 12 evenly spaced frames.
# The clips are parts of films and uploads of third parties. They are for research and education
# only. They are read from the user's folder, and no frame or sentence is part of this repository.
# The splits are this project's own. All clips of a film are in one split.
#
# Shapes: N clips, F = 12 frames, H height and W width of a frame in pixels.


Pixels = npt.NDArray[np.uint8]

FILM_FRAMES, COLUMNS = 12, 4
"""Frames per clip, and frames per row of the picture that stores all frames of a clip."""
_FOLDER = "video_jhmdb"


@dataclass(frozen=True, slots=True)
class Film:
    """Everything known about a clip except its pixels."""

    # Name of the picture in the archive that stores its frames.
    name: str
    # One of 21 actions, such as "brush_hair".
    action: str
    # The sentence in lower case, with single spaces between words.
    text: str
    # The person's box in each frame.
    boxes: tuple[Box, ...]


def read_films(folder: Path, split: str) -> list[Film]:
    """Read the clips of "train", "val" or "test", in the order of the corpus.

    Raises:
        FileNotFoundError: The corpus is not in `folder`.
    """
    rows = _iterate_rows(folder / _FOLDER / "clips.jsonl")
    return [_parse_film(row) for row in rows if row["split"] == split]


def read_frames(folder: Path, films: Sequence[Film]) -> Iterator[Pixels]:
    """Yield the frames of each clip, uint8 [F, H, W, 3]. Needs Pillow.

    Raises:
        FileNotFoundError: The archive is not in `folder`, or a clip is not in the archive.
    """
    path = _require_file(folder / _FOLDER / "clips.tar")
    with tarfile.open(path) as archive:
        members = {member.name: member for member in archive}
        for film in films:
            content = archive.extractfile(members[film.name]) if film.name in members else None
            if content is None:
                raise FileNotFoundError(
                    f"{film.name} is not in {path}. Put the whole archive of J-HMDB there."
                )
            yield split_sheet_into_frames(content.read())


def split_sheet_into_frames(content: bytes) -> Pixels:
    """Split a picture into its frames, `COLUMNS` per row: uint8 [F, H, W, 3]."""
    # Imported here, so that sentences can be read without Pillow.
    from PIL import Image

    sheet = np.asarray(Image.open(io.BytesIO(content)).convert("RGB"))
    rows = FILM_FRAMES // COLUMNS
    height, width = sheet.shape[0] // rows, sheet.shape[1] // COLUMNS
    tiles = sheet.reshape(rows, height, COLUMNS, width, 3).swapaxes(1, 2)
    frames: Pixels = tiles.reshape(FILM_FRAMES, height, width, 3)
    return frames


def _parse_film(row: dict[str, Any]) -> Film:
    boxes = tuple(tuple(box) for box in row["boxes"])
    text = " ".join(row["sentence"].lower().split())
    return Film(row["file"], row["action"], text, boxes)


def _iterate_rows(path: Path) -> Iterator[dict[str, Any]]:
    with _require_file(path).open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _require_file(path: Path) -> Path:
    if not path.exists():
        raise FileNotFoundError(
            f"{path} is missing. Put J-HMDB (clips.tar, clips.jsonl) there, or name another"
            " folder with --data."
        )
    return path


# Clips with sentences for the training of video captioners: moving digits, or films of people.
#
# To add a kind of clips, write a class with the methods of `Clips` and add one line to
# `CLIP_KINDS`.
# Shapes: N clips, F frames, S side in pixels.


TRAINING_DRAWINGS, HELD_OUT_DRAWINGS = 400, 100
"""Number of drawings of every digit for training, and for validation and test."""
TRAIN_SEED, VALID_SEED = 11, 12
VALIDATION_CLIPS = 512
"""Number of drawn clips in a validation. Every validation uses the same clips."""
MAX_SHIFT_PX, BRIGHTNESS = 4, 0.25
"""Maximum shift of a training film in pixels, and maximum relative change of its brightness."""


class TrainingClip(Protocol):
    """A clip as a network sees it, with its sentence."""

    @property
    def frames(self) -> Pixels:
        """Frames in grey [F, S, S] or in colour [F, S, S, 3]."""

    @property
    def text(self) -> str:
        """The sentence that describes the clip."""


class Clips(Protocol):
    """The source of a task's clips."""

    @property
    def about(self) -> TrainingTexts:
        """Texts about the clips for a model card."""

    @property
    def function_words(self) -> Collection[str]:
        """The words that no frame shows. Validation does not count them."""

    @property
    def chosen_by(self) -> str:
        """The validation measure that chooses the checkpoint, "loss" or "words".

        With few clips, a network becomes overconfident long before it gets fewer words right.
        """

    @property
    def valid(self) -> Sequence[TrainingClip]:
        """The validation clips. Every validation uses the same clips."""

    def sentences(self) -> Iterator[str]:
        """Yield the sentences whose words become the vocabulary."""

    def drawn(self, rng: np.random.Generator, count: int) -> Sequence[TrainingClip]:
        """Draw `count` training clips with random changes."""


class MovingDigits:
    """Clips of a digit that does two actions in a row. Every batch draws new clips."""

    about = read_training_texts(
        "moving-digits",
        digits=TRAINING_DRAWINGS * len(digits.DIGITS),
        held_out=HELD_OUT_DRAWINGS * len(digits.DIGITS),
        validated=VALIDATION_CLIPS,
    )
    function_words = digits.CLIP_FUNCTION_WORDS
    chosen_by = "loss"

    def __init__(self, data: Path, options: Mapping[str, Any]) -> None:
        held_out = digits.DigitBank(HELD_OUT_DRAWINGS, VALID_SEED)
        rng = np.random.default_rng(VALID_SEED)
        self.valid = digits.make_moving_digits(held_out, rng, VALIDATION_CLIPS)
        self._bank = digits.DigitBank(TRAINING_DRAWINGS, TRAIN_SEED)

    def sentences(self) -> Iterator[str]:
        """Yield every possible sentence in the order of the words."""
        for digit in digits.DIGITS:
            for first in digits.ACTIONS:
                for second in digits.ACTIONS:
                    if first != second:
                        yield f"the {digit} {first} and then {second}"

    def drawn(self, rng: np.random.Generator, count: int) -> list[digits.MovingDigit]:
        """Draw `count` clips of training digits."""
        return digits.make_moving_digits(self._bank, rng, count)


@dataclass(frozen=True, slots=True, eq=False)
class FilmedClip:
    """A film as the network sees it."""

    frames: Pixels
    text: str

    def changed(self, rng: np.random.Generator) -> FilmedClip:
        """Return the film, randomly mirrored, shifted and made lighter or darker.

        All frames are changed alike.
        """
        frames = self.frames
        # Mirroring swaps left and right, so a sentence with these words would become wrong.
        if rng.random() < 0.5 and not {"left", "right"} & set(self.text.split()):
            frames = frames[:, :, ::-1]
        down, across = rng.integers(-MAX_SHIFT_PX, MAX_SHIFT_PX + 1, 2)
        moved = np.roll(frames, (down, across), (1, 2)).astype(np.float32)
        light = rng.uniform(1 - BRIGHTNESS, 1 + BRIGHTNESS)
        return FilmedClip(np.clip(moved * light, 0, 255).astype(np.uint8), self.text)


class Films:
    """Films of people. Each film shows one of 21 actions (J-HMDB)."""

    about = read_training_texts("films")
    function_words = dataset.FUNCTION_WORDS
    chosen_by = "words"

    def __init__(self, data: Path, options: Mapping[str, Any]) -> None:
        config = WatcherConfig(0, **options)
        self._train = prepare_films(data, "train", config)
        self.valid = prepare_films(data, "val", config)

    def sentences(self) -> Iterator[str]:
        """Yield the sentences of the training films."""
        for film in self._train:
            yield film.text

    def drawn(self, rng: np.random.Generator, count: int) -> list[FilmedClip]:
        """Draw `count` training films and change them randomly."""
        chosen = rng.integers(len(self._train), size=count).tolist()
        return [self._train[index].changed(rng) for index in chosen]


def prepare_films(data: Path, split: str, config: WatcherConfig) -> list[FilmedClip]:
    """Return the films of a split as a network sees them.

    Raises:
        FileNotFoundError: See `read_frames`.
    """
    films, found = read_films(data, split), []
    for film, pixels in zip(films, read_frames(data, films), strict=True):
        frames = prepare_frames(pixels, config.frames, config.side, config.colour)
        found.append(FilmedClip(frames, film.text))
    return found


CLIP_KINDS: Mapping[str, Callable[[Path, Mapping[str, Any]], Clips]] = {
    "digits": MovingDigits,
    "people": Films,
}
"""Every kind of clips by its name in recipes.

Its arguments are the folder of the corpora and the options of the network.
"""


# Training of video captioners, called watchers, on clips and sentences that describe them.
#
# Shapes: B clips, F frames, S side in pixels, T words, V vocabulary. Clips in colour are [B, F, S,
# S, 3].


LARGEST_VOCABULARY = 400
"""Maximum number of words in the vocabulary. No kind of clips has so many words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoConfig(TrainConfig):
    """The recipe of a watcher.

    Args:
        clips: Kind of clips, a key of `CLIP_KINDS`.
        batch: Clips per update.
        label_smoothing: Label smoothing for the next word, 0 to 1.
    """

    clips: str = "digits"
    batch: int = 32
    label_smoothing: float = 0.05


@dataclass(slots=True)
class Video:
    """The task: clips, and the sentences that describe them."""

    Recipe: ClassVar[type[TrainConfig]] = VideoConfig

    config: VideoConfig
    tokenizer: Tokenizer
    network: VideoCaptioner
    clips: Clips
    device: torch.device

    @classmethod
    def build(cls, config: VideoConfig, data: Path, folder: Path, device: torch.device) -> Self:
        """Read or draw the clips and make the network."""
        check_choice("clips", config.clips, tuple(CLIP_KINDS))
        clips = CLIP_KINDS[config.clips](data, config.model)
        tokenizer = run_tokenizer(folder / TOKENIZER, clips.sentences(), LARGEST_VOCABULARY)
        torch.manual_seed(config.seed)
        network = VideoCaptioner(WatcherConfig(len(tokenizer), **config.model)).to(device)
        return cls(config, tokenizer, optimise_for_training(network, device), clips, device)

    def batches(self, first_step: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield batches of randomly drawn clips without end."""
        for rng in step_generators(self.config.seed, first_step):
            yield self.batch(self.clips.drawn(rng, self.config.batch))

    def batch(self, clips: Sequence[TrainingClip]) -> tuple[Tensor, Tensor]:
        """Return the frames, uint8 [B, F, S, S], and the token ids of the sentences, [B, T]."""
        frames_BFSS = torch.from_numpy(np.stack([one.frames for one in clips]))
        ids_BT = pad_rows([self.tokenizer.ids(one.text) for one in clips])
        return frames_BFSS.to(self.device), ids_BT.to(self.device)

    def loss(self, batch: tuple[Tensor, Tensor]) -> Tensor:
        """Compute the cross-entropy of the next word with label smoothing, in nats."""
        frames_BFSS, ids_BT = batch
        logits_BTV = self.network.attend(
            frames_BFSS, shift_targets(ids_BT), need_weights=False
        ).logits
        return compute_cross_entropy(logits_BTV, ids_BT, self.config.label_smoothing)

    def validate(self, step: int) -> dict[str, float]:
        """Measure cross-entropy per word in nats, and the accuracy of the content words."""
        totals, right, valid = [], [], self.clips.valid
        for first in range(0, len(valid), self.config.batch):
            clips = valid[first : first + self.config.batch]
            frames_BFSS, ids_BT = self.batch(clips)
            logits_BTV = self.network.attend(frames_BFSS, shift_targets(ids_BT), False).logits
            totals.append(sum_loss(logits_BTV, ids_BT))
            for chosen_T, clip in zip(logits_BTV.argmax(2).tolist(), clips, strict=True):
                wanted = self.tokenizer.ids(clip.text)
                for place, word in enumerate(clip.text.split()):
                    if word not in self.clips.function_words:
                        right.append(chosen_T[place] == wanted[place])
        loss, words = mean_loss(totals), float(np.mean(right))
        score = loss if self.clips.chosen_by == "loss" else -words
        return {"valid_loss": loss, "valid_words": words, "score": score}

    def save(self, folder: Path) -> None:
        """Write the tokenizer."""
        self.tokenizer.save(folder / TOKENIZER)

    def describe(self) -> Description:
        """Return the task's part of the model card."""
        options, about = self.network.config, self.clips.about
        return Description(
            family="watcher",
            title=f"{about.title}, {options.about}",
            task="video",
            level="word",
            mechanism=options.mechanism if options.attends else "none",
            trained_length=options.frames,
            config=asdict(options),
            data=about.data,
            limits=about.limits,
            licence=about.licence,
            recipe={"chosen_by": f"validation {self.clips.chosen_by}"},
        )


# A classifier for the action that a sentence describes, learned from labelled sentences.
#
# It is multinomial naive Bayes over words with add-one smoothing. People describe an action in many
# ways, such as "pulling up" or "doing bar exercise", so a list of verbs would not suffice.
#
# Shapes: A actions, V words.


class ActionClassifier:
    """A trained classifier of actions.

    Args:
        texts: Sentences with words separated by spaces.
        actions: The action that each sentence describes.
    """

    def __init__(self, texts: Sequence[str], actions: Sequence[str]) -> None:
        self.actions = sorted(set(actions))
        seen: dict[str, Counter[str]] = {action: Counter() for action in self.actions}
        for text, action in zip(texts, actions, strict=True):
            seen[action].update(text.split())
        words = sorted({word for counter in seen.values() for word in counter})
        self._column = {word: number for number, word in enumerate(words)}
        counts_AV = np.array([[seen[action][word] for word in words] for action in self.actions])
        self._logs_AV = np.log((counts_AV + 1) / (counts_AV + 1).sum(1, keepdims=True))

    def told(self, text: str) -> str:
        """Return the action that makes the words most probable, or "" if no word is known."""
        known = [self._column[word] for word in text.split() if word in self._column]
        if not known:
            return ""
        sums_A: npt.NDArray[np.float64] = self._logs_AV[:, known].sum(1)
        return self.actions[int(sums_A.argmax())]


# Evaluation of video captioners on held-out films of people, for the figures of their cards.
#
# The data does not say when in a film a word applies. Attention is therefore judged by its effect:
# how much less probable a given sentence becomes without the frames that have most attention.
# Shapes: F frames, T words.


HIDDEN_FRAMES = 3
"""Number of frames that are hidden at once."""
RANDOM_DRAWS = 3
"""Number of random choices of frames per film."""


def evaluate_films(model: GenerationModel, data: Path, split: str, options: Options) -> Measured:
    """Measure a video captioner of people on "val" or "test".

    The figures are those of `score_sentences`. With the suffix `_common` they are the scores of the
    most frequent training sentence. With `_other` they are the scores of the sentence that the
    model wrote for the next film with another action. "nats" is the loss per known token of the
    reference sentence. "nats_other" is this loss with the frames of the other film.
    "action_reference" is how often the reference sentences name the right action by the classifier
    that judges the model.
    """
    films = read_films(data, split)
    clips = [Clip.of("film", pixels) for pixels in read_frames(data, films)]
    name, how = model.card.name, (options.method, options.beam)
    written = model.generate_outputs([Request(name, "", *how, clip=clip) for clip in clips])
    trained = read_films(data, "train")
    told = ActionClassifier([film.text for film in trained], [film.action for film in trained])
    common = Counter(film.text for film in trained).most_common(1)[0][0]
    others = find_next_of_another_action(films)
    figures = {
        **score_sentences(written, films, told),
        **_add_suffix(score_sentences([common] * len(films), films, told), "_common"),
        **_add_suffix(score_sentences([written[other] for other in others], films, told), "_other"),
        "action_reference": score_sentences([film.text for film in films], films, told)["action"],
        "clips": len(films),
    }
    given = []
    for film, clip in zip(films, clips, strict=True):
        given.append(Request(name, "", clip=clip, target=film.text))
    traces = _trace_one_by_one(model, given)
    swapped = [replace(one, clip=clips[other]) for one, other in zip(given, others, strict=True)]
    figures["nats"] = -_average_log_probability(traces)
    figures["nats_other"] = -_average_log_probability(_trace_one_by_one(model, swapped))
    attention = {}
    if model.network.config.layers and options.traces:
        attention[f"{RECURRENT_SITE}, {split}"] = measure_film_attention(
            model, traces[: options.traces]
        )
    return Measured(figures, attention, outputs=written)


def score_sentences(
    written: Sequence[str], films: Sequence[Film], told: ActionClassifier
) -> dict[str, float]:
    """Return the scores of `score_captions` that are reported, and two further ones.

    "words" is the share of content words of the references that occur anywhere in the output.
    "action" is the share of outputs from which a classifier reads the right action.
    """
    from areaviz.measures.references import score_captions

    scored = score_captions(written, [(film.text,) for film in films])
    found = {name: float(scored[name]) for name in ("bleu_1", "bleu_4", "rouge_l", "cider_d")}
    right, actions = [], []
    for text, film in zip(written, films, strict=True):
        own = set(text.split())
        right += [word in own for word in film.text.split() if word not in FUNCTION_WORDS]
        actions.append(told.told(text) == film.action)
    return {**found, "words": float(np.mean(right)), "action": float(np.mean(actions))}


def find_next_of_another_action(films: Sequence[Film]) -> list[int]:
    """Return for each film the index of the next film with another action.

    The search continues at the start of the list. If all films have one action, the index is that
    of the film itself.
    """
    found = []
    for number, film in enumerate(films):
        after = [*range(number + 1, len(films)), *range(number)]
        others = [other for other in after if films[other].action != film.action]
        found.append(others[0] if others else number)
    return found


def measure_film_attention(model: GenerationModel, traces: Sequence[Trace]) -> dict[str, float]:
    """Measure the effect of hiding frames on given reference sentences.

    "fall" is the fall of a token's log-probability in nats if the `HIDDEN_FRAMES` frames with most
    attention over the whole sentence are hidden. "fall_random" hides random frames and "fall_least"
    those with least attention. "multi_share" is the share of words whose top area has several
    frames. "dependence" is the mutual information of word and frame in bits.
    """
    rng = np.random.default_rng(0)
    most, least, chance, bits, multi = [], [], [], [], []
    for trace in traces:
        attention = trace.maps[RECURRENT_SITE]
        shares_TF = item_shares(attention, 0, None)
        order = np.argsort(-shares_TF.mean(0), kind="stable").tolist()
        most.append(_remove_frames(trace, order[:HIDDEN_FRAMES]))
        least.append(_remove_frames(trace, order[-HIDDEN_FRAMES:]))
        for _ in range(RANDOM_DRAWS):
            chance.append(
                _remove_frames(trace, rng.choice(len(order), HIDDEN_FRAMES, replace=False).tolist())
            )
        bits.append(query_dependence(shares_TF)[0])
        heaviest_T = attention.weights[0].mean(0).argmax(1).tolist()
        multi += [attention.grid.area(area).width > 1 for area in heaviest_T]
    base = _average_log_probability(traces)
    return {
        "fall": base - _average_log_probability(_trace_one_by_one(model, most)),
        "fall_random": base - _average_log_probability(_trace_one_by_one(model, chance)),
        "fall_least": base - _average_log_probability(_trace_one_by_one(model, least)),
        "taken": HIDDEN_FRAMES,
        "multi_share": float(np.mean(multi)),
        "dependence": float(np.mean(bits)),
        "clips": len(traces),
    }


def _trace_one_by_one(model: GenerationModel, requests: Sequence[Request]) -> list[Trace]:
    """Trace requests one by one, because a batch may only have requests with the same changes."""
    return [model.trace([request])[0] for request in requests]


def _remove_frames(trace: Trace, frames: Sequence[int]) -> Request:
    return replace(trace.request, changes=(Hide("clip", tuple(sorted(frames))),))


def _average_log_probability(traces: Sequence[Trace]) -> float:
    """Return the mean log-probability of a token in nats, over a film's tokens and then over films.

    Words that do not occur in training are left out, because no network can write them.
    """
    found = []
    for trace in traces:
        likely_T = trace.output.probabilities.astype(np.float64)
        found.append(float(np.log(likely_T[likely_T > 0]).mean()))
    return float(np.mean(found))


def _add_suffix(figures: Mapping[str, float], suffix: str) -> dict[str, float]:
    return {f"{name}{suffix}": value for name, value in figures.items()}


# Evaluation of video captioners on held-out clips, for the figures of their cards.
#
# Shapes: T words of a sentence, N frames.


CLIPS, EACH = 1000, 100
"""Number of clips, and number of drawings of each digit that appear in them."""
SEEDS = {"val": 13, "test": 14}
"""Seeds of the digits and clips. Training and its validation use other seeds."""
KNOWN = 500
"""Number of validation clips from which the usual frames of actions are computed."""
Given = Sequence[tuple[Trace, MovingDigit]]
"""Clips, each with the model's trace of the clip's right sentence."""


def evaluate_video(model: GenerationModel, data: Path, split: str, options: Options) -> Measured:
    """Measure a video captioner on "val" or "test" by its sentences and its attention.

    Attention is measured while the model reads the right sentence word by word. `evaluate_films`
    measures models for films of people.
    """
    if model.card.recipe.get("clips") == "people":
        return evaluate_films(model, data, split, options)
    clips = draw_clips(split, CLIPS)
    written = _write_sentences(model, clips, options) if options.outputs else Measured({})
    if not (model.network.config.layers and options.traces):
        return written
    clips = clips[: options.traces]
    traced, raw = (
        trace_given_sentences(model, clips),
        trace_given_sentences(model.make_untrained(), clips),
    )
    attention = measure_clip_attention(clips, traced, raw)
    words = collect_pointed_words(traced)
    opening = choose_moment_opening(
        model.card, RECURRENT_SITE, words, split, "words of validation clips"
    )
    if RECURRENT_SITE in opening:
        best, blank = opening[RECURRENT_SITE].best, collect_pointed_words(raw)
        attention |= measure_best_pointing("peak", words, blank, best, attention, MOMENTS)
    return replace(written, attention={f"{RECURRENT_SITE}, {split}": attention}, opening=opening)


def _write_sentences(
    model: GenerationModel, clips: Sequence[MovingDigit], options: Options
) -> Measured:
    """Write a sentence for every clip and score the sentences."""
    requests = []
    for clip in clips:
        given = make_clip("drawn", clip)
        requests.append(Request(model.card.name, "", options.method, options.beam, clip=given))
    written = model.generate_outputs(requests)
    figures = {
        "words": compute_word_accuracy(written, clips),
        "right": float(np.mean([text == c.text for text, c in zip(written, clips, strict=True)])),
        "clips": len(clips),
    }
    return Measured(figures, outputs=written)


def collect_pointed_words(given: Given) -> PointedWords:
    """Return the weights of every action word, and which areas have their middle in the action."""
    found = []
    for trace, clip in given:
        attention = trace.maps[RECURRENT_SITE]
        _, left_A, _, width_A = attention.grid.table().T
        middle_A = left_A + (width_A - 1) / 2
        queries, right = [], []
        for word, window in enumerate(clip.gold()):
            if window is not None:
                queries.append(word)
                right.append((window[0] <= middle_A) & (middle_A <= window[1] - 1))
        found.append(PointedWords.of(attention.weights, queries, np.array(right)))
    return PointedWords.joined(found)


def draw_clips(split: str, count: int) -> list[MovingDigit]:
    """Draw the clips of a split, which are the same for every model."""
    seed = SEEDS[split]
    return make_moving_digits(DigitBank(EACH, seed), np.random.default_rng(seed), count)


def compute_word_accuracy(written: Sequence[str], clips: Sequence[MovingDigit]) -> float:
    """Return the share of content words that are right and in the right place."""
    right = []
    for text, clip in zip(written, clips, strict=True):
        own = text.split()
        for place, word in enumerate(clip.text.split()):
            if word not in CLIP_FUNCTION_WORDS:
                right.append(place < len(own) and own[place] == word)
    return float(np.mean(right))


def measure_clip_attention(
    clips: Sequence[MovingDigit], given: Given, raw: Given
) -> dict[str, float]:
    """Return how often words of an action attend to its frames, with baselines.

    "peak": the middle of the top area is between the first and the last frame of the action (the
    frames of an area have equal attention, so no single frame is the peak). "first": the first of
    the frames with most attention belongs to the action. "area": all frames of the top area do.
    "multi_share": the share of words whose top area has several frames. "peak_uniform": a random
    frame. "peak_position": the frame in which first and second actions happen most often, over
    validation clips. "peak_untrained": the untrained network. "dependence": the mutual information
    of word and frame in bits. "dependence_diagonal": that of words at equal distances.

    Args:
        clips: The clips.
        given: Their traces.
        raw: Their traces by the untrained network.
    """
    found = [_measure_words(trace, clip) for trace, clip in given]
    blank = [_measure_words(trace, clip) for trace, clip in raw]
    peaks, firsts, areas, multi, bits, ceiling = (
        np.concatenate(part) for part in zip(*found, strict=True)
    )
    usual = find_usual_frames(draw_clips("val", KNOWN))
    return {
        "peak": float(peaks.mean()),
        "first": float(firsts.mean()),
        "area": float(areas.mean()),
        "multi_share": float(multi.mean()),
        "peak_uniform": float(np.mean([_compute_action_share(clip) for clip in clips])),
        "peak_position": float(np.mean([_compute_usual_frame_hits(clip, usual) for clip in clips])),
        "peak_untrained": float(np.concatenate([part[0] for part in blank]).mean()),
        "dependence": float(bits.mean()),
        "dependence_diagonal": float(ceiling.mean()),
        "dependence_untrained": float(np.concatenate([part[4] for part in blank]).mean()),
        "clips": len(clips),
    }


def find_usual_frames(clips: Sequence[MovingDigit]) -> tuple[int, int]:
    """Return the frames that most often belong to the first and to the second action."""
    counts = np.zeros((2, len(clips[0].frames)), int)
    for clip in clips:
        for which, (start, end) in enumerate(clip.windows):
            counts[which, start:end] += 1
    first, second = counts.argmax(1).tolist()
    return first, second


def trace_given_sentences(
    model: GenerationModel, clips: Sequence[MovingDigit]
) -> list[tuple[Trace, MovingDigit]]:
    """Return each clip with the model's trace of its right sentence."""
    found = []
    for clip in clips:
        request = Request(model.card.name, "", clip=make_clip("drawn", clip), target=clip.text)
        found.append((model.trace([request])[0], clip))
    return found


def _measure_words(trace: Trace, clip: MovingDigit) -> tuple[FloatArray, ...]:
    """Return the hits of every content word of an action, and the bits of the sentence.

    Returns:
        Four arrays with one number per word: whether its peak, its first frame and its area hit,
        and whether the area has several frames. Then the bits of the sentence and of a diagonal,
        one number each.
    """
    attention = trace.maps[RECURRENT_SITE]
    shares_TN = item_shares(attention, 0, None)
    peaks, firsts, areas, multi = [], [], [], []
    for word, window in enumerate(clip.gold()):
        if window is None:
            continue
        start, end = window
        area = top_areas(attention, 0, None, word, k=1)[0].area
        peaks.append(start <= area.left + (area.width - 1) / 2 <= end - 1)
        firsts.append(start <= int(shares_TN[word].argmax()) < end)
        areas.append(start <= area.left and area.left + area.width <= end)
        multi.append(area.width > 1)
    bits = [query_dependence(shares_TN)[0]]
    ceiling = [compute_diagonal_dependence(*shares_TN.shape)]
    return tuple(
        np.array(part, np.float32) for part in (peaks, firsts, areas, multi, bits, ceiling)
    )


def _compute_action_share(clip: MovingDigit) -> float:
    """Return the mean share of frames in an action's window, over the content words of actions."""
    frames = len(clip.frames)
    return float(np.mean([(w[1] - w[0]) / frames for w in clip.gold() if w is not None]))


def _compute_usual_frame_hits(clip: MovingDigit, usual: tuple[int, int]) -> float:
    """Return how often the usual frame of an action is in the action, over its content words."""
    found = []
    for window in clip.gold():
        if window is not None:
            start, end = window
            frame = usual[clip.windows.index(window)]
            found.append(start <= frame < end)
    return float(np.mean(found))
