"""Where models run: found by itself or chosen by name."""

from __future__ import annotations

import os

import torch

from areaviz.trace.errors import InputError

DEVICES = ("auto", "cuda", "mps", "cpu")
THREADS = "OMP_NUM_THREADS"
"""The variable by which processors are shared out everywhere; Ray sets it to what a replica was
given.
"""


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
    """The processors one answer is computed with: as many as OMP_NUM_THREADS says, else one.

    The models here are small: a second processor makes an answer at most a fifth faster, takes
    twice the processor time, and where others want an answer, too, everybody waits several times as
    long (docs/reliability.md).
    """
    told = os.environ.get(THREADS, "")
    return max(1, int(told)) if told.isdecimal() else 1


def use_threads(count: int) -> None:
    """Compute with so many processors in this thread."""
    if torch.get_num_threads() != count:
        torch.set_num_threads(count)


def describe_device(device: torch.device, threads: int | None = None) -> str:
    """The device in words, for people; threads: processors that compute, else as many as torch
    takes.
    """
    if device.type == "cuda":
        return f"CUDA: {torch.cuda.get_device_name(device)}"
    if device.type == "mps":
        return "MPS (Apple GPU)"
    threads = threads or torch.get_num_threads()
    return f"CPU ({threads} thread{'s' if threads != 1 else ''})"


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a device or the machine ran out of memory."""
    return isinstance(error, (torch.OutOfMemoryError, MemoryError)) or "not enough memory" in str(
        error
    )


def free_memory(device: torch.device) -> None:
    """Give back what the device's allocator holds but does not use."""
    if device.type == "cuda":
        torch.cuda.empty_cache()
    elif device.type == "mps":
        torch.mps.empty_cache()
