"""Networks ready to be asked: on their device, in evaluation mode, without gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import nn

Network = TypeVar("Network", bound=nn.Module)


def ready(network: Network, device: torch.device) -> Network:
    """The same network, ready on `device`."""
    return network.to(device).eval().requires_grad_(False)


def untrained(build: Callable[[Any], Network], config: Any, device: torch.device) -> Network:
    """A network before it learned anything, the same each time: a baseline."""
    torch.manual_seed(0)
    return ready(build(config), device)
