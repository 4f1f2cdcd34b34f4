"""What every Transformer that writes has: decoder layers, and embeddings shared by what it reads,
writes and puts out.

Shapes: B examples, M items, T target items, N rows, W model width, V vocabulary.
"""

from __future__ import annotations

import math

from torch import Tensor, nn
from torch.nn import functional as F

from areaviz.models.layers import WritingLayer, positions


class Writer(nn.Module):
    """The base of the Transformers: tokens in, tokens out. A network makes its parts itself, under
    these names.
    """

    embedding: nn.Embedding
    decoder: nn.ModuleList
    dropout: nn.Dropout

    @property
    def layers(self) -> list[WritingLayer]:
        """The decoder's layers, first to last."""
        return [layer for layer in self.decoder if isinstance(layer, WritingLayer)]

    def normed(self, x_BTW: Tensor) -> Tensor:
        """The decoder's output after its last normalisation."""
        raise NotImplementedError

    def embed(self, ids_BM: Tensor, first: int = 0) -> Tensor:
        """Embedded tokens with their positions, of which the first is `first`: [B, M, W]."""
        width = self.embedding.embedding_dim
        x_BMW = self.embedding(ids_BM) * math.sqrt(width)
        embedded: Tensor = self.dropout(
            x_BMW + positions(first, ids_BM.shape[1], width, ids_BM.device)
        )
        return embedded

    def embed_at(self, token_N: Tensor, position: int) -> Tensor:
        """One embedded token a row at a 0-based position: [N, 1, W]."""
        return self.embed(token_N[:, None], position)

    def logits(self, x_BTW: Tensor) -> Tensor:
        """Output logits [B, T, V]: the decoder's output times the shared embeddings."""
        return F.linear(self.normed(x_BTW), self.embedding.weight)
