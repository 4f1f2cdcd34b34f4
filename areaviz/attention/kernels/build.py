"""The CPU kernel as a library, compiled once per machine if there is a C compiler.

The library is in the user's cache folder, under a name that changes with the source, the compiler
and the processor's vector instructions. Only the user may write to that folder, because a library
is code.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import torch

HOME = Path(__file__).parent
SOURCES = ("areas.c", "sweep.h", "lanes.h")
# -ffast-math is left out because it reorders operations, which would undo the rounding in `power`.
# A product and a sum may become one instruction.
_BASE = ("-O3", "-fPIC", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math")
VECTORS = {
    "AVX512": ("-mavx512f", "-mavx512dq", "-mavx512bw", "-mavx512vl", "-mfma"),
    "AVX2": ("-mavx2", "-mfma"),
}
"""Compiler flags by the capability that torch reports. Any other processor gets plain C."""
# Maximum time for the compiler, which takes less even on a busy machine.
COMPILER_TIMEOUT_S = 240


@cache
def get_library() -> ctypes.CDLL | None:
    """Return the kernel for this processor, or None if it cannot be compiled."""
    return load_library(torch.backends.cpu.get_cpu_capability())


def load_library(capability: str) -> ctypes.CDLL | None:
    """Return the kernel for a processor capability: a key of `VECTORS`, or any other text."""
    compiler = shutil.which(os.environ.get("CC", "gcc")) or shutil.which("cc")
    if compiler is None:
        return None
    # Without OpenMP (Apple's compiler), the kernel runs in one thread.
    for threads in (("-fopenmp",), ()):
        flags = (*_BASE, *VECTORS.get(capability, ()), *threads)
        try:
            return _compile_once(compiler, flags)
        except (OSError, subprocess.SubprocessError):
            continue
    return None


def _compile_once(compiler: str, flags: tuple[str, ...]) -> ctypes.CDLL:
    """Return the library for these flags, from the cache or compiled into it."""
    folder = _get_cache_folder()
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="areaviz-") as passing:
            path = Path(passing) / "areas.so"
            _compile_library(compiler, flags, path)
            return ctypes.CDLL(str(path))
    path = folder / f"areas-{_hash_source(compiler, flags)}.so"
    if not path.exists():
        # The finished file is moved into place, so that no process loads half of it.
        with tempfile.TemporaryDirectory(dir=folder) as passing:
            _compile_library(compiler, flags, Path(passing) / path.name)
            os.replace(Path(passing) / path.name, path)
    return ctypes.CDLL(str(path))


def _compile_library(compiler: str, flags: tuple[str, ...], path: Path) -> None:
    command = [compiler, *flags, "-shared", str(HOME / SOURCES[0]), "-o", str(path), "-lm"]
    subprocess.run(command, capture_output=True, check=True, timeout=COMPILER_TIMEOUT_S)


def _hash_source(compiler: str, flags: tuple[str, ...]) -> str:
    found = os.stat(compiler)
    parts = [compiler, str(found.st_size), str(found.st_mtime_ns), *flags]
    digest = hashlib.sha256("\n".join(parts).encode())
    for name in SOURCES:
        digest.update((HOME / name).read_bytes())
    return digest.hexdigest()[:16]


def _get_cache_folder() -> Path | None:
    """Return a folder that only this user may write to, or None if there is none."""
    home = os.environ.get("XDG_CACHE_HOME")
    folder = (Path(home) if home else Path.home() / ".cache") / "areaviz" / "kernels"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
    except (OSError, RuntimeError):
        return None
    mine = not hasattr(os, "getuid") or found.st_uid == os.getuid()
    return folder if mine and not found.st_mode & 0o022 and os.access(folder, os.W_OK) else None
