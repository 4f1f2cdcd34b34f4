"""The examples run as they are, stay short, and leave a trace that the app opens."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from areaviz.trace import codec
from areaviz.trace.record import validate
from tests.adapters.torchvision_ops import make_importable

make_importable()
EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
LONGEST = 40


def test_there_are_examples_and_each_is_short() -> None:
    assert {"arrays", "bert", "own_module", "vit"} <= {path.stem for path in EXAMPLES}
    assert [path.name for path in EXAMPLES if len(path.read_text(encoding="utf-8").splitlines()) > LONGEST] == []


@pytest.mark.parametrize("name", ["arrays", "bert", "own_module", "vit"])
def test_an_example_runs_and_leaves_a_trace(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = next(path for path in EXAMPLES if path.stem == name)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main(str(tmp_path / "trace.npz"))
    validate(codec.load(tmp_path / "trace.npz"))
    assert capsys.readouterr().out.strip()
