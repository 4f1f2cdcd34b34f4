"""Make the page of another tool, in an environment with that tool and without areaviz.

    PYTHON benchmarks/peers_make.py TOOL TABLE.npy PAGE.html

The random attention of N tokens is a table of N + 144 rows. The attention of layer l and head h is
the N rows from row 12 l + h on. The memory of this process is limited, so a page that is too large
ends this process before the machine runs out of memory.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path

import numpy as np
import torch

LAYERS = HEADS = 12
MOST = 8 << 30
"""Limit of the address space in bytes."""


def attention(table: np.ndarray[tuple[int, int], np.dtype[np.float32]]) -> list[torch.Tensor]:
    """Return a tensor [1, H, N, N] for every layer, as models return them."""
    items = table.shape[1]
    firsts = [[layer * HEADS + head for head in range(HEADS)] for layer in range(LAYERS)]
    return [
        torch.stack([torch.from_numpy(table[at : at + items]) for at in layer])[None]
        for layer in firsts
    ]


def bertviz(weights: list[torch.Tensor], tokens: list[str]) -> str:
    """Return the page with all layers and heads: `head_view`, the first example of BertViz."""
    return str(import_module("bertviz").head_view(weights, tokens, html_action="return").data)


def bertviz_one_layer(weights: list[torch.Tensor], tokens: list[str]) -> str:
    """Return the page with one layer, which BertViz's documentation advises for long texts."""
    view = import_module("bertviz").head_view
    return str(view(weights, tokens, include_layers=[0], html_action="return").data)


def circuitsvis(weights: list[torch.Tensor], tokens: list[str]) -> str:
    """Return the page with the twelve heads of the first layer. CircuitsVis shows one layer."""
    heads = import_module("circuitsvis.attention").attention_heads
    return str(heads(weights[0][0], tokens, mask_upper_tri=False).local_src)


MAKERS: Mapping[str, Callable[[list[torch.Tensor], list[str]], str]] = {
    "BertViz head_view": bertviz,
    "BertViz, one layer": bertviz_one_layer,
    "CircuitsVis, one layer": circuitsvis,
}

if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MOST, MOST))
    tool, source, target = sys.argv[1:]
    rows = np.load(source)
    words = Path(source).with_suffix(".txt").read_text("utf-8").split(" ")
    page = MAKERS[tool](attention(rows), words)
    Path(target).write_text(f"<!doctype html><meta charset=utf-8><body>{page}</body>", "utf-8")
