"""Themes find a planted failure and report nothing if there is none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from areaviz.sets.themes.conditions import MAX_EXAMPLES, Material, Written
from areaviz.sets.themes.search import measure_examples, split_halves
from areaviz.sets.themes.themes import find_themes, prove_themes
from areaviz.trace.errors import InputError
from benchmarks.themes import shuffle_measurements
from tests.analysis.themes.made import compared, lose_colours_of_women, made_material

SHUFFLES = 8


def women_with_colours(material: Material) -> set[int]:
    pairs = zip(material.sources, material.references, strict=True)
    colours = {"rot", "blau", "grün", "schwarz"}
    found = set()
    for place, (source, (reference,)) in enumerate(pairs):
        if "woman" in source.split() and colours.intersection(reference.split()):
            found.add(place)
    return found


@pytest.fixture(scope="module")
def damaged() -> Material:
    return made_material(damage=lose_colours_of_women)


def test_find_themes_names_planted_failure(damaged: Material) -> None:
    (themes,) = find_themes(damaged)
    best = themes.found[0]
    assert best.statement.startswith("Where the source has “woman”")
    assert "0 % of the references' colours are found" in best.statement
    assert set(best.places) == women_with_colours(damaged)
    assert best.q <= 0.02
    assert best.halves == 2
    assert "Missing: “" in best.details


def test_find_themes_is_deterministic(damaged: Material) -> None:
    assert find_themes(damaged, seed=5) == find_themes(damaged, seed=5)


def test_find_themes_lists_only_the_worse_of_two_systems(damaged: Material) -> None:
    second, first = find_themes(compared(made_material(), damaged))
    assert (second.worse, second.better, first.worse, first.better) == (1, 0, 0, 1)
    assert second.found
    assert first.found == ()
    change = "Where the source has “woman”, “colours of the reference found” falls by "
    assert any(theme.statement.startswith(change) for theme in second.found)


@pytest.mark.parametrize("is_compared", [False, True])
def test_find_themes_is_quiet_on_shuffles(damaged: Material, is_compared: bool) -> None:
    material = compared(made_material(), damaged) if is_compared else damaged
    measured = measure_examples(material, int(is_compared), 0 if is_compared else None)
    counts = []
    for seed in range(SHUFFLES):
        shuffled = shuffle_measurements(measured, np.random.default_rng(50 + seed))
        counts.append(len(prove_themes(shuffled, split_halves(material, seed), seed)))
    # The false discovery rate allows a theme in two of a hundred.
    assert counts.count(0) >= SHUFFLES - 1


def test_find_themes_does_not_take_output_words_for_conditions() -> None:
    def garble(source: str, output: str) -> str:
        return f"{output} xyzzy" if source.endswith(("3", "7")) else output

    (themes,) = find_themes(made_material(damage=garble))
    assert not any("xyzzy" in theme.statement for theme in themes.found)


def test_find_themes_calls_repetition_right_that_the_reference_has() -> None:
    material = made_material(300)
    repeated = tuple((f"ein kleiner ein kleiner {text}",) for (text,) in material.references)
    outputs = tuple(text for (text,) in repeated)
    written = (replace(material.written[0], outputs=outputs, scores=()),)
    (themes,) = find_themes(replace(material, references=repeated, written=written))
    assert themes.found == ()


def test_find_themes_keeps_confidence_apart() -> None:
    rng = np.random.default_rng(1)
    material = made_material(300)
    scores = material.written[0].scores
    confidence_E = scores[0].values + rng.normal(0, 1, 300)
    written = replace(material.written[0], measures={"Confidence": confidence_E})
    (themes,) = find_themes(replace(material, written=(written,)))
    assert any(theme.is_about_model for theme in themes.found)
    assert all("confidence" in theme.statement for theme in themes.found if theme.is_about_model)


def test_find_themes_lists_too_rare_conditions() -> None:
    material = made_material(200)
    sources = ("not far", *material.sources[1:])
    domains = ("rare",) * 3 + ("news",) * 100 + ("sport",) * 97
    (themes,) = find_themes(replace(material, sources=sources, metadata={"domain": domains}))
    assert themes.least == 16
    assert themes.rare["the source has a negation"] == 1
    assert themes.rare["domain is rare"] == 3
    assert themes.rare_words > 100


def test_find_themes_finds_trend_of_length() -> None:
    def cut(source: str, output: str) -> str:
        return output if len(source.split()) < 5 else " ".join(output.split()[:3])

    (themes,) = find_themes(made_material(damage=cut))
    assert any(
        "longer the source" in one.statement or "words or more" in one.statement
        for one in themes.found
    )


@pytest.mark.parametrize("examples", [20, MAX_EXAMPLES + 1])
def test_find_themes_refuses_sizes(examples: int) -> None:
    material = Material(
        tuple(range(examples)),
        ("a dog",) * examples,
        (("ein Hund",),) * examples,
        ("",) * examples,
        (Written(("ein Hund",) * examples),),
    )
    with pytest.raises(InputError, match="80 examples|20,000 examples"):
        find_themes(material)
