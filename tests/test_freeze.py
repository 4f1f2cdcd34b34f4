"""What must stay equal while code moves is equal, and the comparison finds what is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import freeze
from tests.sampled import sampled


@pytest.mark.parametrize("part", sampled(freeze.PARTS, *freeze.QUICK))
def test_part_is_as_stored(part: str) -> None:
    stored = freeze.read_file()
    if part in freeze.EXACT and stored["platform"] != freeze.describe_platform():
        pytest.skip(f"The digests were stored on {stored['platform']}.")
    found = freeze.compute(part)
    assert found and stored["parts"].keys() == freeze.PARTS.keys()
    differences = list(freeze.iterate_differences(stored["parts"][part], found, part))
    assert differences == [], f"if this is on purpose, run: python -m tests.freeze --write {part}"


def test_one_model_is_as_stored() -> None:
    """A sample of the part "models", which is long."""
    name = "char-tiny-area"
    found = json.loads(json.dumps(freeze.freeze_models([name])))[name]
    stored = freeze.read_file()["parts"]["models"][name]
    assert list(freeze.iterate_differences(stored, found, name)) == []


def test_differences_are_found_and_named() -> None:
    stored = {"a": "1", "b": [1.0, 2.0], "c": {"d": 3}, "gone": ""}
    found = {"a": "2", "b": [1.00001, 2.1], "c": {"d": 4}, "new": 0}
    assert list(freeze.iterate_differences(stored, found, "part")) == [
        "part › a: 1 → 2",
        "part › b[1]: 2.0 → 2.1",
        "part › c › d: 3 → 4",
        "part › gone:  → None",
        "part › new: None → 0",
    ]
    assert list(freeze.iterate_differences([1.0], [1.0, 1.0], "x")) == ["x: [1.0] → [1.0, 1.0]"]
    assert list(freeze.iterate_differences(stored, stored, "part")) == []


def test_digest_leaves_out_paths_and_version() -> None:
    there, here = Path("/elsewhere"), freeze.ROOT
    assert freeze.digest(f"{here}/docs") == freeze.digest("ROOT/docs")
    assert freeze.digest(f"{there}/docs") != freeze.digest(f"{here}/docs")
    assert freeze.digest(f"areaviz {freeze.__version__}") == freeze.digest("areaviz VERSION")


def test_digest_of_a_page_leaves_out_only_comments_and_empty_lines() -> None:
    page = b"a {}\n\n  // one\n/* two\n three */\nlet b = 1; // four\n/* five */ c();\n"
    assert freeze.digest_page(page) == freeze.digest("a {}\nlet b = 1; // four\n/* five */ c();\n")
    assert freeze.digest_page(page) != freeze.digest_page(page.replace(b"1", b"2"))
    policies = (f"script-src 'sha256-{letter * 43}='".encode() for letter in "ab")
    assert len({freeze.digest_page(policy) for policy in policies}) == 1


def test_command_tells_what_changed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(freeze, "FILE", tmp_path / "freeze.json")
    assert freeze.main(["--write", "server"]) == 0 and freeze.main(["server"]) == 0
    assert capsys.readouterr().out == "Nothing changed.\n"
    monkeypatch.setattr(freeze, "PARTS", {"server": lambda: {"openapi.json": "other"}})
    assert freeze.main(["server"]) == 1
    assert "server › openapi.json: " in capsys.readouterr().out
    monkeypatch.setattr(freeze, "describe_platform", lambda: "another platform")
    assert freeze.main(["--write", "server"]) == 1
