"""The table of figures in README.md comes from the cards, and is up to date."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from areaviz.cards.card import Card, write_card
from areaviz.cards.published import AREA_ATTENTION
from areaviz.cards.tasks import TASKS
from areaviz.cli.figures import (
    BEGIN,
    END,
    figures,
    filled,
    read_cards,
    with_forms,
)
from areaviz.data.places import CHECKPOINTS, FINDINGS, README
from areaviz.evaluation.form_tables import FORM_TABLES, LETTERS_TABLE, SUBWORDS_TABLE
from areaviz.metrics.head_choice import WANTED
from areaviz.trace.errors import BackendError, InputError

HEADLINE = TASKS["translation"].headline


def card(
    level: str = "character", mechanism: str = "area", size: str = "Tiny", **figures: float
) -> Card:
    return Card(
        name=f"{level}-{size}-{mechanism}".lower(),
        family="transformer",
        title="A model",
        task="translation",
        level=level,
        mechanism=mechanism,
        size=size,
        pair=f"{level}-{size}".lower(),
        parameters=1234567,
        trained_length=200,
        config={},
        recipe={},
        data={},
        figures={HEADLINE: figures},
        attention={},
        history=(),
        code_version="0",
        trained_on="",
        limits="",
        licence="",
    )


def text_of(*cards: Card) -> str:
    return filled(f"above\n{BEGIN}\nold\n{END}\nbelow\n", cards)


def save(folder: Path, shown: Card) -> None:
    (folder / shown.name).mkdir(parents=True)
    write_card(shown, folder / shown.name / "card.json")


def test_a_row_holds_our_figures_and_the_papers() -> None:
    text = text_of(card(bleu=24.321, bleu_lowercase=25.0, chrf=50.06))
    assert "| `character-tiny-area` | Tiny | area | 1,234,567 | 24.3 | 25.0 | 50.1 | 8.2 |" in text
    assert (
        text.startswith(f"above\n{BEGIN}\n")
        and text.endswith(f"\n{END}\nbelow\n")
        and "old" not in text
    )


def test_what_was_not_measured_is_said() -> None:
    assert "| 24.0 | not measured | not measured | 8.2 |" in text_of(card(bleu=24.0))


def test_a_pair_is_stated_with_its_difference() -> None:
    text = text_of(card(mechanism="regular", bleu=24.0), card(bleu=23.5))
    assert "Character level, Tiny: areas change BLEU by -0.5 here, by +1.3 in the paper." in text


def test_a_pair_of_a_size_that_the_paper_lacks_is_stated_alone() -> None:
    text = text_of(card(mechanism="regular", size="", bleu=24.0), card(size="", bleu=25.5))
    assert "- Character level: areas change BLEU by +1.5 here; the paper has no such size." in text


def test_a_single_model_has_no_difference() -> None:
    assert "change BLEU" not in text_of(card(bleu=23.5))


def test_a_model_measured_under_several_conditions_has_a_row_for_each() -> None:
    figures = {"test": {"bleu": 40.0, "bleu_wrong": 30.0, "colour": 0.985, "colour_wrong": 0.124}}
    text = text_of(replace(card(), task="picture translation", figures=figures))
    assert "| area | 1,234,567 | its picture | 40.00 | 98.50% |" in text
    assert "| area | 1,234,567 | another sentence's picture | 30.00 | 12.40% |" in text
    assert "no picture" not in text


def test_writing_twice_changes_nothing() -> None:
    once = text_of(card(bleu=1.0))
    assert filled(once, [card(bleu=1.0)]) == once


def test_gates_are_counted_missed_and_named_where_they_cannot_be_judged() -> None:
    judged = replace(
        card(bleu=24.0),
        gates=(
            {"what": "Good", "measure": [HEADLINE, "bleu"], "at_least": 20.0},
            {"what": "Better", "measure": [HEADLINE, "bleu"], "at_least": 30.0},
            {
                "what": "As good",
                "measure": [HEADLINE, "bleu"],
                "at_least": ["absent", HEADLINE, "bleu"],
            },
        ),
    )
    text = text_of(judged)
    assert (
        "1 of 3 gates were reached. Missed: `character-tiny-area`: Better, wanted at least 30.0"
        in text
    )
    assert "Not measured yet: `character-tiny-area`: As good." in text
    assert "No gate is set." in text_of(card(bleu=24.0))


def test_no_place_for_the_figures_is_an_error() -> None:
    with pytest.raises(InputError, match="figures:begin"):
        filled("no marks", [])


def test_cards_are_read_in_reading_order(tmp_path: Path) -> None:
    for shown in (card("token"), card(size="Small"), card(), card(mechanism="regular")):
        save(tmp_path, shown)
    names = [read.name for read in read_cards(tmp_path)]
    assert names == [
        "character-tiny-regular",
        "character-tiny-area",
        "character-small-area",
        "token-tiny-area",
    ]


def test_a_damaged_card_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "card.json").write_text("{")
    with pytest.raises(BackendError, match=r"broken.card\.json"):
        read_cards(tmp_path)


def marked(mark: str, text: str) -> str:
    return f"before\n<!-- {mark}:begin -->\n{text}\n<!-- {mark}:end -->\nafter\n"


def test_the_command_writes_the_files(tmp_path: Path) -> None:
    readme, findings = tmp_path / "README.md", tmp_path / "findings.md"
    readme.write_text(f"{BEGIN}{END}")
    findings.write_text("".join(marked(mark, "old") for mark in FORM_TABLES))
    save(tmp_path / "checkpoints", card(bleu=20.0))
    figures(tmp_path / "checkpoints", readme, findings)
    assert "| 20.0 |" in readme.read_text()
    text = findings.read_text()
    assert "old" not in text and "| regular attention, convolution of width 5 | 1, 2, 3 |" in text


def test_a_table_of_forms_is_written_between_its_marks(tmp_path: Path) -> None:
    sites = {
        site: {"multi_share": [[0]], "long_exact_lift": [[None]], "dependence": [[1]]}
        for site in WANTED
    }
    entry = {"seed": 2, "best_loss": 0.8125, "aer_val": 31.4, "heads": sites, "untrained": sites}
    path = tmp_path / "table.json"
    path.write_text(json.dumps({"letters-mean-seed2": entry, "tokens-mean-seed2": entry}))
    letters = replace(LETTERS_TABLE, path=path)
    text = with_forms(marked("forms", "old"), {"forms": letters})
    assert "| areas, mean keys (Eq. 3, 4) | 2 | 0.812 |" in text
    assert "old" not in text and text.startswith("before") and text.endswith("after\n")
    subwords = replace(SUBWORDS_TABLE, path=path)
    text = with_forms(marked("forms", "old"), {"forms": subwords})
    assert "| areas, mean keys (Eq. 3, 4) | 2 | 0.812 | – | – | – | 31.4 |" in text


def test_areas_helped_in_every_published_pair() -> None:
    assert all(row.area > row.regular for row in AREA_ATTENTION.values())
    assert all(row.features is None or row.features > row.area for row in AREA_ATTENTION.values())


def test_the_findings_are_up_to_date() -> None:
    text = FINDINGS.read_text(encoding="utf-8")
    assert with_forms(text, FORM_TABLES) == text, "Run: make figures"


def test_the_readme_is_up_to_date() -> None:
    text = README.read_text(encoding="utf-8")
    assert filled(text, read_cards(CHECKPOINTS)) == text, "Run: make figures"


def test_the_papers_figure_of_another_mechanism_is_not_made_up() -> None:
    row = AREA_ATTENTION["token", "Base"]
    assert (row.of("regular"), row.of("area"), row.of("text and picture")) == (28.16, 28.47, None)
