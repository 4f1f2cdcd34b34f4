"""Analyse: results after a reload, after a visit to another page, and by address; and clicks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from areaviz.backend.access import make_reader_id, name_reader_cookie
from areaviz.backend.backend import Backend
from areaviz.sets.app import form
from areaviz.sets.app.examples import TABLE_KEY
from areaviz.sets.app.result import BUCKETS_KEY, COMPARISON_KEY
from areaviz.sets.app.state import RowFilter
from areaviz.sets.run import SETTING
from tests.pages.analysed import (
    Translating,
    button,
    hold,
    listed,
    opened_first,
    ran,
    state_of,
    tables,
    uploading,
    worked,
)
from tests.pages.conftest import Open, bring_cookies, shown
from tests.pages.pictured import Pictured

Use = Callable[[Backend], None]
OWN = [("my.de.txt", b"Ein Hund.\nDie Katze.\n"), ("my.en.txt", b"A dog.\nA cat.\n")]


@pytest.fixture(autouse=True)
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(SETTING, str(tmp_path / "rows"))
    return tmp_path / "rows"


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch, open_page: Open) -> Callable[[str], None]:
    """Make every new session belong to one reader."""

    def use(reader: str) -> None:
        bring_cookies(monkeypatch, {name_reader_cookie(8501): reader})

    return use


def given(app: AppTest, *files: tuple[str, bytes]) -> AppTest:
    sent = [(name, content, "text/plain") for name, content in files]
    return uploading(app).file_uploader(key=form.FILES_KEY_PREFIX).set_value(sent).run()


def address(app: AppTest) -> dict[str, str]:
    return {name: "".join(value) for name, value in app.query_params.items()}


def test_own_analysis_opens_by_address_only_for_its_owner(
    open_page: Open, use_backend: Use, reading: Callable[[str], None]
) -> None:
    use_backend(Translating())
    ada, bob = make_reader_id(), make_reader_id()
    reading(ada)
    app = opened_first(ran(given(open_page("analyse", new="1"), *OWN)))
    link = address(app)
    assert link["model"] == "char-area" and link["example"] in "12" and len(link["set"]) == 24
    again = open_page("analyse", **link)
    assert not again.exception and not again.error and len(listed(again)) == 2
    assert "Your files: my" in shown(again) and state_of(again).example == int(link["example"]) - 1
    reading(bob)
    hers = open_page("analyse", **link)
    assert "not kept here for you" in hers.error[0].value and listed(hers).empty
    assert "Earlier analyses" not in [one.label for one in hers.expander]


@pytest.mark.long
def test_earlier_analyses_are_listed_for_their_owner(
    open_page: Open, use_backend: Use, reading: Callable[[str], None]
) -> None:
    use_backend(Translating())
    reading(make_reader_id())
    ran(given(open_page("analyse", new="1"), *OWN))
    fresh = open_page("analyse", new="1")
    (earlier,) = [one for one in fresh.expander if one.label == "Earlier analyses"]
    (link,) = earlier.get("page_link")
    assert "my.en.txt, 2 examples" in link.proto.label.replace("\\", "")
    assert "set=" in link.proto.query_string and "model=char-area" in link.proto.query_string
    reading(make_reader_id())
    assert not [
        one for one in open_page("analyse", new="1").expander if one.label == "Earlier analyses"
    ]


def test_set_survives_a_visit_to_a_different_page(open_page: Open, use_backend: Use) -> None:
    use_backend(Translating())
    app = given(open_page("analyse", new="1"), *OWN)
    digest = state_of(app).digest
    app.switch_page("pages/models.py").run()
    back = app.switch_page("pages/analyse.py").run()
    assert not back.exception and not back.error
    assert "Your files: my.de.txt, my.en.txt" in shown(back).replace("\\", "")
    assert state_of(back).digest == digest and "2 examples, 2 with references" in shown(back)
    button(back, "Choose other files").click().run()
    assert "Your files" not in shown(back) and not state_of(back).own


def test_deleted_files_do_not_open_by_address(
    open_page: Open, use_backend: Use, rows: Path
) -> None:
    use_backend(Translating())
    app = ran(given(open_page("analyse", new="1"), *OWN))
    link = address(app)
    assert list(rows.glob("readers/*/*/roles.json"))
    button(app, "Delete all of mine").click().run()
    assert not list(rows.glob("readers/*/*")) and listed(app).empty
    assert "not kept here for you" in open_page("analyse", **link).error[0].value


@pytest.mark.long
def test_model_without_attention_keeps_url(open_page: Open, use_backend: Use) -> None:
    use_backend(Pictured())
    app = open_page("analyse", set="Scenes to describe", model="scene-none")
    opened_first(ran(app))
    assert not app.exception and not app.error and "no attention to show" in shown(app)
    assert address(app)["set"] == "Scenes to describe" and "example" in address(app)


def test_wrong_url_gives_one_error(open_page: Open, use_backend: Use) -> None:
    use_backend(Translating())
    app = open_page("analyse", set="<b>none</b>")
    assert len(app.error) == 1 and "which is not here" in app.error[0].value
    assert not app.exception and "24 examples" in shown(app)


def test_sorting_metric_is_second_and_header_reverses_order(
    open_page: Open, use_backend: Use
) -> None:
    use_backend(Translating())
    app = ran(open_page("analyse", new="1"))
    assert list(listed(app).columns)[:3] == ["Example", "BLEU", "Source"]
    worst = list(listed(app)["BLEU"].astype(float))
    assert worst == sorted(worst) and tables(app)[TABLE_KEY]["sorted"] == ["bleu_0", "ascending"]
    hold(app, measure="length_0")
    assert list(listed(app).columns)[1] == "Words"
    assert app.button_group(key="analyse_order").options == [
        "Lowest first",
        "Highest first",
        "As given",
    ]
    hold(app, measure="bleu_0", order="best")
    best = list(listed(app)["BLEU"].astype(float))
    assert best == worst[::-1] and tables(app)[TABLE_KEY]["sorted"][1] == "descending"


def test_next_opens_the_next_shown_row_and_marks_it(open_page: Open, use_backend: Use) -> None:
    use_backend(Translating())
    app = opened_first(hold(ran(open_page("analyse", new="1")), order="best"))
    order = list(listed(app).index)
    button(app, "Next").click().run()
    assert state_of(app).example == order[1] == tables(app)[TABLE_KEY]["chosen"]
    button(app, "Close").click().run()
    assert state_of(app).example is None and "words are not in the reference" not in shown(app)


@pytest.mark.long
def test_long_table_is_sent_in_pages(
    open_page: Open, use_backend: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("areaviz.sets.app.examples.ROWS_PER_PAGE", 10)
    use_backend(Translating())
    app = hold(ran(open_page("analyse", new="1")), order="given")
    assert list(listed(app).index) == list(range(10)) and "Rows 1 to 10 of 24" in shown(app)
    button(app, "Later rows").click().run()
    assert list(listed(app).index) == list(range(10, 20))
    hold(app, example=19)
    button(app, "Next").click().run()
    assert list(listed(app).index) == list(range(20, 24)) and tables(app)[TABLE_KEY]["chosen"] == 20


@pytest.mark.long
def test_filtered_examples_stay_until_all_are_shown(open_page: Open, use_backend: Use) -> None:
    use_backend(Translating())
    app = ran(open_page("analyse", new="1"))
    app.session_state[BUCKETS_KEY] = True
    hold(app, row_filter=RowFilter("6–8 words", (1, 2, 5), ("buckets length", 0)))
    assert set(listed(app).index) == {1, 2, 5} and "Only 6–8 words" in shown(app)
    buckets = tables(app)["analyse_bucket_table"]
    assert buckets["chosen"] == 0 and sum(int(row[1]) for row in buckets["rows"]) == 24
    button(app, "Show all again").click().run()
    assert len(listed(app)) == 24 and tables(app)["analyse_bucket_table"]["chosen"] is None


def test_outputs_of_systems_are_compared_without_a_model(open_page: Open, use_backend: Use) -> None:
    backend = Translating()
    use_backend(backend)
    files = (
        *OWN,
        ("hyp.a.txt", b"Ein Hund.\nEine Katze.\n"),
        ("hyp.b.txt", b"Hund.\nDie Katze.\n"),
    )
    app = given(open_page("analyse", new="1"), *files)
    assert not app.exception and not app.error and backend.asked == 0
    assert "outputs of 2 systems" in shown(app)
    seen = listed(app)
    assert {"Output (1)", "Output (2)", "Reference", "BLEU, change"} <= set(seen.columns)
    app = opened_first(app)
    assert not app.error and "Source" in shown(app) and "hyp.a.txt" in shown(app)
    app.session_state[COMPARISON_KEY] = True
    assert any("Wins" in table.value.columns for table in app.run().table)


@pytest.mark.long
def test_model_is_compared_with_outputs_of_one_system(open_page: Open, use_backend: Use) -> None:
    backend = Translating()
    use_backend(backend)
    app = given(open_page("analyse", new="1"), *OWN, ("hyp.txt", b"Ein Hund.\nEine Katze.\n"))
    assert "Output" in listed(app).columns
    app.toggle(key="analyse_with_model").set_value(True).run()
    button(app, "Run 2 examples").click().run()
    app = worked(app)
    assert not app.error and backend.asked == 2 and "Output (2)" in listed(app).columns


def test_outputs_with_a_missing_line_give_one_sentence(open_page: Open) -> None:
    app = given(open_page("analyse", new="1"), *OWN, ("hyp.txt", b"Ein Hund.\n"))
    (error,) = app.error
    assert "has 1 lines or rows" in error.value and "one line or row per example" in error.value
