"""Speech: recorded and synthetic spoken digits, training of recognisers, and evaluation."""

from __future__ import annotations

import io
import subprocess
import wave
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from areaviz.lab.loop import Description, TrainConfig, read_training_texts
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
from areaviz.measures.references import compute_error_rate, find_boundary_hits, find_items_inside
from areaviz.media.sounds import NOISE, compute_spectrogram, normalise_loudness, resample
from areaviz.models.base import TOKENIZER
from areaviz.models.generation import GenerationModel
from areaviz.models.recurrent import RECURRENT_SITE
from areaviz.models.speech import SAMPLES_PER_ITEM, ListenerConfig, SpeechRecognizer
from areaviz.models.tokenizer import Tokenizer, pad_rows, shift_targets
from areaviz.trace.errors import InputError
from areaviz.trace.query import query_dependence
from areaviz.trace.request import RATE, Request, Sound

# Spoken digits (Free Spoken Digit Dataset): recordings of single digits, joined to strings.
#
# The start and end of each digit are therefore known, and with them the part of the recording that
# attention should find. The corpus is CC BY-SA 4.0. It is read from the user's folder and is not
# part of this repository.


FloatArray = npt.NDArray[np.float32]

TEST_TAKES, VALID_TAKES = range(5), range(5, 10)
"""Numbers of a speaker's recordings of a digit, called takes. Takes 0 to 4 are the corpus's own
test set. The next five are for choosing checkpoints."""
LONGEST_SAMPLES = int(1.3 * RATE)
"""Maximum length of a digit in samples. Two recordings with long silences are cut to it."""
PAUSE_SECONDS = (0.0, 0.15)
"""Range of the silence between two digits, which is drawn uniformly."""


@dataclass(frozen=True, slots=True)
class Recordings:
    """Recordings of single digits of one split.

    Args:
        samples: N recordings, each float32 [S] in -1..1 with equal loudness.
        digits: The spoken digit of each recording, 0..9: int64 [N].
        speakers: The number of each recording's speaker: int64 [N].
    """

    samples: Sequence[FloatArray]
    digits: npt.NDArray[np.int64]
    speakers: npt.NDArray[np.int64]

    def join_recordings(self, others: Recordings) -> Recordings:
        """Return these recordings followed by those of `others`, which have other speakers."""
        return Recordings(
            [*self.samples, *others.samples],
            np.concatenate([self.digits, others.digits]),
            np.concatenate([self.speakers, others.speakers]),
        )


@dataclass(frozen=True, slots=True)
class Utterance:
    """A spoken string of digits.

    Args:
        samples: Samples in -1..1, at `RATE`.
        text: The digits, such as "4771".
        bounds: Start and end of each digit in samples.
    """

    samples: FloatArray
    text: str
    bounds: tuple[tuple[int, int], ...]


def read_recordings(folder: Path, split: str) -> Recordings:
    """Read the recordings of "train", "val" or "test" from `folder`/fsdd.

    Raises:
        FileNotFoundError: The corpus is not there.
    """
    path = folder / "fsdd" / "fsdd_8khz_int16.npz"
    if not path.exists():
        raise FileNotFoundError(
            f"{path} is missing. Put the spoken digits (FSDD) there, or name another folder"
            " with --data."
        )
    takes = {"test": TEST_TAKES, "val": VALID_TAKES}
    with np.load(path) as stored:
        audio, offsets, take = stored["audio"], stored["offsets"], stored["take"]
        digits, speakers = stored["digit"].astype(np.int64), stored["speaker"].astype(np.int64)
    if split == "train":
        chosen = np.flatnonzero(take >= VALID_TAKES.stop)
    else:
        chosen = np.flatnonzero(np.isin(take, list(takes[split])))
    samples = [
        normalise_loudness(audio[offsets[index] : offsets[index + 1]][:LONGEST_SAMPLES])
        for index in chosen
    ]
    return Recordings(samples, digits[chosen], speakers[chosen])


def join_recordings(
    recordings: Recordings, rng: np.random.Generator, counts: tuple[int, int], repeats: float = 0.3
) -> Utterance:
    """Return a string of digits by one speaker, each digit a randomly drawn recording.

    Args:
        recordings: Recordings of single digits.
        rng: Source of all randomness.
        counts: Minimum and maximum number of digits.
        repeats: Probability, 0..1, that a digit copies the previous one. Otherwise it is drawn from
            all ten digits. Repeats are hard for attention by content alone, because it confuses
            them.
    """
    speaker = rng.choice(recordings.speakers)
    own = np.flatnonzero(recordings.speakers == speaker)
    digits: list[int] = []
    for _ in range(int(rng.integers(counts[0], counts[1] + 1))):
        is_repeat = bool(digits) and rng.random() < repeats
        digits.append(digits[-1] if is_repeat else int(rng.integers(10)))
    parts, bounds, place = [_make_pause(rng)], [], 0
    place = len(parts[0])
    for digit in digits:
        said = recordings.samples[rng.choice(own[recordings.digits[own] == digit])]
        bounds.append((place, place + len(said)))
        parts += [said, _make_pause(rng)]
        place += len(said) + len(parts[-1])
    samples = np.concatenate(parts)
    # Without noise, the exact silence between digits would reveal where recordings were joined.
    noise = rng.standard_normal(len(samples), dtype=np.float32) * NOISE
    return Utterance(samples + noise, "".join(map(str, digits)), tuple(bounds))


def _make_pause(rng: np.random.Generator) -> FloatArray:
    return np.zeros(int(rng.uniform(*PAUSE_SECONDS) * RATE), dtype=np.float32)


# Synthetic spoken digits, generated by the program espeak-ng during training.
#
# No person has rights in these voices. The recordings in the app are made in the same way, with
# voices that training never uses.


WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
ACCENTS = ("en-us", "en-gb", "en-gb-scotland", "en-gb-x-rp")
VARIANTS = ("m1", "m2", "m3", "m4", "m5", "m6", "f1", "f2", "f3", "f4")
"""Voices for each accent. m7 and f5 are reserved for the recordings in the app."""
SPEEDS = (130, 165)
"""Words per minute."""
FIRST_SPEAKER = 100
"""The number of the first synthetic voice."""
QUIET = 0.02
"""Audio at either end below this share of the loudest sample counts as silence."""


def synthesise_recordings() -> Recordings:
    """Return every digit in 40 voices, each at two speeds.

    Raises:
        InputError: espeak-ng is not installed.
    """
    samples, digits, speakers = [], [], []
    for number, (accent, variant) in enumerate(product(ACCENTS, VARIANTS)):
        for (digit, word), speed in product(enumerate(WORDS), SPEEDS):
            samples.append(synthesise_words(word, f"{accent}+{variant}", speed))
            digits.append(digit)
            speakers.append(FIRST_SPEAKER + number)
    return Recordings(samples, np.array(digits), np.array(speakers))


def synthesise_words(words: str, voice: str, speed: int) -> FloatArray:
    """Return words spoken by espeak-ng, float32 [S] in -1..1, without silence at either end.

    The loudness is that of the recordings of people.

    Raises:
        InputError: espeak-ng is not installed.
    """
    command = ["espeak-ng", "-v", voice, "-s", str(speed), "--stdout", words]
    try:
        done = subprocess.run(command, capture_output=True, check=True)
    except FileNotFoundError:
        raise InputError(
            "Synthesised voices need the program espeak-ng. Install it, on Debian with: apt-get"
            " install espeak-ng"
        ) from None
    with wave.open(io.BytesIO(done.stdout)) as file:
        rate = file.getframerate()
        heard = np.frombuffer(file.readframes(file.getnframes()), dtype="<i2")
    loud = np.flatnonzero(np.abs(heard.astype(np.int32)) > QUIET * np.abs(heard).max())
    cut = resample(heard[loud[0] : loud[-1] + 1].astype(np.float32), rate)
    return normalise_loudness(np.clip(cut, -32768, 32767).astype(np.int16))


# Training of speech recognisers on strings of spoken digits, which are joined for every batch.
#
# Shapes: B recordings, F frames, E bands, T target items, V vocabulary, M items.


VALIDATION_EXAMPLES = 256
"""Number of strings in a validation. Every validation uses the same strings."""

SYNTHESISED = (
    "; a quarter of the strings are of 40 synthesised voices (espeak-ng), so that the app's own"
    " recordings, of other voices of it, can be heard"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeechConfig(TrainConfig):
    """The recipe of a speech recogniser.

    Args:
        batch: Strings per update.
        fewest: Minimum number of digits in a string.
        most: Maximum number of digits in a string.
        label_smoothing: Label smoothing for the next token, 0 to 1.
        synthesised: Whether a quarter of the strings are spoken by voices of espeak-ng.
    """

    batch: int = 32
    fewest: int = 6
    most: int = 10
    label_smoothing: float = 0.1
    synthesised: bool = False


@dataclass(slots=True)
class Speech:
    """The task: strings of recordings, and their transcripts."""

    Recipe: ClassVar[type[TrainConfig]] = SpeechConfig

    config: SpeechConfig
    tokenizer: Tokenizer
    network: SpeechRecognizer
    recordings: Recordings
    valid: Sequence[Utterance]
    device: torch.device

    @classmethod
    def build(cls, config: SpeechConfig, data: Path, folder: Path, device: torch.device) -> Self:
        """Read the recordings, join those for validation and make the network."""
        recordings = read_recordings(data, "train")
        if config.synthesised:
            recordings = recordings.join_recordings(synthesise_recordings())
        counts = (config.fewest, config.most)
        # Use the same strings in every run, so that the figures of runs can be compared.
        rng = np.random.default_rng(1)
        others = read_recordings(data, "val")
        valid = [join_recordings(others, rng, counts) for _ in range(VALIDATION_EXAMPLES)]
        said = (one.text for one in valid)
        tokenizer = run_tokenizer(folder / TOKENIZER, said, 32, "character", normalised=False)
        torch.manual_seed(config.seed)
        network = SpeechRecognizer(ListenerConfig(len(tokenizer), **config.model)).to(device)
        return cls(config, tokenizer, network, recordings, valid, device)

    def batches(self, first_step: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield batches of new strings without end."""
        step, counts = first_step, (self.config.fewest, self.config.most)
        while True:
            rng = np.random.default_rng((self.config.seed, step))
            yield self.batch(
                [join_recordings(self.recordings, rng, counts) for _ in range(self.config.batch)]
            )
            step += 1

    def batch(self, utterances: Sequence[Utterance]) -> tuple[Tensor, Tensor]:
        """Return frames [B, F, E], padded with NaN, and the tokens of the transcripts [B, T]."""
        frames = [torch.from_numpy(compute_spectrogram(one.samples)) for one in utterances]
        padded_BFE = pad_sequence(frames, batch_first=True, padding_value=torch.nan)
        ids_BT = pad_rows([self.tokenizer.ids(one.text) for one in utterances])
        return padded_BFE.to(self.device), ids_BT.to(self.device)

    def loss(self, batch: tuple[Tensor, Tensor]) -> Tensor:
        """Compute the cross-entropy of the next token with label smoothing, in nats."""
        frames_BFE, ids_BT = batch
        logits_BTV = self.network.attend(
            frames_BFE, shift_targets(ids_BT), need_weights=False
        ).logits
        return compute_cross_entropy(logits_BTV, ids_BT, self.config.label_smoothing)

    def validate(self, step: int) -> dict[str, float]:
        """Measure cross-entropy per token in nats, and how often attention hits the digit."""
        totals, hits = [], []
        for first in range(0, len(self.valid), self.config.batch):
            utterances = self.valid[first : first + self.config.batch]
            frames_BFE, ids_BT = self.batch(utterances)
            found = self.network.attend(frames_BFE, shift_targets(ids_BT))
            totals.append(sum_loss(found.logits, ids_BT))
            weights_BTM = found.weights[RECURRENT_SITE][0][:, 0].cpu().numpy()
            for weights_TM, one in zip(weights_BTM, utterances, strict=True):
                hits += find_boundary_hits(weights_TM, one.bounds, SAMPLES_PER_ITEM)
        loss = mean_loss(totals)
        return {"valid_loss": loss, "valid_hits": float(np.mean(hits)), "score": loss}

    def save(self, folder: Path) -> None:
        """Write the tokenizer."""
        self.tokenizer.save(folder / TOKENIZER)

    def describe(self) -> Description:
        """Return the task's part of the model card."""
        options = self.network.config
        more = SYNTHESISED if self.config.synthesised else ""
        texts = read_training_texts("speech", validated=VALIDATION_EXAMPLES, synthesised=more)
        return Description(
            family="listener",
            title=f"Spoken digits, {options.about}",
            task="speech",
            level="character",
            mechanism=options.mechanism,
            trained_length=self.config.most,
            config=asdict(options),
            data=texts.data,
            limits=texts.limits,
            licence=texts.licence,
            recipe={"chosen_by": "validation loss"},
        )


# Evaluation of speech recognisers on strings of spoken digits, for the results on model cards.
#
# Shapes: T digits of a string, M items of the string's sound.


STRINGS, LONG_STRINGS = 500, 200
"""Number of strings with as many digits as in training, and number of longer strings."""
COUNTS, LONG_COUNTS = (6, 10), (12, 14)
REPEATS, LONG_REPEATS = 0.3, 0.8
"""Probability that a digit repeats the previous one, in addition to repetitions by chance."""
AT_ONCE = 50


def evaluate_speech(model: GenerationModel, data: Path, split: str, options: Options) -> Measured:
    """Measure a speech recogniser on "val" or "test" by its transcripts and its attention.

    Attention is measured while the model receives the correct digits as its previous outputs.
    """
    recordings = read_recordings(data, split)
    strings = draw_strings(recordings, 2, STRINGS, COUNTS, REPEATS)
    weights = trace_weights(model, strings)
    written = Measured({})
    if options.outputs:
        long = draw_strings(recordings, 3, LONG_STRINGS, LONG_COUNTS, LONG_REPEATS)
        written = _write_transcripts(
            model, strings, long, compute_hit_share(weights, strings), options
        )
    known = draw_strings(read_recordings(data, "val"), 4, STRINGS, COUNTS, REPEATS)
    attention = measure_attention(model, weights, strings, known)
    words = collect_pointed_words(weights, strings)
    opening = choose_moment_opening(
        model.card, RECURRENT_SITE, words, split, "digits of validation strings"
    )
    if RECURRENT_SITE in opening:
        blank = collect_pointed_words(trace_weights(model.make_untrained(), strings), strings)
        attention |= measure_best_pointing(
            "hit", words, blank, opening[RECURRENT_SITE].best, attention, MOMENTS
        )
    return replace(written, attention={f"{RECURRENT_SITE}, {split}": attention}, opening=opening)


def _write_transcripts(
    model: GenerationModel,
    strings: Sequence[Utterance],
    long: Sequence[Utterance],
    hit: float,
    options: Options,
) -> Measured:
    """Transcribe and score `strings` and `long`. `hit` is the hit share of `strings`."""
    written, written_long = (
        transcribe_strings(model, strings, options),
        transcribe_strings(model, long, options),
    )
    figures = {
        "error": compute_error_rate(written, [one.text for one in strings]),
        "hit": hit,
        "long_error": compute_error_rate(written_long, [one.text for one in long]),
        "long_hit": compute_hit_share(trace_weights(model, long), long),
        "strings": len(strings),
        "digits": sum(len(one.text) for one in strings),
    }
    return Measured(figures, outputs=written)


def draw_strings(
    recordings: Recordings, seed: int, strings: int, counts: tuple[int, int], repeats: float
) -> list[Utterance]:
    """Draw strings of digits from a seed, so that they are equal for every model."""
    rng = np.random.default_rng(seed)
    return [join_recordings(recordings, rng, counts, repeats) for _ in range(strings)]


def transcribe_strings(
    model: GenerationModel, strings: Sequence[Utterance], options: Options
) -> list[str]:
    """Return the model's transcript of each string."""
    requests = []
    for one in strings:
        request = Request(model.card.name, "", options.method, options.beam, sound=make_sound(one))
        requests.append(request)
    return [text.strip() for text in model.generate_outputs(requests)]


def make_sound(utterance: Utterance) -> Sound:
    """Return a string as the sound of a request."""
    samples = np.clip(np.round(utterance.samples * 32767), -32768, 32767)
    return Sound.of("joined", samples.astype(np.int16))


def trace_weights(model: GenerationModel, strings: Sequence[Utterance]) -> list[FloatArray]:
    """Return the weights of each string, [T + 1, M]: a row for each digit and one for the end."""
    found: list[FloatArray] = []
    for first in range(0, len(strings), AT_ONCE):
        part = strings[first : first + AT_ONCE]
        requests = [Request(model.card.name, "", sound=make_sound(o), target=o.text) for o in part]
        weights_BTM = model.attend(requests).weights[RECURRENT_SITE][0][:, 0].cpu().numpy()
        for weights_TM, one in zip(weights_BTM, part, strict=True):
            found.append(weights_TM[: len(one.text) + 1])
    return found


def collect_pointed_words(
    weights: Sequence[FloatArray], strings: Sequence[Utterance]
) -> PointedWords:
    """Return the weights of every digit over the items, and which items overlap the digit."""
    found = []
    for weights_TM, one in zip(weights, strings, strict=True):
        items = weights_TM.shape[1]
        right = [find_items_inside(bounds, items, SAMPLES_PER_ITEM) for bounds in one.bounds]
        found.append(PointedWords.of(weights_TM[None, None], range(len(right)), np.array(right)))
    return PointedWords.joined(found)


def compute_hit_share(weights: Sequence[FloatArray], strings: Sequence[Utterance]) -> float:
    """Return how often the heaviest item of a digit overlaps the samples in which it is spoken."""
    hits: list[bool] = []
    for weights_TM, one in zip(weights, strings, strict=True):
        hits += find_boundary_hits(weights_TM, one.bounds, SAMPLES_PER_ITEM)
    return float(np.mean(hits))


def measure_attention(
    model: GenerationModel,
    weights: Sequence[FloatArray],
    strings: Sequence[Utterance],
    known: Sequence[Utterance],
) -> dict[str, float]:
    """Return how often attention hits the spoken digit, with baselines that ignore the sound.

    A baseline is the share of hits if attention is replaced. "hit_uniform" points at a random item.
    "hit_diagonal" points at equally spaced times. "hit_position" points at the mean time of the
    first, second, third digit and so on of the strings in `known`. "hit_untrained" takes the
    attention of the untrained network. "dependence" is the mutual information of query and item in
    bits, and "dependence_diagonal" is the same quantity for equally spaced digits.
    """
    untrained = trace_weights(model.make_untrained(), strings)
    mean_T = mean_times(known)
    digits = [rows_TM[: len(one.text)] for rows_TM, one in zip(weights, strings, strict=True)]
    bits = [query_dependence(weights_TM)[0] for weights_TM in digits]
    ceiling = [compute_diagonal_dependence(*weights_TM.shape) for weights_TM in digits]
    return {
        "hit": compute_hit_share(weights, strings),
        "hit_uniform": _compute_uniform_share(strings),
        "hit_diagonal": _compute_hit_share_of_places(
            strings, lambda one, t: (t + 0.5) / len(one.text) * _measure_length(one)
        ),
        "hit_position": _compute_hit_share_of_places(
            strings, lambda one, t: mean_T[min(t, len(mean_T) - 1)]
        ),
        "hit_untrained": compute_hit_share(untrained, strings),
        "dependence": float(np.mean(bits)),
        "dependence_diagonal": float(np.mean(ceiling)),
    }


def mean_times(known: Sequence[Utterance]) -> list[float]:
    """Return the mean middle of the first digit, of the second and so on, in samples."""
    longest = max(len(one.bounds) for one in known)
    found = []
    for number in range(longest):
        middles = [sum(one.bounds[number]) / 2 for one in known if number < len(one.bounds)]
        found.append(float(np.mean(middles)))
    return found


def _measure_length(one: Utterance) -> float:
    return float(len(one.samples))


def _compute_uniform_share(strings: Sequence[Utterance]) -> float:
    """Return the mean share of items that overlap a digit: the chance that a random item hits."""
    shares = []
    for one in strings:
        starts_M = np.arange(0, len(one.samples), SAMPLES_PER_ITEM)
        for first, behind in one.bounds:
            inside_M = (starts_M < behind) & (starts_M + SAMPLES_PER_ITEM > first)
            shares.append(inside_M.mean())
    return float(np.mean(shares))


def _compute_hit_share_of_places(
    strings: Sequence[Utterance], place: Callable[[Utterance, int], float]
) -> float:
    """Return how often the sample that `place` returns for a digit is inside the digit."""
    hits = []
    for one in strings:
        for number, (first, behind) in enumerate(one.bounds):
            hits.append(first <= place(one, number) < behind)
    return float(np.mean(hits))
