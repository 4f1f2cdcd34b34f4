"""`areaviz faithfulness`: its figures, and models that it cannot measure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from areaviz.cards.card import write_card
from areaviz.cards.tasks import TASKS
from areaviz.cli import build
from areaviz.lab.measure import format_lines
from areaviz.measures.faithfulness import Faithfulness
from tests.models.test_language_model import language_model, save
from tests.pages import folder
from tests.tiny import checkpoint


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(build("faithfulness"), ["faithfulness", *arguments])
    return result.exit_code, result.output + str(result.exception or "")


def test_model_is_measured_on_sample_sentences(tmp_path: Path) -> None:
    checkpoint(tmp_path)
    code, said = run(
        "tiny-area",
        "--checkpoints",
        str(tmp_path),
        "--examples",
        "2",
        "--draws",
        "2",
        "--device",
        "cpu",
    )
    assert code == 0
    assert "examples: 2" in said and "comprehensiveness: " in said and "by chance" in said


def test_map_is_measured_by_word_and_foil(tmp_path: Path) -> None:
    checkpoint(tmp_path)
    there = ("--checkpoints", str(tmp_path), "--examples", "1", "--draws", "2", "--device", "cpu")
    code, said = run("tiny-area", *there, "--foil", "likeliest")
    assert code == 0 and "examples: 1, p(word) - p(foil): " in said
    code, said = run("tiny-area", *there, "--foil", "sie", "--word", "no such word")
    assert code != 0 and "None of the 1 outputs has that word" in said


def test_language_model_defaults_to_self_attention(tmp_path: Path) -> None:
    """Check that a language model's self-attention is the default, also with a foil."""
    save(language_model("character"), tmp_path, "reader")
    there = ("--checkpoints", str(tmp_path), "--examples", "2", "--draws", "2", "--device", "cpu")
    code, said = run("reader", *there, "--k", "2")
    assert code == 0 and "examples: 2" in said and "by chance" in said
    code, said = run("reader", *there, "--k", "2", "--foil", "likeliest")
    assert code == 0 and "p(word) - p(foil): " in said
    code, said = run("reader", *there, "--site", "encoder-decoder")
    assert code != 0 and "Choose one of: decoder self" in said


@pytest.mark.parametrize(
    ("arguments", "part"),
    [(("nobody",), "Choose one of: tiny-area"), (("tiny-area", "--layer", "3"), "2 layers")],
)
def test_unmeasurable_map_is_reported(
    tmp_path: Path, arguments: tuple[str, ...], part: str
) -> None:
    checkpoint(tmp_path)
    code, said = run(*arguments, "--checkpoints", str(tmp_path), "--examples", "1")
    assert code != 0 and part in said


def test_model_without_examples_names_models_with_examples(tmp_path: Path) -> None:
    """Check a digit reader, which has no weights that could be removed."""
    (tmp_path / "reader").mkdir()
    made = replace(folder.card("reader", "location-wise hard"), task="digits", family="ram")
    write_card(made, tmp_path / "reader" / "card.json")
    code, said = run("reader", "--checkpoints", str(tmp_path))
    assert code != 0
    for task in TASKS.values():
        takes = bool(task.samples) and "weigh" in task.can
        assert (task.title in said.partition("Choose")[2]) == takes, task.title


def test_examples_with_too_few_items_are_reported(tmp_path: Path) -> None:
    checkpoint(tmp_path)
    arguments = (
        "tiny-area",
        "--checkpoints",
        str(tmp_path),
        "--examples",
        "4",
        "--draws",
        "2",
        "--k",
    )
    code, said = run(*arguments, "36")
    assert (
        code == 0
        and "2 of 4 examples have fewer than 37 items and were left out." in said
        and "examples: 2" in said
    )
    code, said = run(*arguments, "20")
    assert code == 0 and "left out" not in said and "examples: 4" in said
    code, said = run(*arguments, "900")
    assert code != 0 and "None of the 4 inputs has more than 900 items" in said


def test_figures_include_chance() -> None:
    lines = format_lines(Faithfulness(0.5, 0.1, (0.1, 0.3), (0.4, 0.4), 0.9, 7), 2)
    assert lines == [
        "examples: 2, output items: 7, mean probability: 0.900",
        "comprehensiveness: 0.500, by chance 0.200 (standard deviation 0.141)",
        "sufficiency: 0.100, by chance 0.400 (standard deviation 0.000)",
    ]
