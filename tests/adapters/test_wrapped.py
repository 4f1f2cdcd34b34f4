"""`peft` adapters and models offloaded by `accelerate` are read like the models they wrap."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.adapters.wrapped_models import APART, are_there

pytestmark = pytest.mark.skipif(
    not are_there() and not APART.is_dir(),
    reason="peft and accelerate are missing: make test installs them (locks/wrappers.txt)",
)


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """Return the results of a process that can import both packages."""
    run = [sys.executable, "-m", "tests.adapters.wrapped_models"]
    lines = subprocess.run(run, check=True, capture_output=True, text=True).stdout.splitlines()
    cases: dict[str, Any] = json.loads(lines[-1])
    return cases


@pytest.mark.long
def test_lora_keeps_map_and_outputs(found: dict[str, Any]) -> None:
    lora = found["lora"]
    assert 0 <= lora["apart"] < 1e-5 and lora["outputs"] == 3 and lora["changed"], lora


def test_adapter_folder_is_read_with_its_base(found: dict[str, Any]) -> None:
    folder = found["folder"]
    assert folder["labels"] >= 3 and folder["model"] == "adapter", folder
    assert "holds an adapter of" in folder["page"] and "merge_and_unload" in folder["page"]
    assert folder["without base"].startswith("The adapter adapter belongs to "), folder


def test_prefix_tuning_shows_its_virtual_tokens(found: dict[str, Any]) -> None:
    prefix = found["prefix"]
    assert 0 <= prefix["apart"] < 1e-5, prefix
    assert prefix["labels"][:4] == ["⟨prefix 1⟩", "⟨prefix 2⟩", "⟨prefix 3⟩", "5"]


def test_prompt_tuning_attends_to_prompt_and_text(found: dict[str, Any]) -> None:
    assert found["prompt"] == {"shape": [2, 4, 3, 5]}


def test_offloaded_model_equals_the_whole_model(found: dict[str, Any]) -> None:
    assert 0 <= found["offloaded"]["apart"] < 1e-6, found["offloaded"]
