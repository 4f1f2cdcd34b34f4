"""The inputs of generating networks, and the parts of a trace from one pass.

The parts of a trace come first. `INPUTS` lists the inputs, and the warnings about an output
come last.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from areaviz.cards.card import Card
from areaviz.media.clips import choose_frames, prepare_frames
from areaviz.media.sounds import WINDOW, compute_spectrogram, count_frames, match_training_sound
from areaviz.models.decoding import Hypothesis
from areaviz.models.network import GenerationNetwork, Pass, compute_token_log_probabilities
from areaviz.models.pictures import make_cell_field, resize_to_square
from areaviz.models.speech import FRAMES_PER_ITEM, SAMPLES_PER_ITEM
from areaviz.models.tokenizer import END, PAD, UNKNOWN, Token, Tokenizer
from areaviz.trace.areas import AreaGrid, FloatArray
from areaviz.trace.changes import Places
from areaviz.trace.errors import MAX_MAP_BYTES, InputError
from areaviz.trace.query import predict_bytes
from areaviz.trace.record import AttentionMap, Field, Output
from areaviz.trace.request import RATE, Clip, Request, Sound

# Functions that make the parts of a Trace from one pass of a generating network.
#
# Shapes: B examples, T target items, V vocabulary, K alternatives, L layers, H heads, Q queries, A
# areas, R areas of the longest example.


MAX_TRACE_BYTES = MAX_MAP_BYTES
ALTERNATIVES = 5
END_LABEL, START_LABEL = "⟨end⟩", "⟨start⟩"


def make_teacher_forced_output(tokenizer: Tokenizer, target: str) -> Hypothesis:
    """Return a given output as a hypothesis.

    Its probability is NaN, because it is only known after the pass over the output.
    """
    return Hypothesis(tuple(tokenizer.ids(target)), math.nan, True)


def format_log_probability(found: Hypothesis, result: Output) -> str:
    """Format the natural logarithm of an output's probability.

    The search gives the log-probability. For a given output, it is computed from the pass over it.
    """
    total = found.log_probability
    if math.isnan(total):
        # A probability may underflow to zero, and its logarithm must still be finite.
        likely_T = np.maximum(result.probabilities, np.finfo(np.float32).tiny)
        total = float(np.log(likely_T).sum())
    return f"{total:.3f}"


def compute_weights_bytes(places: Places) -> int:
    """Return the memory for the weights of a trace, in bytes.

    `places` must list every field with its largest number of items.
    """
    size = 0
    for query, memory in places.sites.values():
        queries, grid = places.lengths[query], places.grids[memory]
        size += predict_bytes(places.layers, places.heads, queries, grid)
    return size


def find_longest_length(holds: Callable[[int], bool]) -> int:
    """Return the largest length up to 65,536 for which a condition holds.

    Args:
        holds: a condition on the length. It must be true for 1, and for all lengths below any
            length for which it is true.
    """
    low, high = 1, 1 << 16
    while low < high:
        middle = (low + high + 1) // 2
        if holds(middle):
            low = middle
        else:
            high = middle - 1
    return low


def weights_fit_in_memory(places: Places) -> bool:
    """Return whether the weights of a trace fit in memory, without running a model."""
    return compute_weights_bytes(places) <= MAX_TRACE_BYTES


def check_size(places: Places) -> None:
    """Check that the weights of a trace fit in memory.

    Raises:
        InputError: the weights do not fit.
    """
    if not weights_fit_in_memory(places):
        raise InputError(
            f"The attention of this model would take {compute_weights_bytes(places) / 2**20:,.0f}"
            f" MiB, but the limit is {MAX_TRACE_BYTES // 2**20} MiB. Choose a smaller largest"
            " area or a shorter text."
        )


def make_target_fields(target_ids: Sequence[int], tokenizer: Tokenizer) -> dict[str, Field]:
    """Return the fields "target" and "history" of an output."""
    return make_written_fields(*tokenizer.decode(target_ids), target_ids[-1] == END)


def make_written_fields(text: str, tokens: list[Token], finished: bool) -> dict[str, Field]:
    """Return the fields "target" and "history" of a text with its tokens.

    Args:
        text: the output.
        tokens: its tokens.
        finished: whether the end symbol follows them.
    """
    # The network never reads the last item that it writes. The end symbol is not among the tokens.
    read = tokens if finished else tokens[:-1]
    target = make_text_field("target", text, tokens, end=finished)
    return {"target": target, "history": make_text_field("history", text, read, start=True)}


def make_text_field(
    name: str, raw: str, tokens: list[Token], start: bool = False, end: bool = False
) -> Field:
    """Return a text field, with an optional start and end symbol that match no characters."""
    labels = [token.text for token in tokens]
    anchors = [(token.start, token.end) for token in tokens]
    if start:
        labels.insert(0, START_LABEL)
        anchors.insert(0, (0, 0))
    if end:
        labels.append(END_LABEL)
        anchors.append((len(raw), len(raw)))
    anchors_N2 = np.array(anchors, dtype=np.int64).reshape(-1, 2)
    return Field(name, "text", raw, tuple(labels), anchors_N2)


def make_attention_maps(
    run: Pass, network: GenerationNetwork, fields: Sequence[Mapping[str, Field]]
) -> list[dict[str, AttentionMap]]:
    """Return the maps of every example of a pass.

    If texts of several lengths were processed together, each example gets only the weights of its
    own items.

    Args:
        run: the pass.
        network: the network.
        fields: the fields of each example, with one item for each item of the network.
    """
    maps: list[dict[str, AttentionMap]] = [{} for _ in fields]
    for site, layers in run.weights.items():
        query, memory = network.sites[site]
        areas = network.areas(memory)
        whole = areas.make_grid(max(len(own[memory]) for own in fields))
        layers_BHQR = [layer.float().cpu().numpy() for layer in layers]
        for place, own in enumerate(fields):
            grid, queries = areas.make_grid(len(own[memory])), len(own[query])
            cut = []
            for weights_BHQR in layers_BHQR:
                cut.append(_select_own_areas(weights_BHQR[place, :, :queries], whole, grid))
            chosen = _stack_layers(run.chosen, site, place, queries)
            strength = _stack_layers(run.strength, site, place, queries)
            maps[place][site] = AttentionMap(
                site, query, memory, grid, np.stack(cut), chosen=chosen, strength=strength
            )
    return maps


def _select_own_areas(weights_HQR: FloatArray, whole: AreaGrid, own: AreaGrid) -> FloatArray:
    """Select the weights of an example's own areas from the weights of the whole grid.

    Areas that are too large for the layer get zeros.
    """
    if whole == own and weights_HQR.shape[2] == own.count:
        return weights_HQR
    own_HQA = np.zeros((*weights_HQR.shape[:2], own.count), np.float32)
    for height, width in own.shapes():
        place, rows, columns = own.slab(height, width)
        first, _, _ = whole.slab(height, width)
        if first < weights_HQR.shape[2]:
            # Only sequences are padded, and they have one row.
            count = rows * columns
            own_HQA[..., place : place + count] = weights_HQR[..., first : first + count]
    return own_HQA


def _stack_layers(
    layers: Mapping[str, list[Tensor]], site: str, place: int, queries: int
) -> npt.NDArray[Any] | None:
    """Return the values of one site for an example, stacked by layer, or None if there are none."""
    if site not in layers:
        return None
    return np.stack([layer[place, :, :queries].cpu().numpy() for layer in layers[site]])


def make_output(
    logits_BTV: Tensor, targets: Sequence[Sequence[int]], tokenizer: Tokenizer
) -> list[Output]:
    """Return the output of each example, with probabilities and the most probable alternatives."""
    likely_BTV = compute_token_log_probabilities(logits_BTV).exp().cpu()
    best = likely_BTV.topk(min(ALTERNATIVES, likely_BTV.shape[2]))
    tokens_BTK, shares_BTK = best.indices.tolist(), best.values.tolist()
    labels: dict[int, str] = {END: END_LABEL}
    outputs = []
    for place, ids in enumerate(targets):
        # The probabilities come from the pass that gave the weights, not from the search that found
        # the output.
        chosen_T = likely_BTV[place, torch.arange(len(ids)), torch.tensor(ids)]
        alternatives = []
        for step in range(len(ids)):
            tokens = tokens_BTK[place][step]
            for token in tokens:
                if token not in labels:
                    labels[token] = tokenizer.label(token)
            words = [labels[token] for token in tokens]
            alternatives.append(tuple(zip(words, shares_BTK[place][step], strict=True)))
        likely_T = chosen_T.numpy().astype(np.float32)
        outputs.append(Output("target", likely_T, tuple(alternatives)))
    return outputs


def list_changeable_places(
    network: GenerationNetwork, inputs: Mapping[str, int], target: int
) -> Places:
    """Return the sites, layers, heads and items that can be changed in a run of a network.

    Args:
        network: the network.
        inputs: the number of items of each input, by the name of its field.
        target: the number of items of the output, 0 if it is not known.
    """
    lengths = dict(inputs)
    if target:
        lengths |= {"target": target, "history": target}
    known = {*inputs, "target", "history"}
    sites = {site: ends for site, ends in network.sites.items() if known.issuperset(ends)}
    grids = {name: network.areas(name).make_grid(count) for name, count in lengths.items()}
    return Places(sites, network.config.layers, network.config.heads, lengths, grids)


def check_request_size(
    network: GenerationNetwork,
    lengths: Mapping[str, int],
    target: int,
    get_limit: Callable[[int], int],
    unit: str,
) -> None:
    """Refuse a request whose trace would be too large, and say how to make it smaller.

    Args:
        network: the network.
        lengths: the number of items of each input, by the name of its field.
        target: the number of items of a given output, 0 if none is given.
        get_limit: returns the largest number of output items for a number of source items.
        unit: the word for several items of a text.

    Raises:
        InputError: if the weights of the trace do not fit in memory.
    """
    source = lengths.get("source", 0)
    places = list_changeable_places(network, lengths, target or get_limit(source))
    if weights_fit_in_memory(places):
        return
    # The largest possible length can be computed only if a text is the sole input.
    if len(lengths) > 1 or not source:
        check_size(places)
    largest = find_longest_length(
        lambda count: weights_fit_in_memory(
            list_changeable_places(network, {"source": count}, get_limit(count))
        )
    )
    if source > largest:
        raise InputError(
            f"The text has {source - 1} {unit}, but the attention of this model fits in memory"
            f" for at most {largest - 1}. Shorten the text or choose a smaller area size."
        )
    raise InputError("The given output is too long for its attention to fit in memory. Shorten it.")


# The inputs of generating networks. Each input reads its part of a request.
#
# To add an input, write a class with the members of `Input` and add a line to `INPUTS`.
#
# Shapes: S source items with the end symbol, P = G * G cells, C channels, F frames, of E bands in a
# sound and of side S in a clip, M items of a sound.


class Input(Protocol):
    """One input of a network."""

    @property
    def noun(self) -> str:
        """The word for this input in messages."""

    @property
    def missing(self) -> str:
        """The message for a request that lacks the only input of a network."""

    def count_items(self, request: Request) -> int:
        """Return the number of items that a request has for this input, 0 for none."""

    def make_field(self, request: Request) -> Field:
        """Return the items as a field of the trace."""

    def read_parts(self, requests: Sequence[Request]) -> list[Tensor]:
        """Return the tensor that the network reads for each request."""

    def make_batch(self, parts: Sequence[Tensor]) -> Tensor:
        """Combine the parts of several requests into a batch on the network's device."""


@dataclass(frozen=True, slots=True)
class TextInput:
    """A text as token ids [S]."""

    noun = "sentence"
    missing = "The text has no visible character. Type a sentence, for example: A dog runs."

    network: Any
    tokenizer: Tokenizer

    def count_items(self, request: Request) -> int:
        """Return the number of tokens with the end symbol, 0 for a text that is not visible."""
        tokens = self.tokenizer.tokens(request.text)
        # A text of spaces has tokens, but nothing to translate.
        is_visible = any(token.text.strip() for token in tokens)
        return len(tokens) + 1 if is_visible else 0

    def make_field(self, request: Request) -> Field:
        """Return the tokens of the text."""
        return make_text_field(
            "source", request.text, self.tokenizer.tokens(request.text), end=True
        )

    def read_parts(self, requests: Sequence[Request]) -> list[Tensor]:
        """Tokenise the text of each request."""
        return [torch.tensor(self.tokenizer.ids(request.text)) for request in requests]

    def make_batch(self, parts: Sequence[Tensor]) -> Tensor:
        """Pad the token ids to the length of the longest text."""
        # Padding is masked, so a sentence's result does not depend on the rest of the batch.
        padded_BS = pad_sequence(list(parts), batch_first=True, padding_value=PAD)
        return padded_BS.to(self.network.embedding.weight.device)


@dataclass(frozen=True, slots=True)
class PictureInput:
    """A picture as the features of the cells of a grid [P, C]."""

    noun = "picture"
    missing = "This model needs a picture. Choose or upload one."

    network: Any
    tokenizer: Tokenizer

    def count_items(self, request: Request) -> int:
        """Return the number of cells, 0 without a picture."""
        return 0 if request.picture is None else int(self.network.grid) ** 2

    def make_field(self, request: Request) -> Field:
        """Return the cells of the grid."""
        assert request.picture is not None
        return make_cell_field(request.picture, self.network.grid, self.network.grid)

    def read_parts(self, requests: Sequence[Request]) -> list[Tensor]:
        """Encode the pictures of the requests."""
        side = self.network.encoder_config.side
        squares = [
            resize_to_square(one.picture, side) for one in requests if one.picture is not None
        ]
        pixels = torch.stack(squares).to(self.network.embedding.weight.device)
        return list(self.network.encode_pictures(pixels))

    def make_batch(self, parts: Sequence[Tensor]) -> Tensor:
        """Stack the features."""
        return torch.stack(list(parts))


@dataclass(frozen=True, slots=True)
class SoundInput:
    """A sound as the frames of its spectrogram [F, E]. An item consists of four frames."""

    noun = "sound"
    missing = "This model needs a recording. Choose, record or upload a sound."

    network: Any
    tokenizer: Tokenizer

    def count_items(self, request: Request) -> int:
        """Return the number of items, 0 without a sound."""
        if request.sound is None:
            return 0
        return -(-count_frames(len(request.sound.samples)) // FRAMES_PER_ITEM)

    def make_field(self, request: Request) -> Field:
        """Return the items of the sound."""
        assert request.sound is not None
        return make_sound_field(request.sound, self.count_items(request))

    def read_parts(self, requests: Sequence[Request]) -> list[Tensor]:
        """Compute the spectrogram of each sound."""
        sounds = [request.sound for request in requests if request.sound is not None]
        return [
            torch.from_numpy(compute_spectrogram(match_training_sound(sound.samples)))
            for sound in sounds
        ]

    def make_batch(self, parts: Sequence[Tensor]) -> Tensor:
        """Pad the spectrograms to the length of the longest sound."""
        # The network treats frames of NaN as padding.
        padded_BFE = pad_sequence(list(parts), batch_first=True, padding_value=torch.nan)
        return padded_BFE.to(self.network.embedding.weight.device)


def make_sound_field(sound: Sound, items: int) -> Field:
    """Return the items of a sound, each labelled with the second at which it begins.

    The last item extends to the end of its last frame.
    """
    samples, step = len(sound.samples), SAMPLES_PER_ITEM
    starts_M = np.arange(items) * step
    # The last frame of the last item ends after the point at which a next item would start.
    ends_M = np.minimum(starts_M + step, samples)
    ends_M[-1] = min(samples, starts_M[-1] + step + WINDOW)
    labels = tuple(f"{start / RATE:.2f} s" for start in starts_M)
    return Field("sound", "sound", "", labels, np.stack([starts_M, ends_M], 1))


@dataclass(frozen=True, slots=True)
class ClipInput:
    """A clip as small frames for the network, in grey [F, S, S] or in colour [F, S, S, 3]."""

    noun = "clip"
    missing = "This model needs a clip. Choose or upload one."

    network: Any
    tokenizer: Tokenizer

    def count_items(self, request: Request) -> int:
        """Return the number of frames, 0 without a clip."""
        return 0 if request.clip is None else int(self.network.config.frames)

    def make_field(self, request: Request) -> Field:
        """Return the frames that the network reads."""
        assert request.clip is not None
        return make_clip_field(request.clip, self.count_items(request))

    def read_parts(self, requests: Sequence[Request]) -> list[Tensor]:
        """Choose and scale the frames of each clip."""
        config = self.network.config
        clips = [request.clip for request in requests if request.clip is not None]
        how = config.frames, config.side, config.colour
        return [torch.from_numpy(prepare_frames(clip.pixels, *how)) for clip in clips]

    def make_batch(self, parts: Sequence[Tensor]) -> Tensor:
        """Stack the clips."""
        return torch.stack(list(parts)).to(self.network.embedding.weight.device)


def make_clip_field(clip: Clip, items: int) -> Field:
    """Return the frames that the network reads, labelled by their numbers in the clip from 1."""
    chosen_N = choose_frames(clip.frames, items)
    labels = tuple(f"frame {frame + 1}" for frame in chosen_N)
    return Field("clip", "clip", "", labels, np.stack([chosen_N, chosen_N + 1], 1))


INPUTS: Mapping[str, Callable[[Any, Tokenizer], Input]] = {
    "source": TextInput,
    "picture": PictureInput,
    "sound": SoundInput,
    "clip": ClipInput,
}
"""All inputs by the name of their field."""


# Warnings for users about an output with unknown characters or an unusual length.


MAX_NAMED_SYMBOLS = 8
"""Maximum number of unknown symbols that a warning names."""


def list_output_warnings(
    card: Card, tokenizer: Tokenizer, text: str, found: Hypothesis
) -> list[str]:
    """Return warnings about the output for `text`, one sentence each."""
    tokens, unit = tokenizer.tokens(text), f"{card.level}s"
    unknown = sorted({token.text for token in tokens if token.id == UNKNOWN})
    sentences = []
    if unknown:
        sentences.append(_describe_unknown(unknown))
    if len(tokens) > card.trained_length:
        sentences.append(
            f"Longer than anything this model was trained on ({card.trained_length} {unit})."
        )
    if not found.finished:
        sentences.append(
            f"The model did not stop by itself. It was stopped after {len(found.ids)} {unit}."
        )
    return sentences


def _describe_unknown(symbols: Sequence[str]) -> str:
    """Return the warning about symbols that the model does not know."""
    named = [f"“{symbol}”" for symbol in symbols[:MAX_NAMED_SYMBOLS]]
    if len(symbols) == 1:
        return f"The model does not know {named[0]} and reads it as the unknown token."
    if len(symbols) > MAX_NAMED_SYMBOLS:
        listed = f"{', '.join(named)} and {len(symbols) - MAX_NAMED_SYMBOLS} more"
    else:
        listed = f"{', '.join(named[:-1])} and {named[-1]}"
    return f"The model does not know {listed}. It reads all of them as one unknown token."
