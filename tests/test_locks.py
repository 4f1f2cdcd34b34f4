"""The locks hold every pin, with one hash per package. The audit reports what it cannot compare."""

from __future__ import annotations

import re
import subprocess
import tomllib
from itertools import chain
from pathlib import Path
from types import SimpleNamespace

import pytest

from locks import audit

ROOT = Path(__file__).parents[1]
NAMES = ("pip", "run", "torch-cpu", "torch-cuda", "dev", "timm", "wrappers", "minilm", "notebooks")
LINE = re.compile(r"([a-z0-9.-]+)==(\S+) --hash=sha256:[0-9a-f]{64}")


def locked(name: str) -> dict[str, str]:
    """Return package -> version. Every line except comments must name a package and its hash."""
    lines = [
        line
        for line in (ROOT / "locks" / f"{name}.txt").read_text().splitlines()
        if not line.startswith("#")
    ]
    found = [LINE.fullmatch(line) for line in lines]
    assert lines and all(found)
    return {one[1]: one[2] for one in found if one}


def pins() -> dict[str, str]:
    """Return the exact versions in requirements.txt and in the dependency groups."""
    lines = [
        line
        for line in (ROOT / "requirements.txt").read_text().splitlines()
        if not line.startswith("#")
    ]
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    wanted = chain(lines, *groups.values())
    exact = [re.match(r"([\w.-]+)(?:\[.*\])?==(\S+)", line) for line in wanted]
    return {one[1].lower().replace("_", "-"): one[2] for one in exact if one}


def test_every_pin_is_locked_at_its_version() -> None:
    found = {
        name: version
        for lock in ("notebooks", "run", "dev", "timm", "wrappers", "minilm", "torch-cuda")
        for name, version in locked(lock).items()
    }
    assert {name: found.get(name) for name in pins()} == pins(), "Run: make lock"
    assert locked("torch-cpu") == {"torch": f"{pins()['torch']}+cpu"}


def test_every_package_is_in_one_lock() -> None:
    names = [
        name
        for lock in ("pip", "run", "torch-cuda", "dev", "timm", "wrappers", "minilm")
        for name in locked(lock)
    ]
    assert len(names) == len(set(names))


def test_audit_without_database_says_so_and_passes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(audit, "KNOWN", "http://127.0.0.1:9/pypi/pip/json")
    audit.main()
    assert "were not audited: the database at pypi.org cannot be reached" in capsys.readouterr().out


@pytest.mark.parametrize("code", [0, 1])
def test_audit_checks_every_lock_and_fails_on_known_flaws(
    monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    asked: list[list[str]] = []

    def run(command: list[str], check: bool) -> subprocess.CompletedProcess[bytes]:
        asked.append(command)
        return subprocess.CompletedProcess(command, code)

    monkeypatch.setattr(audit, "urlopen", lambda *_, **__: SimpleNamespace(close=lambda: None))
    monkeypatch.setattr(audit.subprocess, "run", run)
    with pytest.raises(SystemExit) as ended:
        audit.main()
    assert ended.value.code == code
    assert {Path(word).stem for word in asked[0] if word.endswith(".txt")} == {
        "pip",
        "run",
        "dev",
        "timm",
        "wrappers",
        "minilm",
        "torch-cuda",
    }
