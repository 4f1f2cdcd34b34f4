"""Record the attention of your own kind of layer: a probe defines how to read its heads."""

import sys

import torch
from torch import Tensor, nn

import areaviz
from areaviz.adapters.heads import Heads
from areaviz.trace import file


class Attention(nn.Module):
    """Attention with two heads, whose queries and keys have four numbers each."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key = nn.Linear(8, 8), nn.Linear(8, 8)

    def heads(self, x_ND: Tensor) -> Heads:
        """Return all weights, with the queries and keys that the map "as areas" needs."""
        query = self.query(x_ND).unflatten(-1, (2, 4)).transpose(0, 1)
        key = self.key(x_ND).unflatten(-1, (2, 4)).transpose(0, 1)
        return Heads((query @ key.transpose(1, 2)).softmax(-1), query, key, scale=1.0)

    def forward(self, x_ND: Tensor) -> Tensor:
        return self.heads(x_ND).weights.mean(0) @ x_ND


def main(path: str = "own_module.npz") -> None:
    """Run two such layers, and save the trace for the page "Your own attention"."""
    model = nn.Sequential(Attention(), Attention())
    probes = {"*": lambda layer, given, named, output: layer.heads(given[0])}
    trace = areaviz.attend(model, torch.randn(3, 8), probes=probes, labels=["a", "b", "c"])
    file.save(trace, path)
    print(list(trace.maps))


if __name__ == "__main__":
    main(*sys.argv[1:])
