"""Blind rating on Analyse: names and scores are hidden, and every rater has their own order.

Marks of other raters appear only afterwards.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from areaviz.sets.app import error_marking, form
from areaviz.sets.app import error_marking as blind
from areaviz.sets.app.error_marking import ErrorSheet, build_key_table
from areaviz.sets.app.state import open_note_store
from areaviz.sets.notes.notes import Annotation, ErrorSpan, Judgement
from areaviz.sets.run import SETTING
from tests.pages.analysed import hold, listed, uploading
from tests.pages.conftest import Open, shown
from tests.sets import read_lines

FILES = {
    "my.en.txt": b"A dog.\nA cat.\nIt rains.\n",
    "my.de.txt": b"Ein Hund.\nDie Katze.\nEs regnet.\n",
    "hyp.a.txt": b"Ein Hund.\nEine Katze.\nx\n",
    "hyp.b.txt": b"Hund.\nDie Katze.\ny\n",
    "hyp.c.txt": b"Hund!\nKatze.\nz\n",
}
NAMES = ["hyp.a.txt", "hyp.b.txt", "hyp.c.txt"]
SET = read_lines("my.en.txt", FILES, ["my.de.txt"])
OUTPUTS = {name: FILES[name].decode().split("\n") for name in NAMES}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SETTING, str(tmp_path / "rows"))


@pytest.fixture
def sheets(monkeypatch: pytest.MonkeyPatch) -> list[ErrorSheet]:
    """Collect the marking sheets that the page draws."""
    drawn: list[ErrorSheet] = []
    monkeypatch.setattr(error_marking, "draw_error_sheet", lambda sheet, **_: drawn.append(sheet))
    return drawn


def blinded(open_page: Open, rater: str) -> AppTest:
    """Open the page with three systems, switch to blind rating and type a name."""
    app = uploading(open_page("analyse", new="1"))
    sent = [(name, content, "text/plain") for name, content in FILES.items()]
    app = app.file_uploader(key=form.FILES_KEY_PREFIX).set_value(sent).run()
    app = app.toggle(key="analyse_is_blind").set_value(True).run()
    return app.text_input(key=blind.RATER_NAME_KEY).set_value(rater).run()


def judgement(rater: str, model: str) -> Judgement:
    span = ErrorSpan("output", 0, 3, None, "", "major", f"found by {rater}")
    output = OUTPUTS[model][1]
    return Judgement(SET.digest, 1, model, rater, "A cat.", output, (span,), 60.0)


def order_of(rater: str) -> tuple[str, ...]:
    return build_key_table(SET.digest, [rater], NAMES)[0][1:]


def test_blind_rating_waits_for_a_name(open_page: Open) -> None:
    app = blinded(open_page, " ")
    assert not app.error and "Type your name to begin" in app.info[0].value
    assert listed(app).empty


def test_blind_rating_hides_names_and_scores(open_page: Open) -> None:
    app = blinded(open_page, "")
    # The form above names the imported files.
    of_form = {one.value for one in [*app.caption, *app.markdown]}
    app = hold(app.text_input(key=blind.RATER_NAME_KEY).set_value("Ada").run(), example=1)
    assert not app.error and not app.exception
    table = listed(app)
    assert list(table.columns) == [
        "Example",
        "Source",
        *(f"Output ({n})" for n in (1, 2, 3)),
        "Reference",
    ]
    outputs = [OUTPUTS[name][1] for name in order_of("Ada")]
    assert [table.loc[1, f"Output ({number})"] for number in (1, 2, 3)] == outputs
    assert [one.value for one in app.header] == ["Example by example"]
    texts = [one.value for one in [*app.caption, *app.markdown] if one.value not in of_form]
    texts = [text.replace("\\", "") for text in texts]
    assert "**System 3**" in texts
    named = [text for text in texts for name in [*NAMES, "chrF"] if name in text]
    assert not named
    assert list(app.button_group(key="analyse_judged").options) == [
        f"System {n}" for n in (1, 2, 3)
    ]
    assert not [one for one in app.download_button if one.label.startswith(("Table", "Report"))]


def test_raters_see_systems_in_their_own_order(open_page: Open) -> None:
    other = next(name for name in "BCDEFGH" if order_of(name) != order_of("Ada"))
    first = listed(blinded(open_page, "Ada")).loc[1]
    second = listed(blinded(open_page, other)).loc[1]
    assert list(first) != list(second) and sorted(first) == sorted(second)


@pytest.mark.long
def test_blind_rating_forgets_the_system_judged_last(
    open_page: Open, sheets: list[ErrorSheet]
) -> None:
    """Check that a rater who knows a system by name does not learn its alias."""
    last = order_of("Ada")[2]
    app = hold(blinded(open_page, "Ada"), example=1)
    app = app.toggle(key="analyse_is_blind").set_value(False).run()
    app.button_group(key="analyse_judged").set_value(last).run()
    assert sheets[-1].title == last
    app.toggle(key="analyse_is_blind").set_value(True).run()
    assert sheets[-1].title == "System 1"
    app.button_group(key="analyse_judged").set_value(last).run()
    assert sheets[-1].title == "System 3"
    app.text_input(key=blind.RATER_NAME_KEY).set_value("Bo").run()
    assert sheets[-1].title == "System 1"


@pytest.mark.long
def test_marks_of_other_raters_appear_after_own(open_page: Open, sheets: list[ErrorSheet]) -> None:
    store, notes = open_note_store().judgements, open_note_store().notes
    first = order_of("Ada")[0]
    store.save(judgement("Bo", first))
    notes.save(Annotation(SET.digest, 1, first, "Style", note="a note of Bo"))
    app = hold(blinded(open_page, "Ada"), example=1)
    assert "You see the marks of other raters after you have saved yours" in shown(app)
    assert "found by Bo" not in shown(app) and "a note of Bo" not in shown(app)
    # Saved marks have the true name.
    assert sheets[-1].title == "System 1" and sheets[-1].judgement.model == first
    store.save(judgement("Ada", first))
    app.run()
    assert "found by Bo" in shown(app) and "a note of Bo" not in shown(app)
    for name in order_of("Ada")[1:]:
        store.save(judgement("Ada", name))
    assert "a note of Bo" in shown(app.run())


def test_key_names_systems_again(open_page: Open) -> None:
    open_note_store().judgements.save(judgement("Bo", "hyp.b.txt"))
    app = blinded(open_page, "Ada")
    assert not any("Rater" in one.value.columns for one in app.table)
    app.toggle(key="analyse_is_blind").set_value(False).run()
    (key,) = (one.value for one in app.table if "Rater" in one.value.columns)
    cells = [[cell.replace("\\", "") for cell in row] for row in key.to_numpy().tolist()]
    assert cells == [["Ada", *order_of("Ada")], ["Bo", *order_of("Bo")]]


def test_links_open_blind_rating(open_page: Open) -> None:
    assert open_page("analyse", blind="1").session_state["analyse"].is_blind
    assert blinded(open_page, "Ada").query_params["blind"] == "1"
