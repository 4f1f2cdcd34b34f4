"""The inputs of the networks that write: how each reads its part of a request.

To add one: a class like these, and a line in `INPUTS`.
Shapes: S source items with the end symbol, P = G * G cells, C channels, F frames, of E bands
in a sound and of side S in a clip, M items of a sound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from areaviz.data.clips import as_watched, chosen_frames
from areaviz.data.sounds import as_trained
from areaviz.data.tokenizer import PAD, Tokenizer
from areaviz.models.canvas import cell_field, squeezed
from areaviz.models.listener import FRAMES_AN_ITEM, SAMPLES_AN_ITEM
from areaviz.models.recording import text_field
from areaviz.trace.clip import Clip
from areaviz.trace.record import Field
from areaviz.trace.request import Request
from areaviz.trace.sound import RATE, Sound
from areaviz.trace.spectrogram import WINDOW, frames_of, spectrogram


class Input(Protocol):
    """One input of a network."""

    @property
    def noun(self) -> str:
        """What a reader calls it."""

    @property
    def missing(self) -> str:
        """The sentence for a request that lacks the only input of a network."""

    def items(self, request: Request) -> int:
        """How many items the request has of it, 0 for none."""

    def field(self, request: Request) -> Field:
        """The items, for the trace."""

    def read(self, requests: Sequence[Request]) -> list[Tensor]:
        """What the network reads of each request."""

    def batch(self, parts: Sequence[Tensor]) -> Tensor:
        """What was read of several requests, side by side on the network's device."""


@dataclass(frozen=True, slots=True)
class TextInput:
    """A text, as token ids [S]."""

    noun = "sentence"
    missing = "The text has no visible character; type a sentence, for example: A dog runs."

    network: Any
    tokenizer: Tokenizer

    def items(self, request: Request) -> int:
        tokens = self.tokenizer.tokens(request.text)
        # A text of blanks has tokens, and yet nothing to translate.
        is_visible = any(token.text.strip() for token in tokens)
        return len(tokens) + 1 if is_visible else 0

    def field(self, request: Request) -> Field:
        return text_field("source", request.text, self.tokenizer.tokens(request.text), end=True)

    def read(self, requests: Sequence[Request]) -> list[Tensor]:
        return [torch.tensor(self.tokenizer.ids(request.text)) for request in requests]

    def batch(self, parts: Sequence[Tensor]) -> Tensor:
        # Padding is masked, so a sentence's result does not depend on its neighbours.
        padded_BS = pad_sequence(list(parts), batch_first=True, padding_value=PAD)
        return padded_BS.to(self.network.embedding.weight.device)


@dataclass(frozen=True, slots=True)
class PictureInput:
    """A picture, as the features of the cells of a grid [P, C]."""

    noun = "picture"
    missing = "This model describes pictures; choose or upload one."

    network: Any
    tokenizer: Tokenizer

    def items(self, request: Request) -> int:
        return 0 if request.picture is None else int(self.network.grid) ** 2

    def field(self, request: Request) -> Field:
        assert request.picture is not None
        return cell_field(request.picture, self.network.grid, self.network.grid)

    def read(self, requests: Sequence[Request]) -> list[Tensor]:
        side = self.network.encoder_config.side
        squares = [squeezed(one.picture, side) for one in requests if one.picture is not None]
        pixels = torch.stack(squares).to(self.network.embedding.weight.device)
        return list(self.network.look(pixels))

    def batch(self, parts: Sequence[Tensor]) -> Tensor:
        return torch.stack(list(parts))


@dataclass(frozen=True, slots=True)
class SoundInput:
    """A sound, as the frames of its spectrogram [F, E]; an item is of four of them."""

    noun = "sound"
    missing = "This model listens; choose, record or upload a sound."

    network: Any
    tokenizer: Tokenizer

    def items(self, request: Request) -> int:
        if request.sound is None:
            return 0
        return -(-frames_of(len(request.sound.samples)) // FRAMES_AN_ITEM)

    def field(self, request: Request) -> Field:
        assert request.sound is not None
        return sound_field(request.sound, self.items(request))

    def read(self, requests: Sequence[Request]) -> list[Tensor]:
        sounds = [request.sound for request in requests if request.sound is not None]
        return [torch.from_numpy(spectrogram(as_trained(sound.samples))) for sound in sounds]

    def batch(self, parts: Sequence[Tensor]) -> Tensor:
        # The network takes frames of NaN for padding.
        padded_BFE = pad_sequence(list(parts), batch_first=True, padding_value=torch.nan)
        return padded_BFE.to(self.network.embedding.weight.device)


def sound_field(sound: Sound, items: int) -> Field:
    """The items of a sound, each named by the second it begins at; the last reaches to its end."""
    samples, step = len(sound.samples), SAMPLES_AN_ITEM
    starts_M = np.arange(items) * step
    # Its last frame reaches beyond the next item's beginning.
    ends_M = np.minimum(starts_M + step, samples)
    ends_M[-1] = min(samples, starts_M[-1] + step + WINDOW)
    labels = tuple(f"{start / RATE:.2f} s" for start in starts_M)
    return Field("sound", "sound", "", labels, np.stack([starts_M, ends_M], 1))


@dataclass(frozen=True, slots=True)
class ClipInput:
    """A clip, as so many small frames as the network watches: grey [F, S, S], or [F, S, S, 3]."""

    noun = "clip"
    missing = "This model watches clips; choose or upload one."

    network: Any
    tokenizer: Tokenizer

    def items(self, request: Request) -> int:
        return 0 if request.clip is None else int(self.network.config.frames)

    def field(self, request: Request) -> Field:
        assert request.clip is not None
        return clip_field(request.clip, self.items(request))

    def read(self, requests: Sequence[Request]) -> list[Tensor]:
        config = self.network.config
        clips = [request.clip for request in requests if request.clip is not None]
        how = config.frames, config.side, config.colour
        return [torch.from_numpy(as_watched(clip.pixels, *how)) for clip in clips]

    def batch(self, parts: Sequence[Tensor]) -> Tensor:
        return torch.stack(list(parts)).to(self.network.embedding.weight.device)


def clip_field(clip: Clip, items: int) -> Field:
    """The frames that are watched, each named by its number in the clip, from 1."""
    chosen_N = chosen_frames(clip.frames, items)
    labels = tuple(f"frame {frame + 1}" for frame in chosen_N)
    return Field("clip", "clip", "", labels, np.stack([chosen_N, chosen_N + 1], 1))


INPUTS: Mapping[str, Callable[[Any, Tokenizer], Input]] = {
    "source": TextInput,
    "picture": PictureInput,
    "sound": SoundInput,
    "clip": ClipInput,
}
"""Every input, by the name of its field."""
