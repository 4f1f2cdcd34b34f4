"""Compiling the kernel and keeping it in the cache."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from areaviz.attention.kernels import cpu


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty cache folder, and use sources that compile at once."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "small.c").write_text("int lanes(void) { return 4; }")
    monkeypatch.setattr(cpu, "HOME", tmp_path)
    monkeypatch.setattr(cpu, "SOURCES", ("small.c",))
    return tmp_path / "areaviz" / "kernels"


def test_kernel_is_compiled_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cpu.load_library("plain C") is not None
    (kept,) = cache.iterdir()
    written = kept.stat().st_mtime_ns
    monkeypatch.setattr(cpu, "_compile_library", lambda *parts: pytest.fail("compiled again"))
    assert cpu.load_library("plain C") is not None
    assert kept.stat().st_mtime_ns == written and not cache.stat().st_mode & 0o077


def test_cache_folder_writable_by_others_is_refused(cache: Path) -> None:
    cache.mkdir(parents=True)
    cache.chmod(0o777)
    assert cpu.load_library("plain C") is not None
    assert not list(cache.iterdir())


@pytest.mark.parametrize("compiler", [None, "/bin/false", "/no/such/compiler"])
def test_missing_compiler_gives_no_kernel(
    cache: Path, monkeypatch: pytest.MonkeyPatch, compiler: str | None
) -> None:
    monkeypatch.setattr(cpu.shutil, "which", lambda name: compiler)
    assert cpu.load_library("plain C") is None
    assert not cache.exists() or not list(cache.iterdir())


def test_kernel_does_not_change_python_arithmetic() -> None:
    program = (
        "import torch; from tests.attention.call import attend;"
        " x = torch.randn(1, 40, 16, requires_grad=True);"
        " attend(x, x, x, area_size=2, impl='fused').output.sum().backward();"
        " print(float.fromhex('0x1p-1022') / 2)"
    )
    printed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert float(printed) > 0
