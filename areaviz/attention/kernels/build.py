"""The CPU kernel as a library: compiled where there is a C compiler, once for a machine.

The library lies in the cache folder of whoever runs the program, under a name that changes with the
source, the compiler and the processor's vectors. Nobody else may write there: a library is code.
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
# Numbers are not reordered (-ffast-math would undo the rounding in `power`), but a product and a
# sum may become one instruction.
_BASE = ("-O3", "-fPIC", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math")
VECTORS = {
    "AVX512": ("-mavx512f", "-mavx512dq", "-mavx512bw", "-mavx512vl", "-mfma"),
    "AVX2": ("-mavx2", "-mfma"),
}
"""Flags by what torch says the processor can do; plain C for anything else."""
# More than the compiler ever took, on a machine that was busy.
PATIENCE_S = 240


@cache
def library() -> ctypes.CDLL | None:
    """The kernel for this processor; None where it cannot be compiled."""
    return load(torch.backends.cpu.get_cpu_capability())


def load(capability: str) -> ctypes.CDLL | None:
    """The kernel for processors of some capability, a key of `VECTORS` or anything else."""
    compiler = shutil.which(os.environ.get("CC", "gcc")) or shutil.which("cc")
    if compiler is None:
        return None
    # Without OpenMP (Apple's compiler) it runs in one thread.
    for threads in (("-fopenmp",), ()):
        flags = (*_BASE, *VECTORS.get(capability, ()), *threads)
        try:
            return _compiled_once(compiler, flags)
        except (OSError, subprocess.SubprocessError):
            continue
    return None


def _compiled_once(compiler: str, flags: tuple[str, ...]) -> ctypes.CDLL:
    """The library of these flags, from the cache or compiled into it."""
    folder = _own_folder()
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="areaviz-") as passing:
            path = Path(passing) / "areas.so"
            _compile(compiler, flags, path)
            return ctypes.CDLL(str(path))
    path = folder / f"areas-{_digest(compiler, flags)}.so"
    if not path.exists():
        # Moved into place whole, so that nobody loads half of it.
        with tempfile.TemporaryDirectory(dir=folder) as passing:
            _compile(compiler, flags, Path(passing) / path.name)
            os.replace(Path(passing) / path.name, path)
    return ctypes.CDLL(str(path))


def _compile(compiler: str, flags: tuple[str, ...], path: Path) -> None:
    command = [compiler, *flags, "-shared", str(HOME / SOURCES[0]), "-o", str(path), "-lm"]
    subprocess.run(command, capture_output=True, check=True, timeout=PATIENCE_S)


def _digest(compiler: str, flags: tuple[str, ...]) -> str:
    found = os.stat(compiler)
    parts = [compiler, str(found.st_size), str(found.st_mtime_ns), *flags]
    digest = hashlib.sha256("\n".join(parts).encode())
    for name in SOURCES:
        digest.update((HOME / name).read_bytes())
    return digest.hexdigest()[:16]


def _own_folder() -> Path | None:
    """A folder that only this user may write to; None where there is none."""
    home = os.environ.get("XDG_CACHE_HOME")
    folder = (Path(home) if home else Path.home() / ".cache") / "areaviz" / "kernels"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
    except (OSError, RuntimeError):
        return None
    mine = not hasattr(os, "getuid") or found.st_uid == os.getuid()
    return folder if mine and not found.st_mode & 0o022 and os.access(folder, os.W_OK) else None
