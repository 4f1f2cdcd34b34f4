"""The video captioner, which reads a clip and writes a sentence about it.

See Yao et al. 2015, and section IV-C of the multimedia paper (Cho, Courville and Bengio 2015). A
convolutional network reads every frame separately, and another one reads the motion around it. An
LSTM writes, and for each word it attends to areas of frames. The variant without attention is the
control: it reads the mean of all frames for each word.

Shapes: B clips, N = B * K rows of K beams per clip, F frames, S side in pixels, C = 1 or 3
channels, T words, W width, V vocabulary. If a network sees colours, clips are [B, F, S, S, 3]
throughout.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from areaviz.attention.interventions import UNCHANGED, NetworkInterventions
from areaviz.attention.multihead import MultiHeadAttention
from areaviz.models.network import AreaChoices
from areaviz.models.recurrent import RECURRENT_SITE, EncodedItems, LstmWriter
from areaviz.trace.errors import check_choice

ENCODERS = ("frames", "motion", "both")
"""Views of a clip: each frame separately, differences from neighbouring frames, or both."""
_FRAME_CHANNELS, _MOTION_CHANNELS = (16, 32, 48), (16, 24)


@dataclass(frozen=True, slots=True)
class WatcherConfig(AreaChoices):
    """The options of the network.

    Args:
        encoder: one of `ENCODERS`.
        attends: whether to attend to frames. Otherwise the network reads their mean.
        frames: number of frames of a clip.
        side: side of a frame in pixels, a multiple of 8.
        colour: whether frames are in colour, which suits recordings. Otherwise they are in grey,
            light on dark, which suits drawings.
        width: width of an item, and number of cells of the LSTM decoder.
        heads: heads of the attention.
        dropout: dropout on frames, words and the decoder's output, 0..1.
    """

    encoder: str = "both"
    attends: bool = True
    frames: int = 16
    side: int = 48
    colour: bool = False
    width: int = 128
    heads: int = 1
    dropout: float = 0.1

    def __post_init__(self) -> None:
        check_choice("encoder", self.encoder, ENCODERS)

    @property
    def layers(self) -> int:
        """The number of attention layers: 1, or 0 without attention."""
        return int(self.attends)

    @property
    def channels(self) -> int:
        """The number of channels of a frame."""
        return 3 if self.colour else 1

    @property
    def about(self) -> str:
        """The view of the clip and the kind of attention in words."""
        seen = {"frames": "frames", "motion": "motion", "both": "frames and motion"}[self.encoder]
        return f"{seen}, {self.form if self.attends else 'no attention'}"


class VideoCaptioner(LstmWriter):
    """The video captioner, from pixels to words.

    Args:
        config: the options.
        impl: implementation of area attention, see `area_attention`.
    """

    inputs = ("clip",)
    longest = 24

    def __init__(self, config: WatcherConfig, impl: str = "auto") -> None:
        super().__init__(config.vocabulary, config.width, config.dropout)
        self.config: WatcherConfig = config
        width, encoder = config.width, config.encoder
        seen = config.side, width, config.channels
        self.seeing = FrameEncoder(*seen) if encoder != "motion" else None
        self.moving = MotionEncoder(*seen) if encoder != "frames" else None
        self.time = nn.Parameter(torch.zeros(config.frames, width))
        nn.init.normal_(self.time, std=0.1)
        self.decoder = nn.LSTM(width, width, batch_first=True)
        self.cross: MultiHeadAttention | None = None
        if config.attends:
            self.cross = MultiHeadAttention(width, config.heads, config.areas(0), impl)
        self.sites = {RECURRENT_SITE: ("target", "clip")} if config.attends else {}
        self.hidden_out = nn.Linear(width, width, bias=False)

    def encode(self, seen: Tensor, changed: NetworkInterventions = UNCHANGED) -> EncodedItems:
        """Encode clips of uint8, [B, F, S, S], with one item per frame.

        A hidden frame is replaced by the last visible one before it, so that its motion is hidden,
        too.
        """
        clip_BFSS = seen
        hidden = set(changed.list_hidden("clip"))
        shown: list[int] = []
        visible = [frame for frame in range(clip_BFSS.shape[1]) if frame not in hidden]
        for frame in range(clip_BFSS.shape[1]):
            before = [other for other in visible if other <= frame]
            shown.append(before[-1] if before else (visible or [0])[0])
        pixels_BFSS = clip_BFSS[:, shown].float() / 255
        seen_BFCSS = pixels_BFSS[:, :, None]
        if self.config.colour:
            seen_BFCSS = _standardise_colours(pixels_BFSS).movedim(4, 2)
        seen_BFW = self.time.expand(len(clip_BFSS), -1, -1)
        for encoder in (self.seeing, self.moving):
            if encoder is not None:
                seen_BFW = seen_BFW + encoder(seen_BFCSS)
        hidden_BF = torch.zeros(clip_BFSS.shape[:2], dtype=torch.bool, device=clip_BFSS.device)
        hidden_BF[:, list(hidden)] = True
        start_B1W = seen_BFW.new_zeros(len(seen_BFW), 1, self.config.width)
        return EncodedItems(self.dropout(seen_BFW), hidden_BF, (start_B1W, start_B1W))


class FrameEncoder(nn.Module):
    """Convolutions over every frame separately: [B, F, C, S, S] to [B, F, W]."""

    def __init__(self, side: int, width: int, channels: int = 1) -> None:
        super().__init__()
        first, second, third = _FRAME_CHANNELS
        self.layers = nn.Sequential(
            nn.Conv2d(channels, first, 5, 2, 2),
            nn.ReLU(),
            nn.Conv2d(first, second, 3, 2, 1),
            nn.ReLU(),
            nn.Conv2d(second, third, 3, 2, 1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(third * (side // 8) ** 2, width),
        )

    def forward(self, pixels_BFCSS: Tensor) -> Tensor:
        """Encode every frame as one item: [B, F, W]."""
        seen: Tensor = self.layers(pixels_BFCSS.flatten(0, 1))
        items: Tensor = seen.unflatten(0, pixels_BFCSS.shape[:2])
        return items


class MotionEncoder(nn.Module):
    """Convolutions in space and time over the changes from frame to frame, at half the size.

    They encode motion and not appearance, as the motion features of Yao et al. do.
    An item depends on its own frame, the three frames before it and the two frames after it.
    """

    def __init__(self, side: int, width: int, channels: int = 1) -> None:
        super().__init__()
        first, second = _MOTION_CHANNELS
        self.first = nn.Conv3d(channels, first, (3, 5, 5), (1, 2, 2), (1, 2, 2))
        self.second = nn.Conv3d(first, second, (3, 3, 3), (1, 2, 2), (1, 1, 1))
        self.out = nn.Linear(second * (side // 8) ** 2, width)

    def forward(self, pixels_BFCSS: Tensor) -> Tensor:
        """Encode the motion around every frame as one item: [B, F, W]."""
        changes_BFCSS = pixels_BFCSS.diff(dim=1, prepend=pixels_BFCSS[:, :1])
        halved_BCFSS = F.avg_pool3d(changes_BFCSS, (1, 2, 2)).transpose(1, 2)
        seen_BWFSS = F.relu(self.second(F.relu(self.first(halved_BCFSS))))
        items: Tensor = self.out(seen_BWFSS.transpose(1, 2).flatten(2))
        return items


def _standardise_colours(pixels_BFSSC: Tensor) -> Tensor:
    """Scale each clip to a mean colour of 0 and a standard deviation of 1, to remove lighting."""
    mean_B1113 = pixels_BFSSC.mean((1, 2, 3), keepdim=True)
    spread_B1111 = pixels_BFSSC.std((1, 2, 3, 4), keepdim=True)
    return (pixels_BFSSC - mean_B1113) / (spread_B1111 + 1e-3)
