"""The tables of results in README.md and docs/ are generated from the cards and up to date."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from areaviz.app.key_forms import FORM_TABLES, LETTERS_TABLE, SUBWORDS_TABLE
from areaviz.cards.card import Card, read_cards, write_card
from areaviz.cards.tasks import AREA_ATTENTION, TASKS
from areaviz.lab.tables import (
    FINDING_TABLES,
    MARK,
    figures,
    format_results,
    format_summary,
    replace_marked,
    with_findings,
    with_forms,
)
from areaviz.measures.heads import WANTED
from areaviz.samples.paths import CHECKPOINTS, FINDINGS, README, RESULTS
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
    return "\n".join(format_results(cards))


def save(folder: Path, shown: Card) -> None:
    (folder / shown.name).mkdir(parents=True)
    write_card(shown, folder / shown.name / "card.json")


def test_results_have_our_score_and_the_papers() -> None:
    text = text_of(card(bleu=24.321, bleu_lowercase=25.0, chrf=50.06))
    assert "| `character-tiny-area` | Tiny | area | 1,234,567 | 24.3 | 25.0 | 50.1 | 8.2 |" in text


def test_summary_has_the_opening_model_and_its_regular_twin() -> None:
    opening = replace(card("token", size=""), name=TASKS["translation"].opens, title="Areas")
    opening = replace(opening, figures={HEADLINE: {"bleu": 38.875}})
    twin = card("token", "regular", size="", bleu=37.386)
    assert opening.pair == twin.pair
    *_, row = format_summary([twin, opening, card(bleu=50.0)])
    assert row == "| Translation | `token-boundary`: Areas | BLEU | 38.88 | 37.39 |"


def test_summary_has_all_models_of_a_task_without_an_opening() -> None:
    points = [replace(card(), task="points", name=name, figures={}) for name in ("hull", "tour")]
    rows = format_summary(points)[2:]
    assert rows == [
        f"| Hulls and tours | `{name}`: A model | Right | – | – |" for name in ("hull", "tour")
    ]


def test_replace_marked_keeps_the_text_around_the_marks() -> None:
    text = replace_marked(marked(MARK, "old"), MARK, ["new"])
    assert text == marked(MARK, "new")


def test_results_say_what_was_not_measured() -> None:
    assert "| 24.0 | not measured | not measured | 8.2 |" in text_of(card(bleu=24.0))


def test_results_state_the_difference_of_a_pair() -> None:
    text = text_of(card(mechanism="regular", bleu=24.0), card(bleu=23.5))
    assert (
        "Character level, Tiny: areas change BLEU by -0.5 here, and by +1.3 in the paper." in text
    )


def test_results_state_a_pair_that_the_paper_lacks() -> None:
    text = text_of(card(mechanism="regular", size="", bleu=24.0), card(size="", bleu=25.5))
    assert "- Character level: areas change BLEU by +1.5 here. The paper has no such size." in text


def test_results_of_one_model_have_no_difference() -> None:
    assert "change BLEU" not in text_of(card(bleu=23.5))


def test_results_have_one_row_per_condition() -> None:
    figures = {"test": {"bleu": 40.0, "bleu_wrong": 30.0, "colour": 0.985, "colour_wrong": 0.124}}
    text = text_of(replace(card(), task="picture translation", figures=figures))
    assert "| area | 1,234,567 | its picture | 40.00 | 98.50% |" in text
    assert "| area | 1,234,567 | another sentence's picture | 30.00 | 12.40% |" in text
    assert "no picture" not in text


def test_results_count_targets_and_list_the_missed_ones() -> None:
    judged = replace(
        card(bleu=24.0),
        gates=(
            {"what": "Good", "measure": [HEADLINE, "bleu"], "at_least": 20.0},
            {
                "what": "Better",
                "measure": [HEADLINE, "bleu"],
                "at_least": 30.0,
                "why": "It is small.",
            },
            {
                "what": "As good",
                "measure": [HEADLINE, "bleu"],
                "at_least": ["absent", HEADLINE, "bleu"],
            },
        ),
    )
    text = text_of(judged)
    assert "The models reached 1 of 3 targets." in text
    name = "| `character-tiny-area` |"
    assert f"{name} Better | at least 30.00 | 24.00 | It is small. |" in text
    assert f"{name} As good | at least – (absent) | 24.00 | It is not measured yet. |" in text
    assert "These models have no targets." in text_of(card(bleu=24.0))


def test_replace_marked_needs_both_marks() -> None:
    with pytest.raises(InputError, match="figures:begin"):
        replace_marked("no marks", MARK, [])


def test_read_cards_sorts_in_reading_order(tmp_path: Path) -> None:
    for shown in (card("token"), card(size="Small"), card(), card(mechanism="regular")):
        save(tmp_path, shown)
    names = [read.name for read in read_cards(tmp_path)]
    assert names == [
        "character-tiny-regular",
        "character-tiny-area",
        "character-small-area",
        "token-tiny-area",
    ]


def test_read_cards_names_a_damaged_card(tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "card.json").write_text("{")
    with pytest.raises(BackendError, match=r"broken.card\.json"):
        read_cards(tmp_path)


def marked(mark: str, text: str) -> str:
    return f"before\n<!-- {mark}:begin -->\n{text}\n<!-- {mark}:end -->\nafter\n"


def test_figures_writes_three_files(tmp_path: Path) -> None:
    readme, results, findings = (
        tmp_path / f"{name}.md" for name in ("readme", "results", "findings")
    )
    readme.write_text(marked(MARK, "old"))
    results.write_text(marked(MARK, "old"))
    marks = [*FINDING_TABLES, *FORM_TABLES]
    findings.write_text("".join(marked(mark, "old") for mark in marks))
    save(tmp_path / "checkpoints", card(bleu=20.0))
    figures(tmp_path / "checkpoints", readme, results, findings)
    assert "| BLEU | 20.00 |" in readme.read_text() and "| 20.0 |" in results.read_text()
    text = findings.read_text()
    assert (
        "\nold\n" not in text and "| regular attention, convolution of width 5 | 1, 2, 3 |" in text
    )


def test_forms_table_is_written_between_its_markers(tmp_path: Path) -> None:
    sites = {
        site: {"multi_share": [[0]], "long_exact_lift": [[None]], "dependence": [[1]]}
        for site in WANTED
    }
    entry = {"seed": 2, "best_loss": 0.8125, "aer_val": 31.4, "heads": sites, "untrained": sites}
    path = tmp_path / "table.json"
    path.write_text(json.dumps({"letters-mean-seed2": entry, "tokens-mean-seed2": entry}))
    letters = replace(LETTERS_TABLE, path=path)
    text = with_forms(marked("forms", "old"), {"forms": letters}, tmp_path)
    assert "| areas, mean keys (Eq. 3, 4) | 2 | 0.812 |" in text
    assert "old" not in text and text.startswith("before") and text.endswith("after\n")
    subwords = replace(SUBWORDS_TABLE, path=path)
    text = with_forms(marked("forms", "old"), {"forms": subwords}, tmp_path)
    assert "| areas, mean keys (Eq. 3, 4) | 2 | 0.812 | – | – | – | 31.4 |" in text


def test_areas_helped_in_every_published_pair() -> None:
    assert all(row.area > row.regular for row in AREA_ATTENTION.values())
    assert all(row.features is None or row.features > row.area for row in AREA_ATTENTION.values())


def test_findings_are_up_to_date() -> None:
    text = FINDINGS.read_text(encoding="utf-8")
    assert with_forms(text, FORM_TABLES, CHECKPOINTS) == text, "Run: make figures"
    assert with_findings(text, read_cards(CHECKPOINTS)) == text, "Run: make figures"


def test_readme_and_results_are_up_to_date() -> None:
    cards = read_cards(CHECKPOINTS)
    for path, lines in ((README, format_summary(cards)), (RESULTS, format_results(cards))):
        text = path.read_text(encoding="utf-8")
        assert replace_marked(text, MARK, lines) == text, "Run: make figures"


def test_unpublished_figure_of_mechanism_is_left_empty() -> None:
    row = AREA_ATTENTION["token", "Base"]
    assert (row.of("regular"), row.of("area"), row.of("text and picture")) == (28.16, 28.47, None)
