"""Recipes: those of the repository are complete, and errors name the unusable entry."""

from __future__ import annotations

from pathlib import Path
from pkgutil import resolve_name

import pytest

from areaviz.lab.tasks import TRAININGS
from areaviz.lab.tasks.translation import TranslationConfig, make_network_options
from areaviz.lab.train import load_recipe
from areaviz.trace.errors import InputError
from tests.tiny import tokenizer

CONFIGS = sorted((Path(__file__).parents[2] / "configs").glob("*.toml"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_recipe_is_complete(path: Path) -> None:
    config = load_recipe(path)
    assert config.name == path.stem
    assert isinstance(config, resolve_name(TRAININGS[config.task]).Recipe)
    if isinstance(config, TranslationConfig):
        options = make_network_options(config, len(tokenizer()))
        assert options.areas(0).extent[1] in (1, 2, 5, 8)


def test_models_of_a_pair_differ_only_in_attention() -> None:
    pairs: dict[str, list[dict[str, object]]] = {}
    recipes = [load_recipe(path) for path in CONFIGS]
    pair_of = {config.name: config.pair or config.name for config in recipes}
    for config in recipes:
        options = {**config.to_dict(), "name": "", "rates": {}, "model": {**config.model}}
        for own in (
            "area_size",
            "context",
            "convolution",
            "key_mode",
            "value_mode",
            "hard",
            "attends",
            "attention",
            "scoring",
            "overview",
            "forgetting",
        ):
            options["model"].pop(own, None)
        # Whether boxes taught a head, and how often a run is validated, are no other training data.
        for own in ("told", "told_head", "validate_every"):
            options.pop(own, None)
        # Each model of a pair may continue the training of a model of another pair.
        start = str(options.get("start_run", ""))
        options["start_run"] = pair_of.get(start, start)
        pairs.setdefault(config.pair or config.name, []).append(options)
    assert all(options == same[0] for same in pairs.values() for options in same)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name = ", "cannot be read"),
        ("colour = 1", "do not exist: colour"),
        ('precision = "bfloat16"', "do not exist: precision"),
        ('task = "singing"', "Choose one of: translation"),
        ('name = "x"', "not complete"),
    ],
)
def test_invalid_setting_is_named(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=told):
        load_recipe(path)


def test_missing_recipe_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.toml cannot be read"):
        load_recipe(tmp_path / "none.toml")
