"""`areaviz align`: heads chosen on every second example of a set, and refusals of small sets."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from areaviz.cli import build
from areaviz.samples.paths import CHECKPOINTS
from areaviz.trace.errors import InputError
from tests.test_openings_right import LINKED


def align(folder: Path, examples: int) -> str:
    """Write linked sentences into files, and return what the command says about them."""
    rows = [(text, *right) for text, right in LINKED.items()] * 3
    paths = [folder / name for name in ("en.txt", "de.txt", "links.txt")]
    for path, lines in zip(paths, zip(*rows[:examples], strict=True), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    source, reference, links = map(str, paths)
    given = ["token-regular", source, "--reference", reference, "--links", links]
    given += ["--column", "links.txt=links-from-0"]
    arguments = ["align", *given, "--checkpoints", str(CHECKPOINTS), "--device", "cpu"]
    return CliRunner().invoke(build("align"), arguments, catch_exceptions=False).stdout


def test_heads_are_chosen_and_reported_with_baselines(tmp_path: Path) -> None:
    said = align(tmp_path, 24)
    assert said.startswith("Head") and "chosen on 12 examples with links." in said
    assert "On 12 other examples the alignment error is" in said
    assert "the diagonal" in said and "the position alone" in said


def test_align_chooses_no_heads_on_five_examples(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="5 examples"):
        align(tmp_path, 5)
