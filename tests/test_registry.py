"""Every shipped model runs, is complete, and has something to show in every view."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from areaviz.app.examples import SAMPLES
from areaviz.backend.local import LocalBackend
from areaviz.cards.card import read_card
from areaviz.cards.tasks import TASKS
from areaviz.draw.view import View, figure_caption
from areaviz.models import MODELS
from areaviz.models.digit_reader import DigitReader
from areaviz.models.digits import Dram, DramConfig
from areaviz.models.points import PointerConfig, PointerNetwork, PointingModel
from areaviz.samples.own_media import (
    get_clip_sample,
    get_picture_sample,
    get_picture_sentence,
    get_sound_sample,
    list_picture_names,
)
from areaviz.samples.reasoning import POINTS, SENTENCES, STORIES, separate_punctuation
from areaviz.trace import file
from areaviz.trace.document import validate
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus, Request
from areaviz.views.views import VIEWS
from tests.pages import folder
from tests.sampled import sampled

ROOT = Path(__file__).parents[1]
CHECKPOINTS = ROOT / "checkpoints"
NAMES = sorted(path.parent.name for path in CHECKPOINTS.glob("*/card.json"))
ONE_OF_EACH = (
    *("dram-pairs", "items-hard", "language-model-boundary", "lstm-boundary", "memory-stories"),
    *("parser-boundary", "photo-teller-soft", "pointer-hull", "ram-pairs", "recurrent-additive"),
    *("scene-captions-boundary", "scene-translation", "speech-content", "stn-cluttered"),
    *("token-boundary", "video-both"),
)
"""A model of each family and task."""
LARGEST_CHECKPOINT, LARGEST_FOLDER = 15_000_000, 150_000_000
REASONING = {"questions": STORIES[0].text, "points": POINTS}
KINDS = {
    "cluttered": "digit",
    "translated": "moved digit",
    "centred": "single digit",
    "pairs": "pair",
}
"""The sample pictures for each kind of picture that digit classifiers are trained on."""


@pytest.fixture(scope="module")
def backend() -> LocalBackend:
    return LocalBackend(CHECKPOINTS, "cpu")


@pytest.fixture(scope="module")
def traces(backend: LocalBackend) -> dict[str, Trace]:
    return {name: backend.trace(asked(name)) for name in NAMES}


def asked(name: str) -> Request:
    """Return a request that fits a model."""
    card = read_card(CHECKPOINTS / name / "card.json")
    if card.task in ("translation", "reading"):
        return Request(name, SAMPLES[0])
    if card.task == "speech":
        return Request(name, "", sound=get_sound_sample("digits-plain"))
    if card.task == "video":
        return Request(name, "", clip=get_clip_sample("three-left-grows"))
    if card.task == "parsing":
        return Request(name, separate_punctuation(SENTENCES[0]))
    if card.task in REASONING:
        return Request(name, REASONING[card.task])
    pictured = "photo" if card.pictures == "photos" else "scene"
    kind = KINDS[str(card.config["kind"])] if card.task == "digits" else pictured
    shown = list_picture_names(kind)[0]
    text = get_picture_sentence(shown) if card.task == "picture translation" else ""
    return Request(name, text, picture=get_picture_sample(shown))


@pytest.fixture(scope="module")
def attributed(backend: LocalBackend) -> Trace:
    """Return a trace with attribution, which only requests that ask for it produce."""
    return backend.trace(Request("token-regular", "A dog.", attribution=True))


def untrained() -> Trace:
    """Return a trace of a deep recurrent attention model, of which none is shipped."""
    made = replace(folder.card("dram", "location-wise hard"), family="dram", task="digits")
    reader = DigitReader(made, Dram(DramConfig(width=16)).eval(), 100, 0)
    return reader.trace(
        [Request("dram", "", picture=get_picture_sample(list_picture_names("pair")[0]))]
    )[0]


def untrained_pointer() -> Trace:
    """Return a trace of a pointer network, which needs no shipped model."""
    made = replace(folder.card("tour", "item-wise soft"), family="pointer", task="points")
    model = PointingModel(made, PointerNetwork(PointerConfig("tour", 8)).eval())
    return model.trace([Request("tour", POINTS)])[0]


def test_shipped_models_exist_undamaged(backend: LocalBackend) -> None:
    assert NAMES
    assert backend.problems() == ()
    assert sorted(backend.models()) == NAMES


@pytest.mark.parametrize("name", sampled(NAMES, *ONE_OF_EACH))
def test_shipped_model_gives_valid_trace_with_views(traces: dict[str, Trace], name: str) -> None:
    trace = traces[name]
    validate(trace)
    assert trace.fields["target"].raw.strip()
    foci = [
        Focus(site, layer=attention.layers - 1, head=attention.heads - 1, items=(1,))
        for site, attention in trace.maps.items()
    ]
    for focus in [*foci, *map(Focus, trace.gazes)]:
        fitting = [view for view in VIEWS.values() if view.fits(trace, focus)]
        assert fitting, f"no view for {focus.site}"
        for view in fitting:
            assert view.table(trace, focus).rows
            assert name in view.figure(trace, focus).layout.meta["caption"]
            assert view.print(trace, focus).axes
        assert name in figure_caption(trace, focus)


@pytest.mark.parametrize("view", VIEWS.values(), ids=lambda view: view.name)
def test_every_view_fits_some_model(
    traces: dict[str, Trace], attributed: Trace, view: View
) -> None:
    found = [*traces.values(), attributed, untrained(), untrained_pointer()]
    assert any(
        view.fits(trace, Focus(site)) for trace in found for site in [*trace.maps, *trace.gazes]
    )


@pytest.mark.parametrize("name", NAMES)
def test_card_shows_measured_results(name: str) -> None:
    card = read_card(CHECKPOINTS / name / "card.json")
    task = TASKS[card.task]
    assert card.name == name
    assert card.family in MODELS
    assert next(iter(task.measures)) in card.figures[task.headline]
    assert (
        max(
            card.figures[task.headline].get(count, 0)
            for count in (
                "sentences",
                "captions",
                "pictures",
                "questions",
                "sets",
                "digits",
                "clips",
            )
        )
        # The smallest test set, of trees, is complete.
        >= 900
    )
    assert card.history and card.limits and card.licence and card.recipe["seed"] is not None
    chosen_by = card.recipe["chosen_by"]
    assert chosen_by.startswith("validation") or chosen_by == "the last steps"
    assert card.attention or card.mechanism == "none"


def test_checkpoints_stay_small() -> None:
    sizes = {path: path.stat().st_size for path in CHECKPOINTS.glob("*/*")}
    assert max(sizes.values()) <= LARGEST_CHECKPOINT
    assert sum(sizes.values()) <= LARGEST_FOLDER


def test_models_of_a_pair_differ_only_in_attention() -> None:
    """Recipe, seed, size and steps are equal. A model that stopped earlier belongs to no pair."""
    pairs: dict[str, list[tuple[object, ...]]] = {}
    for name in NAMES:
        card = read_card(CHECKPOINTS / name / "card.json")
        own = ["area_size", "key_mode", "convolution", "hard", "attends", "attention", "scoring"]
        own += ["overview", "forgetting", "context"]
        recipe = {**card.recipe, "model": {**card.recipe["model"], **dict.fromkeys(own)}}
        recipe |= dict.fromkeys(("name", "rates", "precision", "chosen_by"))
        # Whether boxes taught a head, and how often a run is validated, are no other training data.
        recipe |= dict.fromkeys(("told", "told_head", "validate_every"))
        # The number of averaged checkpoints belongs to the recipe, but their loss to the run.
        recipe["averaged"] = (card.recipe.get("averaged") or {}).get("checkpoints")
        # Cards older than the option have no start. The starts of a pair are a pair, too.
        start = card.recipe.get("start_run", "")
        shipped = CHECKPOINTS / start / "card.json"
        recipe["start_run"] = read_card(shipped).pair if start and shipped.exists() else start
        pairs.setdefault(card.pair, []).append((recipe, card.history[-1]["step"]))
    assert all(one == members[0] for members in pairs.values() for one in members)


def test_front_page_example_matches_its_model() -> None:
    stored = file.load(ROOT / "assets" / "home.npz")
    again = LocalBackend(CHECKPOINTS, "cpu").trace(stored.request)
    assert again.fields["target"].raw == stored.fields["target"].raw
    for site, attention in stored.maps.items():
        np.testing.assert_allclose(
            again.maps[site].weights, attention.weights, atol=2e-3, rtol=2e-2
        )
