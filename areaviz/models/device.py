"""Where models run: found by itself or chosen by name; and networks ready to run there."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import nn

from areaviz.trace.errors import InputError

Network = TypeVar("Network", bound=nn.Module)
DEVICES = ("auto", "cuda", "mps", "cpu")
THREADS = "OMP_NUM_THREADS"
"""The variable that shares out processors everywhere; Ray sets it to what a replica was given."""


def choose_device(name: str = "auto") -> torch.device:
    """The device of that name; "auto" takes CUDA, else MPS, else the CPU.

    Raises:
        InputError: an unknown name, or a device this machine does not have.
    """
    if name not in DEVICES:
        raise InputError(f'There is no device "{name}"; choose one of {", ".join(DEVICES)}.')
    present = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    if name == "auto":
        return torch.device(next(device for device, found in present.items() if found))
    if not present[name]:
        raise InputError(f'This machine has no device "{name}"; choose "auto" or "cpu".')
    return torch.device(name)


def answering_threads() -> int:
    """The processors that one answer is computed with: what OMP_NUM_THREADS says, else one.

    The models here are small: a second processor makes an answer at most a fifth faster and takes
    twice the processor time, and where others want an answer, too, everybody waits several times as
    long (docs/reliability.md).
    """
    count = os.environ.get(THREADS, "")
    return max(1, int(count)) if count.isdecimal() else 1


def use_threads(count: int) -> None:
    """Compute with so many processors in this thread."""
    if torch.get_num_threads() != count:
        torch.set_num_threads(count)


def describe_device(device: torch.device, threads: int | None = None) -> str:
    """The device in words; threads: processors that compute, else as many as torch takes."""
    if device.type == "cuda":
        return f"CUDA: {torch.cuda.get_device_name(device)}"
    if device.type == "mps":
        return "MPS (Apple GPU)"
    threads = threads or torch.get_num_threads()
    return f"CPU ({threads} thread{'s' if threads != 1 else ''})"


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a device or the machine ran out of memory."""
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    # On a CPU torch says so in a RuntimeError, which has no kind of its own.
    return "not enough memory" in str(error)


def free_memory(device: torch.device) -> None:
    """Give back what the device's allocator holds but does not use."""
    if device.type == "cuda":
        torch.cuda.empty_cache()
    elif device.type == "mps":
        torch.mps.empty_cache()


def eval_mode(network: Network, device: torch.device) -> Network:
    """The same network on `device`, in evaluation mode and without gradients."""
    return network.to(device).eval().requires_grad_(False)


def untrained(build: Callable[[Any], Network], config: Any, device: torch.device) -> Network:
    """A network before it learned anything, the same each time: a baseline."""
    torch.manual_seed(0)
    return eval_mode(build(config), device)
