from __future__ import annotations
import math
from dataclasses import dataclass
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from areaviz.attention.area import area_mask, causal_areas
from areaviz.attention.multihead import MultiHeadAttention
from areaviz.trace.areas import AreaGrid


@dataclass(frozen=True)
class TransformerConfig:
    vocabulary: int
    layers: int = 2
    width: int = 128
    filter: int = 512
    heads: int = 4
    dropout: float = 0.1
    area_size: int = 1
    area_layers: int = 2


def positions(length: int, width: int, device=None) -> Tensor:
    rate = torch.exp(torch.arange(0, width, 2, device=device) * (-math.log(10000.0) / width))
    angle = torch.arange(length, device=device)[:, None] * rate
    return torch.cat([angle.sin(), angle.cos()], 1)


class FeedForward(nn.Sequential):
    def __init__(self, c): super().__init__(nn.Linear(c.width, c.filter), nn.ReLU(), nn.Linear(c.filter, c.width))


class EncoderLayer(nn.Module):
    def __init__(self, c, size):
        super().__init__()
        self.self_attention = MultiHeadAttention(c.width, c.heads, size)
        self.feed_forward = FeedForward(c)
        self.norms = nn.ModuleList(nn.LayerNorm(c.width) for _ in range(2))
        self.dropout = nn.Dropout(c.dropout)

    def forward(self, x, allowed):
        y = self.norms[0](x)
        x = x + self.dropout(self.self_attention(y, y, allowed))
        return x + self.dropout(self.feed_forward(self.norms[1](x)))


class DecoderLayer(nn.Module):
    def __init__(self, c, size):
        super().__init__()
        self.self_attention = MultiHeadAttention(c.width, c.heads, size)
        self.cross_attention = MultiHeadAttention(c.width, c.heads, size)
        self.feed_forward = FeedForward(c)
        self.norms = nn.ModuleList(nn.LayerNorm(c.width) for _ in range(3))
        self.dropout = nn.Dropout(c.dropout)

    def forward(self, x, causal, memory, allowed):
        y = self.norms[0](x)
        x = x + self.dropout(self.self_attention(y, y, causal))
        x = x + self.dropout(self.cross_attention(self.norms[1](x), memory, allowed))
        return x + self.dropout(self.feed_forward(self.norms[2](x)))


class Transformer(nn.Module):
    def __init__(self, c: TransformerConfig):
        super().__init__()
        self.config = c
        self.embedding = nn.Embedding(c.vocabulary, c.width, padding_idx=0)
        sizes = [c.area_size if i < c.area_layers else 1 for i in range(c.layers)]
        self.encoder = nn.ModuleList(EncoderLayer(c, s) for s in sizes)
        self.decoder = nn.ModuleList(DecoderLayer(c, s) for s in sizes)
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(c.width), nn.LayerNorm(c.width)
        self.dropout = nn.Dropout(c.dropout)
        nn.init.normal_(self.embedding.weight, std=c.width**-0.5)
        for m in self.modules():
            if isinstance(m, nn.Linear):
                nn.init.xavier_uniform_(m.weight); nn.init.zeros_(m.bias)

    def embed(self, ids):
        x = self.embedding(ids) * math.sqrt(self.config.width)
        return self.dropout(x + positions(ids.shape[1], self.config.width, ids.device))

    def forward(self, source, target):
        size = self.config.area_size
        pad = source == 0
        allowed = None
        if pad.any():
            grid = AreaGrid.clamped((1, source.shape[1]), (1, size))
            allowed = area_mask(~pad, grid)[:, None, None]
        x = self.embed(source)
        for l in self.encoder: x = l(x, allowed)
        memory = self.encoder_norm(x)
        causal = causal_areas(target.shape[1], AreaGrid.clamped((1, target.shape[1]), (1, size)), target.device)
        y = self.embed(target)
        for l in self.decoder: y = l(y, causal, memory, allowed)
        return F.linear(self.decoder_norm(y), self.embedding.weight)
