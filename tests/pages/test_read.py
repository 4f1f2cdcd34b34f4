"""Read with our own language model: texts are read, continued, changed and linked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from areaviz.app.chart import list_output_warnings
from areaviz.backend.backend import Backend, CachedBackend
from areaviz.backend.local import LocalBackend
from areaviz.cards.card import Card
from areaviz.measures.faithfulness import find_output_words
from areaviz.sets.run import SETTING
from areaviz.trace.record import Trace
from areaviz.trace.request import Request
from tests.models.test_language_model import language_model, save
from tests.pages.analysed import listed, opened_first, ran
from tests.pages.conftest import Open, drawn_texts, open_tab, shown
from tests.sampled import sampled

TEXT = "A small dog runs"


@pytest.fixture(scope="module")
def card() -> Card:
    return language_model().card


@pytest.fixture(scope="module")
def backend(tmp_path_factory: pytest.TempPathFactory) -> Backend:
    """Use two language models with random weights, one of them with areas."""
    folder = tmp_path_factory.mktemp("ours")
    kinds: dict[str, dict[str, Any]] = {
        "reader": {},
        "single": {"area_size": 1, "key_mode": "mean"},
    }
    for name, options in kinds.items():
        save(language_model(**options), folder, name)
    return CachedBackend(LocalBackend(folder, "cpu"))


@pytest.fixture(autouse=True)
def served(backend: Backend, use_backend: Callable[[Backend], None]) -> None:
    use_backend(backend)


def test_text_is_read_without_continuation(open_page: Open, backend: Backend) -> None:
    app = open_page("read", model="reader", text=TEXT)
    assert not app.exception and not app.error
    assert app.title[0].value == "Read" and TEXT in drawn_texts(app)
    assert "Decoding" not in [one.label for one in app.button_group]
    [trace] = app.session_state["result"].traces
    assert trace.request.target == "" and trace.fields["target"].raw == TEXT


def test_text_is_continued_and_link_restores_it(open_page: Open) -> None:
    app = open_page("read", model="reader", text=TEXT, writes="1")
    assert not app.exception and not app.error
    [trace] = app.session_state["result"].traces
    assert trace.request.target is None and trace.fields["target"].raw.startswith(TEXT)
    assert app.query_params["writes"] in ("1", ["1"])


def test_two_models_are_compared(open_page: Open) -> None:
    app = open_page("read", model="reader", text=TEXT, compare="single")
    assert not app.exception and not app.error
    first, second = app.session_state["result"].traces
    assert (first.request.model, second.request.model) == ("reader", "single")
    assert second.request.target == ""


@pytest.mark.parametrize("writes", [{}, {"writes": "1"}])
def test_hidden_words_change_probabilities(open_page: Open, writes: dict[str, str]) -> None:
    change = "hide:history:items=2"
    app = open_page("read", model="reader", text=TEXT, changes=change, **writes)
    assert not app.exception and not app.error
    assert "Mean probability of the original output" in shown(app)


def with_foil(open_page: Open, word: int, foil: str, **params: str) -> AppTest:
    """Choose a word and a foil with the panel open, and return the page."""
    app = open_page("read", model="reader", text=TEXT, **params)
    open_tab(app, "read", "what_if")
    app.session_state["read"] = replace(app.session_state["read"], word=word, foil=foil)
    return app.run()


@pytest.mark.parametrize(
    "params", sampled([{}, {"writes": "1"}, {"changes": "hide:history:items=2"}], {"writes": "1"})
)
def test_word_is_compared_with_an_alternative(
    open_page: Open, backend: Backend, params: dict[str, str]
) -> None:
    item = 2
    app = with_foil(open_page, item, "tea", **params)
    assert not app.exception and not app.error
    table, [trace] = app.table[0].value, app.session_state["result"].traces
    first, last = next(run for run in find_output_words(trace.fields["target"]) if run[0] == item)
    likely = np.prod(trace.output.probabilities[first:last].astype(float))
    assert float(str(table.iloc[0, 1])) == pytest.approx(likely, abs=1e-3)
    foil = backend.trace(Request("reader", "A tea", target=""))
    # Leave out the end symbol that follows it.
    likely = np.prod(foil.output.probabilities[item:-1].astype(float))
    assert float(str(table.iloc[0, 2])) == pytest.approx(likely, abs=1e-3)
    assert len(table) == (2 if "changes" in params else 1)


def test_unreadable_text_is_reported(open_page: Open) -> None:
    app = open_page("read", model="reader", text="   ")
    assert not app.exception
    assert "only blanks. Type a sentence" in shown(app)


def test_usually_improbable_text_gives_no_warning(card: Card, backend: Backend) -> None:
    trace = backend.trace(Request("reader", TEXT, target=""))
    assert list_output_warnings(card, trace) == [] == list_output_warnings(None, trace)


@pytest.mark.parametrize(("usual", "is_told"), [(2.0, True), (1e4, False)])
def test_improbable_text_gives_warning(
    card: Card, backend: Backend, usual: float, is_told: bool
) -> None:
    trace: Trace = backend.trace(Request("reader", TEXT, target=""))
    measured = replace(card, figures={"test_2016_flickr": {"perplexity": usual}})
    told = list_output_warnings(measured, trace)
    assert [one.startswith("This text is unlike") for one in told] == [True] * is_told


@pytest.mark.long
def test_analyse_reads_a_set_with_language_model(
    open_page: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Check that decoding has no options, because nothing is written; attention is measured."""
    monkeypatch.setenv(SETTING, str(tmp_path))
    app = open_page("analyse", set="Sentences to read", model="reader")
    assert not app.exception and not app.error and "24 examples, no references" in shown(app)
    assert "Decoding" not in [one.label for one in app.button_group]
    app = ran(app)
    assert not app.exception and not app.error
    table = listed(app)
    assert {"Confidence", "Entropy", "Area size", "Query dependence"} <= set(table.columns)
    assert not {"BLEU", "Output"} & set(table.columns)
    app = opened_first(app)
    assert (
        not app.exception
        and not app.error
        and any("A cat is sleeping" in text for text in drawn_texts(app))
    )
