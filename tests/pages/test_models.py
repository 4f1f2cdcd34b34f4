"""Models: every card with its figures, beside the papers' figures, and what could not be read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from areaviz.backend.base import Backend
from areaviz.backend.replay import ReplayBackend
from areaviz.cards.card import Card
from areaviz.cards.tasks import TASKS
from areaviz.evaluation.form_tables import SUBWORDS_TABLE, TITLES
from areaviz.ui.models.comparison import beside_the_paper, comparison_table
from tests.pages import folder
from tests.pages.conftest import Open, shown
from tests.pages.pictured import Pictured
from tests.views.test_by_length import ATTENDS, BLIND

PAPER = TASKS["translation"]


def titles(app: AppTest) -> list[str]:
    return [element.value.replace("\\", "") for element in app.subheader]


def text_table(app: AppTest, place: int) -> pd.DataFrame:
    """A table of the page without what keeps its text from being markup."""
    return app.table[place].value.replace(r"\\", "", regex=True)


def test_every_model_has_a_card(open_page: Open) -> None:
    app = open_page("models")
    assert not app.exception and not app.error
    assert titles(app) == ["Characters, area attention"]
    app.button_group(key="card_translation").set_value("char-regular").run()
    assert not app.exception and titles(app) == ["Characters, regular attention"]
    app.button_group(key="card_translation").set_value("char-area").run()
    assert len(app.get("plotly_chart")) == 1, "the training curve"
    for said in (
        "1,234,567 parameters",
        "Limits.",
        "It knows nothing.",
        "Licence: Apache-2.0",
        "stored traces",
    ):
        assert said in shown(app)
    assert [(metric.label, metric.value) for metric in app.metric][:2] == [
        ("BLEU", "23.40"),
        ("chrF", "50.00"),
    ]


def test_our_figures_stand_beside_the_papers(open_page: Open) -> None:
    table = text_table(open_page("models"), 0)
    row = table[(table["Level"] == "character") & (table["Transformer, size"] == "Tiny")].iloc[0]
    assert list(row)[2:] == ["6.90", "8.20", "+1.30", "22.10", "23.40", "+1.30"]
    assert len(table) == 8


def test_what_differs_is_said(open_page: Open) -> None:
    said = shown(open_page("models"))
    assert "Multi30k" in said and "WMT 2014" in said and "29,000" in said


def test_a_model_without_a_figure_gets_a_dash() -> None:
    table = comparison_table(
        PAPER,
        beside_the_paper(PAPER, [replace(folder.card("x", "area"), figures={})]),
        "Transformer",
    )
    assert set(table["Ours, area"]) == set(table["Ours, regular"]) == {"–"}


def test_translators_that_the_paper_has_not_are_shown_too(
    open_page: Open,
    use_backend: Callable[[Backend], None],
    stored: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = folder.card("known", "area")
    others = {
        "large": replace(known, name="large", title="Of another size", size="Large"),
        "memory": replace(known, name="memory", title="Without attention", mechanism="none"),
        "seed": replace(known, name="seed", title="Of another seed"),
    }
    replay = ReplayBackend(stored)
    monkeypatch.setattr(replay, "models", lambda: {"known": known, **others})
    use_backend(replay)
    app = open_page("models")
    assert not app.exception and not app.error
    paper, ours = text_table(app, 0), text_table(app, 1)
    assert len(paper) == 8 and list(paper["Ours, area"]).count("23.40") == 1
    assert list(ours["Model"]) == [card.title for card in others.values()]
    assert list(ours["Attention"]) == ["area", "none", "area"]
    assert list(ours["BLEU"]) == ["23.40"] * 3


@pytest.mark.parametrize("mechanism", ["none", "item-wise hard", "text and picture"])
def test_the_paper_has_figures_of_its_own_mechanisms_alone(mechanism: str) -> None:
    paper = PAPER.by_size["character", "Tiny"]
    assert (paper.of("regular"), paper.of("area")) == (6.9, 8.2)
    assert paper.of(mechanism) is None


def test_a_bare_card_is_shown(
    open_page: Open,
    use_backend: Callable[[Backend], None],
    stored: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bare = replace(
        folder.card("bare", "area"),
        figures={},
        attention={},
        history=(),
        config={},
        recipe={},
        data={},
    )
    replay = ReplayBackend(stored)
    monkeypatch.setattr(replay, "models", lambda: {"bare": bare})
    use_backend(replay)
    app = open_page("models")
    assert not app.exception and not app.error and len(app.subheader) == 1


def test_text_of_a_card_is_never_markup(
    open_page: Open,
    use_backend: Callable[[Backend], None],
    stored: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    odd: Card = replace(
        folder.card("odd", "none"),
        title="*a*",
        limits="See ![x](http://a.example/x.png)",
        data={"a": "**b**"},
    )
    replay = ReplayBackend(stored)
    monkeypatch.setattr(replay, "models", lambda: {"odd": odd})
    use_backend(replay)
    app = open_page("models")
    app.session_state["recipe_odd"] = True
    app.run()
    assert any(r"\!\[x\]\(http\:\/\/a\.example" in element.value for element in app.markdown)
    assert any(r"\*\*b\*\*" in str(table.value) for table in app.table)
    assert list(app.table[1].value["Model"]) == [r"\*a\*"], "beside the papers' figures too"


def test_one_sentence_for_each_damaged_checkpoint(
    open_page: Open, stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.fill(tmp_path)
    (tmp_path / "cards" / "char-regular.json").write_text("{", encoding="utf-8")
    monkeypatch.setenv("AREAVIZ_BACKEND", f"replay:{tmp_path}")
    app = open_page("models")
    assert not app.exception and len(app.subheader) == 1
    assert [
        element.value.count("char\\-regular") >= 1 or "3" in element.value for element in app.error
    ] == [True, True]


def test_what_different_keys_learn_is_told_with_the_forms_not_trained_yet(open_page: Open) -> None:
    app = open_page("models")
    assert "What different keys learn" in [header.value for header in app.header]
    letters, subwords, *_ = (table.value for table in app.table if "Form" in table.value)
    assert list(letters["Form"]) == list(TITLES.values())
    assert float(letters["Validation loss"].iloc[0].split()[0]) < 1
    assert list(subwords["Form"]) == [TITLES[form] for form in SUBWORDS_TABLE.forms]
    assert all(seeds.startswith("1") for seeds in subwords["Seeds"])


def test_quality_by_length_is_drawn_with_and_without_attention(
    open_page: Open,
    use_backend: Callable[[Backend], None],
    stored: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    replay = ReplayBackend(stored)
    monkeypatch.setattr(replay, "models", lambda: {"blind": BLIND, "attends": ATTENDS})
    use_backend(replay)
    app = open_page("models")
    assert not app.exception and not app.error
    assert "lengths_translation" in [chart.key for chart in app.get("plotly_chart")]
    assert "character level, no attention" in shown(app)


def test_a_table_of_lstms_stands_there_once_one_of_ours_has_a_place() -> None:
    lstm = replace(folder.card("lstm", "area"), level="token", size="256 cells, 4 heads")
    learned = replace(lstm, name="learned", config={"key_mode": "boundary"})
    places = beside_the_paper(PAPER, [learned, lstm])
    assert places == {("token", "256 cells, 4 heads", "area"): lstm}
    table = comparison_table(PAPER, places, "LSTM")
    row = table["LSTM, size"].index("256 cells, 4 heads")
    cells = [table[name][row] for name in table if name.startswith(("Paper", "Ours"))]
    assert cells == ["16.73", "20.25*", "+3.52", "–", "23.40", "–"]


def test_whether_areas_help_is_said_first_and_a_card_leads_to_its_model(open_page: Open) -> None:
    app = open_page("models")
    assert "they change BLEU here by +1.30 for “Characters, area attention”." in shown(app)
    (link,) = [one.proto for one in app.get("page_link") if one.proto.label == "Try this model"]
    assert link.page == "translate" and "model=char-area" in link.query_string


def test_a_reader_of_digits_is_tried_at_a_picture_of_its_kind_where_it_stands_with_others(
    open_page: Open, use_backend: Callable[[Backend], None]
) -> None:
    backend = Pictured()
    pairs = backend.cards["location-wise-hard"]
    plain = replace(pairs, name="plain", mechanism="none")
    backend.cards = {"pairs": replace(pairs, name="pairs", config={"kind": "pairs"})}
    use_backend(backend)
    (link,) = [one.proto for one in open_page("models").get("page_link")]
    assert (link.page, link.query_string) == ("four_ways", "picture=pair-27&reading=pairs")
    backend.cards = {"plain": plain}
    assert not open_page("models").get("page_link")


def test_a_card_says_what_its_heads_do_and_begins_with_what_they_do_not(
    open_page: Open,
    use_backend: Callable[[Backend], None],
    stored: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = {"pointing": 0.4, "pointing_position": 0.3, "pointing_middle": 0.51, "words": 900.0}
    reader = folder.card("reader", "none")
    cards = {
        "measured": replace(
            folder.card("measured", "area"),
            heads={"encoder self": folder.HEADS},
            attention={"word links": {"sentences": 40, "aer": 0.25, "aer_diagonal": 0.475}},
        ),
        "photos": replace(
            folder.card("photos", "area"),
            task="caption",
            attention={"encoder-decoder, test": looks},
        ),
        "reader": replace(reader, title="Digits", task="digits", level="digit", attention={}),
    }
    replay = ReplayBackend(stored)
    monkeypatch.setattr(replay, "models", lambda: cards)
    use_backend(replay)
    app = open_page("models")
    assert not app.exception and not app.error
    assert not [frame for frame in app.dataframe if "Name" in frame.value], "drawn when opened"
    app.session_state["heads_measured"] = True
    app.run()
    assert not app.exception and not app.error
    assert "3.50 bits" in shown(app)
    errors = [table.value for table in app.table if "Alignment error" in table.value]
    assert [cell.replace("\\", "") for cell in errors[0]["Alignment error"]] == ["25.0%", "47.5%"]
    names = [list(frame.value["Name"]) for frame in app.dataframe if "Name" in frame.value]
    assert names == [["", "sink (one item has 90% of the mean map)"]]
    (doubt,) = [warning.value.replace("\\", "") for warning in app.warning]
    assert doubt.endswith("for 30%, the middle of the picture for 51%.")
    assert "reads digits, no attention" in shown(app) and "none attention" not in shown(app)
