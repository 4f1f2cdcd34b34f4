"""Lesson 8: what it says is what the shipped table of forms has."""

from __future__ import annotations

from statistics import mean

import pytest

from areaviz.evaluation.form_tables import LETTERS_TABLE, TITLES
from areaviz.evaluation.forms import FormRow, read_forms
from areaviz.lessons import worth


@pytest.fixture(scope="module")
def forms() -> dict[str, FormRow]:
    return dict(zip(TITLES, read_forms(LETTERS_TABLE), strict=True))


def test_the_conclusion_is_what_the_losses_and_spans_say(forms: dict[str, FormRow]) -> None:
    losses = {form: mean(row.losses) for form, row in forms.items()}
    assert losses["convolution"] < losses["boundary"] < losses["regular"] < losses["mean"]
    assert not forms["mean"].spans and set(forms["boundary"].spans) == set(worth.SITES)


def test_every_change_stands_in_words_with_its_seeds(forms: dict[str, FormRow]) -> None:
    said = worth.learns(forms)
    for form in worth.CHANGES:
        found = forms[form].differences
        change = f"{mean(found):+.3f}".replace("-", "−")
        assert f"**{change}**" in said and f"({len(found)} seed" in said


def test_a_form_without_a_run_has_no_sentence() -> None:
    forms = {form: FormRow(title, (), (), {}) for form, title in TITLES.items()}
    assert "- **" not in worth.learns(forms)
    assert "never" in worth.shows(forms) and "With boundary keys" not in worth.shows(forms)
    assert len(worth.loss_figure(forms).data) == len(forms)


def test_the_pictures_and_the_table_have_the_same_numbers(forms: dict[str, FormRow]) -> None:
    found = [dots for dots in worth.loss_figure(forms).data if dots.mode == "markers"]
    assert [list(dots.x) for dots in found] == [list(row.losses) for row in forms.values()]
    rows = worth.table(forms).rows
    for bars, column in zip(worth.span_figure(forms).data, (3, 4), strict=True):
        shown = [f"{share:.0f}%" if share else "–" for share in bars.x]
        assert shown == [row[column] for row in rows]
