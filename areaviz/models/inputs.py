"""The inputs of generating networks. Each input reads its part of a request.

To add an input, write a class with the members of `Input` and add a line to `INPUTS`.

Shapes: S source items with the end symbol, P = G * G cells, C channels, F frames, of E bands in a
sound and of side S in a clip, M items of a sound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from areaviz.data.tokenizer import PAD, Tokenizer
from areaviz.media.clips import choose_frames, prepare_frames
from areaviz.media.sounds import WINDOW, compute_spectrogram, count_frames, match_training_sound
from areaviz.models.canvas import make_cell_field, resize_to_square
from areaviz.models.recording import make_text_field
from areaviz.models.speech_recognizer import FRAMES_PER_ITEM, SAMPLES_PER_ITEM
from areaviz.trace.record import Field
from areaviz.trace.request import RATE, Clip, Request, Sound


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
