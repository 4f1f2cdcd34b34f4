"""Where models run: found by itself or chosen by name."""

from __future__ import annotations

import torch

from areaviz.trace.errors import InputError

DEVICES = ("auto", "cuda", "mps", "cpu")


def choose_device(name: str = "auto") -> torch.device:
    """The device of that name; "auto" takes CUDA, else MPS, else the CPU.

    Raises:
        InputError: an unknown name, or a device this machine does not have.
    """
    if name not in DEVICES:
        raise InputError(f'There is no device "{name}"; choose one of {", ".join(DEVICES)}.')
    present = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if name == "auto":
        return torch.device(next(device for device, found in present.items() if found))
    if not present[name]:
        raise InputError(f'This machine has no device "{name}"; choose "auto" or "cpu".')
    return torch.device(name)


def describe_device(device: torch.device) -> str:
    """The device in words, for people."""
    if device.type == "cuda":
        return f"CUDA: {torch.cuda.get_device_name(device)}"
    if device.type == "mps":
        return "MPS (Apple GPU)"
    threads = torch.get_num_threads()
    return f"CPU ({threads} thread{'s' if threads != 1 else ''})"


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a device or the machine ran out of memory."""
    return isinstance(error, (torch.OutOfMemoryError, MemoryError)) or "not enough memory" in str(error)


def free_memory(device: torch.device) -> None:
    """Give back what the device's allocator holds but does not use."""
    if device.type == "cuda":
        torch.cuda.empty_cache()
    elif device.type == "mps":
        torch.mps.empty_cache()
