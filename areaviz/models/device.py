"""The choice of a device for models, and networks prepared to run on it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import nn

from areaviz.trace.errors import InputError

Network = TypeVar("Network", bound=nn.Module)
DEVICES = ("auto", "cuda", "mps", "cpu")
THREADS_VARIABLE = "OMP_NUM_THREADS"
"""The usual environment variable for the number of threads. Ray sets it to a replica's share."""


def choose_device(name: str = "auto") -> torch.device:
    """Return the device with this name. "auto" picks CUDA, then MPS, then the CPU.

    Raises:
        InputError: if the name is unknown or this machine does not have the device.
    """
    if name not in DEVICES:
        raise InputError(f'Device "{name}" does not exist. Choose one of {", ".join(DEVICES)}.')
    present = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    if name == "auto":
        return torch.device(next(device for device, found in present.items() if found))
    if not present[name]:
        raise InputError(f'This machine has no device "{name}". Choose "auto" or "cpu".')
    return torch.device(name)


def get_answering_threads() -> int:
    """Return the number of threads for computing one answer: OMP_NUM_THREADS, or 1.

    The models here are small. A second processor makes an answer at most a fifth faster and takes
    twice the processor time. If several users wait for answers, all of them then wait several times
    as long (docs/reliability.md).
    """
    count = os.environ.get(THREADS_VARIABLE, "")
    return max(1, int(count)) if count.isdecimal() else 1


def use_threads(count: int) -> None:
    """Set the number of threads that torch uses in this thread."""
    if torch.get_num_threads() != count:
        torch.set_num_threads(count)


def describe_device(device: torch.device, threads: int | None = None) -> str:
    """Describe a device in words. `threads` is the number of threads, by default torch's."""
    if device.type == "cuda":
        return f"CUDA: {torch.cuda.get_device_name(device)}"
    if device.type == "mps":
        return "MPS (Apple GPU)"
    threads = threads or torch.get_num_threads()
    return f"CPU ({threads} thread{'s' if threads != 1 else ''})"


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error means that a device or the machine ran out of memory."""
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    # On a CPU, torch raises a plain RuntimeError, so only its message identifies the error.
    return "not enough memory" in str(error)


def free_memory(device: torch.device) -> None:
    """Return memory that the device's allocator has reserved but does not use."""
    if device.type == "cuda":
        torch.cuda.empty_cache()
    elif device.type == "mps":
        torch.mps.empty_cache()


def prepare_for_inference(network: Network, device: torch.device) -> Network:
    """Move a network to `device`, in evaluation mode and without gradients."""
    return network.to(device).eval().requires_grad_(False)


def build_untrained(build: Callable[[Any], Network], config: Any, device: torch.device) -> Network:
    """Build a network with initial weights, which are equal on each call, as a baseline."""
    torch.manual_seed(0)
    return prepare_for_inference(build(config), device)
