"""The teacher's plan, the debate and exercises.

Answers come from models, and links contain no answers.
"""

from __future__ import annotations

from urllib.parse import urlencode

import pytest

from areaviz.backend.local import LocalBackend
from areaviz.learn.exercise import build_exercise_params, check_focus, compare_guess
from areaviz.learn.model_questions import HIDDEN_WORD, DebateRuns, get_output_text, run_debate
from areaviz.learn.teach import (
    PlanRow,
    build_plan_html,
    build_plan_rows,
    describe_board,
    describe_layers,
)
from areaviz.samples.paths import CHECKPOINTS, HERO
from areaviz.trace import file
from areaviz.trace.areas import Area
from areaviz.trace.errors import InputError
from areaviz.trace.query import top_areas
from areaviz.trace.request import Focus
from areaviz.views.message import SITE, choose_first_focus

HERO_TRACE = file.load(HERO)


@pytest.fixture(scope="module")
def debate() -> DebateRuns:
    return run_debate(LocalBackend(CHECKPOINTS), HERO_TRACE.request.model)


def test_debate_keeps_its_point(debate: DebateRuns) -> None:
    """The output is correct German. The ban does not change it, but hiding the word does."""
    assert get_output_text(debate.plain) == "Eine junge Frau in einem blauen Kleid liest ein Buch."
    assert debate.area.width > 1 and HIDDEN_WORD in debate.span
    assert debate.takers > debate.plain.maps[SITE].heads / 2
    assert get_output_text(debate.banned) == get_output_text(debate.plain)
    assert get_output_text(debate.hidden) != get_output_text(debate.plain)
    assert "jung" not in get_output_text(debate.hidden)


def test_debate_ban_removes_the_area(debate: DebateRuns) -> None:
    attention = debate.banned.maps[SITE]
    index = attention.grid.index(debate.area)
    assert not attention.weights[..., index].any()
    assert debate.plain.maps[SITE].weights[..., index].max() > 0.5


def test_plan_answers_follow_the_models(debate: DebateRuns) -> None:
    rows = build_plan_rows(HERO_TRACE, debate, ("Compared.",))
    assert [row.minutes for row in rows][0] == "0–5 min" and len(rows) == 6
    assert rows[1].answer == (
        "30 spans, and 35 rectangles.",
        "The key is the mean, 4. The value is the sum, 16.",
    )
    said = " ".join(rows[4].answer)
    assert debate.span in said and get_output_text(debate.hidden) in said
    first = choose_first_focus(HERO_TRACE)
    top = top_areas(HERO_TRACE.maps[SITE], first.layer, 0, first.items[0], k=1)[0]
    assert f"({100 * top.weight:.0f} %)" in describe_board(HERO_TRACE)[1]


def test_layers_answer_names_only_layers_with_wide_areas() -> None:
    attention = HERO_TRACE.maps[SITE]
    wide = []
    for layer in range(attention.layers):
        for head in range(attention.heads):
            for item in range(len(HERO_TRACE.fields[attention.query])):
                if top_areas(attention, layer, head, item, k=1)[0].area.size > 1:
                    wide.append(layer + 1)
    assert describe_layers(HERO_TRACE).endswith(f": {', '.join(map(str, sorted(set(wide))))}.")


def test_plan_without_model_leaves_out_the_debate() -> None:
    rows = build_plan_rows(HERO_TRACE, None, ())
    assert [row.minutes for row in rows if "35" in row.minutes] == ["25–35 min"]


def test_plan_html_escapes_texts() -> None:
    html = build_plan_html(
        [PlanRow("1", "<b>", "a & b", (("x", './?a="1"&b'),), "<i>", ("<script>",))]
    )
    assert "<script>" not in html and "<b>" not in html and "&lt;script&gt;" in html


def test_exercise_link_does_not_contain_the_answer() -> None:
    first = choose_first_focus(HERO_TRACE)
    params = build_exercise_params(HERO_TRACE.request, first.layer, 0, first.items[0])
    allowed = {"exercise", "model", "text", "site", "layer", "head", "items"}
    assert set(params) <= allowed and params["text"] == HERO_TRACE.request.text
    top = top_areas(HERO_TRACE.maps[SITE], first.layer, 0, first.items[0], k=1)[0]
    assert f"{100 * top.weight:.0f}" not in urlencode(params)


@pytest.mark.parametrize(
    ("guess", "start"),
    [
        ((1, 3), "Your guess is exactly"),
        ((2,), "Close: the head takes"),
        ((0, 4), "Close: your guess"),
        ((3, 5), "Partly"),
        ((5,), "The head takes other"),
        ((), ""),
    ],
)
def test_verdict_begins_with_right_items(guess: tuple[int, ...], start: str) -> None:
    assert compare_guess(guess, Area(0, 1, 1, 3)).startswith(start)


@pytest.mark.parametrize(
    "focus",
    [
        None,
        Focus(SITE),
        Focus(SITE, head=0),
        Focus(SITE, head=99, items=(0,)),
        Focus(SITE, layer=99, head=0, items=(0,)),
        Focus(SITE, head=0, items=(999,)),
    ],
)
def test_exercise_refuses_a_link_that_does_not_fit(focus: Focus | None) -> None:
    with pytest.raises(InputError, match="Ask your teacher"):
        check_focus(HERO_TRACE, focus)
