"""Analyse: outputs of several systems side by side, with marked differences."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from areaviz.sets.app import error_marking, form, state
from areaviz.sets.app import error_marking as blind
from areaviz.sets.app.error_marking import ErrorSheet
from areaviz.sets.app.notes import list_offered_categories
from areaviz.sets.app.state import open_note_store
from areaviz.sets.notes.notes import Annotation, ErrorSpan, Judgement
from areaviz.sets.run import SETTING
from areaviz.sets.table import format_table_as_csv
from tests.pages.analysed import hold, keyed, listed, state_of, uploading
from tests.pages.conftest import Open, shown

FILES = {
    "my.en.txt": b"A dog.\nA cat.\nIt rains.\n",
    "my.de.txt": b"Ein Hund.\nDie Katze.\nEs regnet.\n",
    "hyp.a.txt": b"Ein Hund.\nEine Katze.\nEs regnet.\n",
    "hyp.b.txt": b"Ein *Hund*.\nDie Katze.\ny\n",
    "hyp.c.txt": b"Hund.\nDie Katze.\nRegen.\n",
    "hyp.b.comet.csv": b"COMET\n0.7\n0.95\n0.2\n",
}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SETTING, str(tmp_path / "rows"))


def given(open_page: Open, *names: str) -> AppTest:
    """Open the page with a source, a reference and files of outputs."""
    app = uploading(open_page("analyse", new="1"))
    names = ("my.en.txt", "my.de.txt", *names)
    sent = [(name, FILES[name], "text/plain") for name in names]
    return app.file_uploader(key=form.FILES_KEY_PREFIX).set_value(sent).run()


def texts(app: AppTest) -> list[str]:
    """Return the texts of a page as Markdown."""
    return [one.value.replace("\\", "") for one in app.markdown]


def test_three_systems_are_side_by_side(open_page: Open) -> None:
    app = given(open_page, "hyp.a.txt", "hyp.b.txt", "hyp.c.txt")
    assert not app.error and not app.exception
    assert {"Output (1)", "Output (2)", "Output (3)", "chrF (3)"} <= set(listed(app).columns)
    assert not next(one for one in app.download_button if "Report" in one.label).disabled
    app = hold(app, example=0)
    assert not app.error and not app.exception
    seen = texts(app)
    assert {"**(1) hyp.a.txt**", "**(2) hyp.b.txt**", "**(3) hyp.c.txt**"} <= set(seen)
    assert ":red-background[~~Ein~~] Hund." in seen
    assert any("chrF 100" in one.value for one in app.caption)


def test_two_of_three_systems_can_be_compared(open_page: Open) -> None:
    app = given(open_page, "hyp.a.txt", "hyp.b.txt", "hyp.c.txt")
    assert state_of(app).measure == "chrf_change"
    app = app.selectbox(key="analyse_second").set_value(2).run()
    assert list(app.selectbox(key="analyse_first").options) == ["(1) hyp.a.txt", "(2) hyp.b.txt"]
    app = app.selectbox(key="analyse_first").set_value(1).run()
    assert not app.error and not app.exception
    assert app.button_group(key="analyse_order").options[0] == "(3) worse first"
    seen = listed(app)
    changes = seen["chrF (3)"].astype(float) - seen["chrF (2)"].astype(float)
    assert seen["chrF, change"].astype(float).tolist() == pytest.approx(changes.tolist(), abs=0.6)
    said = shown(hold(app, search="")).replace("\\", "")
    assert "Changes, wins and losses are those of the first of these against the second" in said


def test_table_csv_names_systems_of_a_change(
    open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    offered: list[Callable[[], bytes]] = []

    def note(make: Callable[[], bytes]) -> Callable[[], bytes]:
        if isinstance(make, partial) and make.func is format_table_as_csv:
            offered.append(make)
        return make

    monkeypatch.setattr(state, "guard_by_link", note)
    app = given(open_page, "hyp.a.txt", "hyp.b.txt", "hyp.c.txt")
    app = app.selectbox(key="analyse_second").set_value(2).run()
    assert not app.exception
    header = offered[-1]().decode("utf-8-sig").partition("\r\n")[0].split(",")
    assert "chrf_change_0_2" in header and "chrf_change" not in header


def test_systems_can_be_left_out(open_page: Open) -> None:
    app = given(open_page, "hyp.a.txt", "hyp.b.txt", "hyp.c.txt")
    app = app.multiselect(key="analyse_outputs").set_value(["hyp.a.txt", "hyp.c.txt"]).run()
    assert not app.error and "Output (3)" not in listed(app).columns
    assert not next(one for one in app.download_button if "Report" in one.label).disabled


def test_renamed_systems_are_all_chosen(open_page: Open) -> None:
    app = given(open_page, "hyp.a.txt", "hyp.b.txt", "hyp.c.txt")
    app = hold(app, outputs=("hyp.a.txt",), offered=("hyp.a.txt", "before"))
    assert not app.error and "Output (3)" in listed(app).columns


def test_outputs_are_compared_with_another_output(open_page: Open) -> None:
    app = hold(given(open_page, "hyp.a.txt", "hyp.b.txt"), example=1)
    assert ":red-background[~~Die~~] :green-background[**Eine**] Katze." in texts(app)
    app.button_group(key="analyse_base").set_value("0").run()
    assert ":red-background[~~Eine~~] :green-background[**Die**] Katze." in texts(app)
    assert "words are not in (1) hyp.a.txt" in shown(app).replace("\\", "")
    app.button_group(key="analyse_base").set_value("nothing").run()
    assert not any("-background" in one for one in texts(app))


def test_markup_in_outputs_is_text(open_page: Open) -> None:
    app = hold(given(open_page, "hyp.a.txt", "hyp.b.txt"), example=0)
    marked = next(one.value for one in app.markdown if "Hund" in one.value and "\\*" in one.value)
    assert marked == r"Ein :green-background[**\***]Hund:green-background[**\***]\."


def test_table_opens_with_losses_of_the_second_system(open_page: Open) -> None:
    app = given(open_page, "hyp.a.txt", "hyp.b.txt", "hyp.b.comet.csv")
    assert state_of(app).measure == "chrf_change"
    assert list(listed(app).index) == [2, 0, 1]
    order = app.button_group(key="analyse_order")
    assert list(order.options) == ["(2) worse first", "(2) better first", "As given"]


def test_filter_lists_examples_in_which_all_three_fail(open_page: Open) -> None:
    app = hold(given(open_page, "hyp.a.txt", "hyp.b.txt", "hyp.c.txt"), measure="chrf_1")
    toggle = app.toggle(key="analyse_both_fail")
    assert toggle.label == "Only where all systems fail"
    assert not toggle.set_value(True).run().error


TABLE = b"""source,reference,output_a,domain
A dog.,Ein Hund.,Ein Hund.,news
A cat.,Die Katze.,Katze.,chat
It rains.,Es regnet.,x,news
"""


def with_metadata(open_page: Open) -> AppTest:
    app = uploading(open_page("analyse", new="1"))
    return (
        app.file_uploader(key=form.FILES_KEY_PREFIX).set_value(("t.csv", TABLE, "text/csv")).run()
    )


def test_metadata_colours_the_plot(open_page: Open) -> None:
    app = with_metadata(open_page)
    app.selectbox(key="analyse_colour").set_value("meta:domain").run()
    assert not app.error and not app.exception
    chart = app.get("plotly_chart")[0]
    names = [one["name"] for one in json.loads(chart.proto.spec)["data"]]
    assert names == ["chat", "news"]


def test_metadata_has_a_slice_for_each_value(open_page: Open) -> None:
    app = with_metadata(open_page)
    app.selectbox(key="analyse_slice").set_value("domain: news").run()
    assert not app.error and sorted(listed(app).index) == [0, 2]


def test_notes_and_errors_offer_one_list_of_categories(
    open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[ErrorSheet] = []
    monkeypatch.setattr(error_marking, "draw_error_sheet", lambda sheet, **_: drawn.append(sheet))
    app = given(open_page, "hyp.a.txt")
    digest = state_of(app).digest
    open_note_store().notes.save(Annotation(digest, 0, "", "Tone"))
    span = ErrorSpan("output", 0, 3, None, "Gender", "major")
    marked = Judgement(digest, 1, "hyp.a.txt", "Bo", "A cat.", "Eine Katze.", (span,))
    open_note_store().judgements.save(marked)
    app = hold(app, example=0)
    app.text_input(key=blind.RATER_NAME_KEY).set_value("Ada").run()
    offered = list(keyed(app.selectbox, "note_form_tag").options)
    assert {"Tone", "Gender"} <= set(offered)
    assert offered == list(drawn[-1].categories) == list_offered_categories(digest)
    assert list_offered_categories(digest, "Ada") == list_offered_categories(digest)[:7]
