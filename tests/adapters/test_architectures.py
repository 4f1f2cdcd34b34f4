"""Architectures of `transformers` with a small configuration are traced correctly or rejected."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.adapters.verified_models import EVERY, PAGE, Verdict, page

# The architectures that are rejected, and the words of the message.
REFUSED = {
    "ASTModel": "cuts a spectrum into patches of times and frequencies",
    "CanineModel": "differ in heads x queries x items",
    "FNetModel": "No attention was seen",
    "FunnelModel": "differ in heads x queries x items",
    "SqueezeBertModel": "not attention weights",
    "SwinModel": "attend within windows",
    "YosoModel": "No attention was seen",
}
LEAST = 160


@pytest.fixture(scope="module")
def verdicts() -> dict[str, Verdict]:
    """Return all verdicts, from a process without threads, which can be forked safely."""
    run = [sys.executable, "-m", "tests.adapters.verified_models", "--json"]
    lines = subprocess.run(run, check=True, capture_output=True, text=True).stdout.splitlines()
    found = [Verdict(**json.loads(line)) for line in lines]
    return {one.family: one for one in found}


@pytest.mark.long
def test_every_architecture_is_right_or_refused(verdicts: dict[str, Verdict]) -> None:
    assert len(verdicts) == len(EVERY) >= 170
    wrong = {one.family: one.problem for one in verdicts.values() if not one.works}
    assert wrong.keys() == REFUSED.keys(), wrong
    for family, words in REFUSED.items():
        assert words in wrong[family]
    assert sum(one.works for one in verdicts.values()) >= LEAST


@pytest.mark.long
def test_verified_models_page_matches_results(verdicts: dict[str, Verdict]) -> None:
    found = [verdicts[one.name] for one in EVERY]
    assert PAGE.read_text(encoding="utf-8") == page(found), (
        "python -m tests.adapters.verified_models writes it anew"
    )
