"""A live page is one file: the stored opening, then the engine, the tokenizer and the weights."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from html import unescape

import pytest

from areaviz.cards.card import read_card
from areaviz.live.build import LiveModel, check_live, make_live_page
from areaviz.page.content import PageOptions
from areaviz.samples.paths import CHECKPOINTS
from areaviz.trace.errors import InputError
from tests import fakes

NAME = "char-boundary"


@pytest.fixture(scope="module")
def model() -> LiveModel:
    folder = CHECKPOINTS / NAME
    return LiveModel.load(folder, read_card(folder / "card.json"))


@pytest.fixture(scope="module")
def html(model: LiveModel) -> str:
    return make_live_page(model, fakes.trace())


def block(html: str, name: str) -> str:
    found = re.search(rf'<script type="[a-z/]+" id="{name}">([^<]*)</script>', html)
    assert found is not None
    return found[1]


def test_live_page_contains_the_checkpoint_byte_for_byte(html: str) -> None:
    weights = base64.b64decode(block(html, "weights"))
    assert weights == (CHECKPOINTS / NAME / "model.safetensors").read_bytes()


def test_live_page_is_drawn_before_the_weights_arrive(html: str) -> None:
    before = html.index('id="weights"')
    assert html.index("openLivePage({") < before < 2**20
    assert html.index('data-site="encoder-decoder"') < html.index("openLivePage({")


def test_live_page_is_little_larger_than_its_weights(html: str, model: LiveModel) -> None:
    assert len(html.encode()) <= 1.4 * len(model.weights) + 300_000


def test_live_page_allows_its_own_script_and_worker_and_no_connection(html: str) -> None:
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert policy is not None
    directives = unescape(policy[1]).split("; ")
    assert "default-src 'none'" in directives and "worker-src blob:" in directives
    assert "connect-src" not in policy[1] and "unsafe" not in policy[1]


def test_largest_area_can_be_any_below_the_trained_one(html: str, model: LiveModel) -> None:
    menu = re.search(r'<select id="live-area">(.*?)</select>', html)
    assert menu is not None
    smaller = map(str, range(1, model.card.config["area_size"]))
    assert re.findall(r'value="([^"]*)"', menu[1]) == ["", *smaller]


def test_live_page_names_licence_digest_and_limits(html: str, model: LiveModel) -> None:
    for text in (model.card.licence, model.card.limits, model.card.files["model.safetensors"]):
        assert text in html


def test_live_page_shows_hostile_text_as_text(model: LiveModel) -> None:
    nasty = "</script><img src=x onerror=alert(1)>"
    made = make_live_page(model, fakes.trace(nasty), None, PageOptions(title=nasty))
    assert "<img src=x" not in made


def test_live_page_without_scripts_shows_a_picture_and_a_sentence(html: str) -> None:
    assert 'id="without-script"' in html and "<svg" in html
    assert '<form id="live" hidden="" ' in html


def test_live_page_of_looks_omits_figures_that_runs_would_not_update() -> None:
    folder = CHECKPOINTS / "ram-pairs"
    reader = LiveModel.load(folder, read_card(folder / "card.json"))
    made = make_live_page(reader, fakes.gaze_trace(), pictures=[fakes.picture()])
    assert 'data-site="glimpses"' in made and 'class="figure' not in made
    assert len(made.encode()) <= 1.4 * len(reader.weights) + 300_000


def test_settings_contain_data_for_the_engine(html: str, model: LiveModel) -> None:
    card = json.loads(block(html, "setting"))["card"]
    assert card["lengthLimit"] == {"ratio": 1.69, "extra": 7}
    assert card["lengthPenalty"] == model.card.length_penalty
    assert card["config"]["key_mode"] == "boundary"


def test_check_live_names_unsupported_parts(model: LiveModel) -> None:
    card = model.card
    with pytest.raises(InputError, match='no networks of the family "listener"'):
        check_live(replace(card, family="listener"))
    with pytest.raises(InputError, match='does not support "convolution" with the value 3'):
        check_live(replace(card, config={**card.config, "convolution": 3}))
    with pytest.raises(InputError, match="would be too large"):
        check_live(replace(card, recipe={**card.recipe, "pictures": "photos"}))
    with pytest.raises(InputError, match="follows a grammar"):
        check_live(replace(card, recipe={**card.recipe, "grammar": "tree"}))
