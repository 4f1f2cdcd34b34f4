"""Models: an index with one row per model, and a page per model that a link opens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from areaviz.app.key_forms import SUBWORDS_TABLE, TITLES
from areaviz.app.models import (
    HEADS_TAB,
    KEY_VARIANTS,
    LENGTHS_TAB,
    METRICS_TAB,
    RECIPE_TAB,
    TEST_SETS_TAB,
    WORDS_TAB,
)
from areaviz.backend.backend import Backend, ReplayBackend
from areaviz.cards.card import Card
from tests.pages import folder
from tests.pages.conftest import Open, shown
from tests.pages.pictured import Pictured
from tests.views.test_by_length import ATTENDS, BLIND

UseCards = Callable[[Mapping[str, Card]], None]


@pytest.fixture
def use_cards(
    use_backend: Callable[[Backend], None], stored: Path, monkeypatch: pytest.MonkeyPatch
) -> UseCards:
    """Make the app offer exactly these models."""

    def use(cards: Mapping[str, Card]) -> None:
        replay = ReplayBackend(stored)
        monkeypatch.setattr(replay, "models", lambda: cards)
        use_backend(replay)

    return use


def titles(app: AppTest) -> list[str]:
    return [element.value.replace("\\", "") for element in app.header]


def links(app: AppTest) -> dict[str, tuple[str, str]]:
    """Return the pages and parameters of the links, by their labels."""
    protos = [element.proto for element in app.get("page_link")]
    return {proto.label: (proto.page, proto.query_string) for proto in protos}


def open_tab(app: AppTest, name: str, tab: str) -> AppTest:
    return app.button_group(key=f"tab_{name}").set_value(tab).run()


def test_index_has_a_row_per_model_best_first(open_page: Open) -> None:
    app = open_page("models")
    assert not app.exception and not app.error
    (rows,) = [frame.value for frame in app.dataframe]
    assert list(rows["Model"]) == ["Characters, area attention", "Characters, regular attention"]
    assert list(rows["BLEU"]) == [23.4, 22.1]
    assert list(rows["Attention"]) == ["areas", "regular"]
    assert titles(app) == ["Characters, area attention"], "the best one is chosen"
    assert "stored traces" in shown(app)


def test_index_links_to_card_and_page_of_model(open_page: Open) -> None:
    app = open_page("models")
    assert "+1.30 BLEU compared with its twin “Characters, regular attention”" in shown(app)
    found = links(app)
    assert found["Open the model card"] == ("model", "model=char-area")
    assert found["Try this model"] == ("translate", "model=char-area")
    assert found["Compare with its twin"] == (
        "translate",
        "model=char-area&compare=char-regular",
    )


def test_index_filters_by_task(open_page: Open, use_cards: UseCards) -> None:
    area = folder.card("area", "area")
    caption = replace(folder.card("caption", "area"), task="caption", title="Captions")
    use_cards({"area": area, "caption": caption})
    app = open_page("models")
    assert len(app.dataframe[0].value) == 1
    app.button_group(key="models_task").set_value("caption").run()
    assert list(app.dataframe[0].value["Model"]) == ["Captions"]
    app.button_group(key="models_task").set_value("all").run()
    rows = app.dataframe[0].value
    assert list(rows["Task"]) == ["Translation", "Captions"]
    assert rows["Result"][0] == "BLEU 23.40"


def test_card_shows_result_targets_training_and_limits(open_page: Open) -> None:
    app = open_page("model", model="char-area")
    assert not app.exception and not app.error
    assert [title.value.replace("\\", "") for title in app.title] == ["Characters, area attention"]
    assert len(app.get("plotly_chart")) == 1, "the training curve"
    found = [(metric.label, metric.value) for metric in app.metric]
    assert found[0] == ("BLEU", "23.40") and found[2] == ("Parameters", "1.2 million")
    assert "1,234,567 parameters" in shown(app) and "It knows nothing." in shown(app)
    assert not app.table, "tables are drawn when their tab is opened"
    open_tab(app, "char-area", RECIPE_TAB)
    assert not app.exception and "Licence: Apache-2.0" in shown(app)
    open_tab(app, "char-area", TEST_SETS_TAB)
    assert not app.exception and len(app.table) == 1


def test_unknown_card_leads_to_the_index(open_page: Open) -> None:
    app = open_page("model", model="unknown")
    assert not app.exception
    assert "The model “unknown” is not here." in app.error[0].value.replace("\\", "")
    assert links(app)["All models"][0] == "models"


def test_card_page_without_a_name_leads_to_the_index(open_page: Open) -> None:
    app = open_page("model")
    assert not app.exception and not app.error
    assert links(app)["All models"][0] == "models"


def test_bare_card_is_shown(open_page: Open, use_cards: UseCards) -> None:
    bare = replace(
        folder.card("bare", "area"),
        figures={},
        attention={},
        history=(),
        config={},
        recipe={},
        data={},
    )
    use_cards({"bare": bare})
    app = open_page("models")
    assert not app.exception and not app.error and len(app.header) == 1
    app = open_page("model", model="bare")
    assert not app.exception and not app.error
    assert app.metric[0].value == "–" and app.metric[1].value == "none set"


def test_text_of_a_card_is_never_markup(open_page: Open, use_cards: UseCards) -> None:
    odd = replace(
        folder.card("odd", "none"),
        title="*a*",
        limits="See ![x](http://a.example/x.png)",
        data={"a": "**b**"},
    )
    use_cards({"odd": odd})
    app = open_page("models")
    assert [element.value for element in app.header] == [r"\*a\*"]
    app = open_page("model", model="odd")
    assert [element.value for element in app.title] == [r"\*a\*"]
    assert any(r"\!\[x\]\(http\:\/\/a\.example" in element.value for element in app.markdown)
    open_tab(app, "odd", RECIPE_TAB)
    assert any(r"\*\*b\*\*" in str(table.value) for table in app.table)


def test_index_names_each_damaged_checkpoint(
    open_page: Open, stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.fill(tmp_path)
    (tmp_path / "cards" / "char-regular.json").write_text("{", encoding="utf-8")
    monkeypatch.setenv("AREAVIZ_BACKEND", f"replay:{tmp_path}")
    app = open_page("models")
    assert not app.exception and len(app.dataframe[0].value) == 1
    assert [
        element.value.count("char\\-regular") >= 1 or "3" in element.value for element in app.error
    ] == [True, True]


def test_key_variants_are_drawn_when_opened(open_page: Open) -> None:
    app = open_page("models")
    assert KEY_VARIANTS in [expander.label for expander in app.expander] and not app.table
    app.session_state["key_variants"] = True
    app.run()
    letters, subwords, *_ = (table.value for table in app.table if "Form" in table.value)
    assert list(letters["Form"]) == list(TITLES.values())
    assert float(letters["Validation loss"].iloc[0].split()[0]) < 1
    assert list(subwords["Form"]) == [TITLES[form] for form in SUBWORDS_TABLE.forms]


def test_quality_by_length_is_a_tab(open_page: Open, use_cards: UseCards) -> None:
    use_cards({"blind": BLIND, "attends": ATTENDS})
    app = open_page("model", model="blind")
    open_tab(app, BLIND.name, LENGTHS_TAB)
    assert not app.exception and not app.error
    assert "lengths_translation" in [chart.key for chart in app.get("plotly_chart")]


def test_digit_model_link_opens_a_picture_of_its_kind(
    open_page: Open, use_backend: Callable[[Backend], None]
) -> None:
    backend = Pictured()
    pairs = backend.cards["location-wise-hard"]
    plain = replace(pairs, name="plain", mechanism="none")
    backend.cards = {"pairs": replace(pairs, name="pairs", config={"kind": "pairs"})}
    use_backend(backend)
    found = links(open_page("models"))["Try this model"]
    assert found == ("four_ways", "picture=pair-27&reading=pairs")
    backend.cards = {"plain": plain}
    assert "Try this model" not in links(open_page("models"))


def test_card_describes_its_heads(open_page: Open, use_cards: UseCards) -> None:
    measured = replace(
        folder.card("measured", "area"),
        heads={"encoder self": folder.HEADS},
        attention={"word links": {"sentences": 40, "aer": 0.25, "aer_diagonal": 0.475}},
    )
    use_cards({"measured": measured})
    app = open_page("model", model="measured")
    open_tab(app, "measured", HEADS_TAB)
    assert not app.exception and not app.error
    assert "3.50 bits" in shown(app)
    names = [list(frame.value["Name"]) for frame in app.dataframe if "Name" in frame.value]
    assert names == [["", "sink (one item has 90% of the mean map)"]]
    open_tab(app, "measured", WORDS_TAB)
    errors = [table.value for table in app.table if "Alignment error" in table.value]
    assert [cell.replace("\\", "") for cell in errors[0]["Alignment error"]] == ["25.0%", "47.5%"]
    open_tab(app, "measured", METRICS_TAB)
    assert not app.exception


def test_card_begins_with_limits_of_its_maps(open_page: Open, use_cards: UseCards) -> None:
    looks = {"pointing": 0.4, "pointing_position": 0.3, "pointing_middle": 0.51, "words": 900.0}
    photos = replace(
        folder.card("photos", "area"), task="caption", attention={"encoder-decoder, test": looks}
    )
    use_cards({"photos": photos})
    (doubt,) = open_page("model", model="photos").warning
    assert doubt.value.replace("\\", "").endswith("for 30%, the middle of the picture for 51%.")


def test_digit_model_card_names_no_attention(open_page: Open, use_cards: UseCards) -> None:
    reader = replace(
        folder.card("reader", "none"), title="Digits", task="digits", level="digit", attention={}
    )
    use_cards({"reader": reader})
    said = shown(open_page("model", model="reader"))
    assert "reads digits, no attention" in said and "none attention" not in said
