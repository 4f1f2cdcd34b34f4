"""Analyse with stories, points and parsed sentences: running, measuring, opening, and errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from areaviz.backend.backend import Backend
from areaviz.measures.references import make_flat_tree
from areaviz.sets.run import SETTING
from tests.pages.analysed import listed, opened_first, ran
from tests.pages.conftest import Open, drawn_texts, shown, with_tab
from tests.pages.test_analyse_sets import given
from tests.pages.test_reason import Reasoners

Use = Callable[[Backend], None]
FLAT = make_flat_tree(5)
MANY = " ".join(f"{number},{number * 7 % 900}" for number in range(200))


@dataclass(frozen=True)
class Kind:
    """A kind of set.

    Args:
        head: head of its table.
        good: rows that can be run.
        bad: rows that cannot be run, each with a part of the error.
        about: the page's text about the good rows alone.
        measures: columns with figures.
        opened: a text that an open example shows.
    """

    head: str
    good: Sequence[str]
    bad: Sequence[tuple[str, str]]
    about: str
    measures: Sequence[str]
    opened: str


KINDS = {
    "stories": Kind(
        "story,answer,facts",
        (
            "Mary went to the kitchen. John went to the garden. Where is John?,garden,2",
            "Mary went to the garden. Where is Mary?,garden,1",
        ),
        (
            (
                "Mary went. " * 200 + "Where is Mary?,garden,",
                "The story has 200 facts, but the limit is 20",
            ),
        ),
        "2 examples, 2 with references",
        ("Right", "Facts read"),
        "Where is John?",
    ),
    "points": Kind(
        "name;points",
        ("square;100,100 900,120 820,800 150,850 480,460", "triangle;100,100 900,120 820,800"),
        (
            ("twice;100,100 900,120 820,800 100,100", "Points 1 and 4 are at the same place"),
            (f"many;{MANY}", "There are 200 points, but the limit is"),
            ("line;0,0 10,10 20,20", "All points are on one line"),
        ),
        "2 examples, no references",
        ("Right", "Area"),
        "areaviz.points",
    ),
    "trees": Kind(
        "sentence,tree",
        (f"Ida paints old boats .,{FLAT}", f"Mary saw an apple .,{FLAT}"),
        ((f" ,{FLAT}", "Type a sentence"),),
        "2 examples, 2 with references",
        ("Right", "Bracket F1"),
        "S",
    ),
}
EVERY = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


@pytest.fixture(autouse=True)
def reasoners(tmp_path: Path, use_backend: Use, monkeypatch: pytest.MonkeyPatch) -> Reasoners:
    monkeypatch.setenv(SETTING, str(tmp_path / "rows"))
    made = Reasoners(("hull",))
    use_backend(made)  # type: ignore[arg-type]
    return made


def uploaded(open_page: Open, kind: Kind, bad: bool = False) -> AppTest:
    rows = [*kind.good, *(row for row, _ in kind.bad if bad)]
    return given(open_page, ("set.csv", "\n".join([kind.head, *rows, ""]).encode()))


@EVERY
def test_set_is_run_measured_and_explored(open_page: Open, kind: Kind) -> None:
    app = uploaded(open_page, kind)
    assert not app.exception and not app.error and kind.about in shown(app)
    app = ran(app)
    assert not app.exception and not app.error
    table = listed(app)
    assert len(table) == 2 and "Not run" not in table and "BLEU" not in table
    for name in kind.measures:
        assert all(0 <= float(value) <= 1 for value in table[name]), name
    app = opened_first(app)
    assert not app.exception and not app.error
    pictures = [element.proto.component_name for element in app.get("bidi_component")]
    assert any(kind.opened in text for text in (shown(app), *drawn_texts(app), *pictures))
    app = with_tab(app, "view")
    assert app.segmented_control(key="analyse_view").options, "views to choose from"


@EVERY
def test_failed_example_gives_reason_and_keeps_remaining_rows(open_page: Open, kind: Kind) -> None:
    app = ran(uploaded(open_page, kind, bad=True))
    assert not app.exception and not app.error
    table = listed(app).sort_index()
    assert (table["Not run"] == "").tolist() == [True] * 2 + [False] * len(kind.bad)
    for why, (_, part) in zip(table["Not run"].tolist()[2:], kind.bad, strict=True):
        assert part in why and why.endswith("."), why


@pytest.mark.parametrize(
    ("name", "about"),
    [
        ("Stories", "40 examples, 40 with references"),
        ("Points", "40 examples, no references"),
        ("Sentences with trees", "24 examples, 24 with references"),
    ],
)
def test_app_has_a_set_for_each_answering_model(
    open_page: Open, reasoners: Reasoners, name: str, about: str
) -> None:
    app = open_page("analyse", new="1")
    app.button_group(key="analyse_sample").set_value(name).run()
    assert not app.exception and not app.error and about in shown(app)
    assert app.selectbox(key="analyse_model").value in reasoners.models()
