"""What a network computes with while it trains."""

from __future__ import annotations

from typing import TypeVar

import torch
from torch import nn

from areaviz.attention import fused
from areaviz.attention.memory import KeysAndValues
from areaviz.attention.spec import LEARNED_KEYS, AreaOptions

Network = TypeVar("Network", bound=nn.Module)


def fastest(network: Network, device: torch.device) -> Network:
    """The same network, on a CPU with channels last in memory (digit readers of pictures: 1.2 to
    1.8 times as fast).

    Areas of mean or boundary keys and sum values are attended to by the C kernel where it can be
    compiled, other learned keys in the pooled form (benchmarks/README.md has what a step of each
    costs).
    """
    if device.type != "cpu":
        return network
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # torch's types lack it
    for module in network.modules():
        if isinstance(module, KeysAndValues):
            module.impl = _fastest_form(module.areas)
    return network


def _fastest_form(areas: AreaOptions) -> str:
    if areas.key_mode in ("mean", "boundary") and areas.value_mode == "sum" and fused.available():
        return "fused"
    return "pooled" if areas.key_mode in LEARNED_KEYS or areas.size_bias else "auto"
