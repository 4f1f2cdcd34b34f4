"""The teaching page as Streamlit runs it: every lesson is there, reacts, and is right."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from areaviz.lessons import LESSONS
from tests.pages.conftest import Open


@pytest.fixture
def page(open_page: Open) -> AppTest:
    return open_page("how_areas_work")


def text(page: AppTest) -> str:
    return "\n".join(element.value for element in [*page.markdown, *page.latex, *page.caption])


def choice(page: AppTest, label: str) -> Any:
    return next(group for group in page.get("button_group") if getattr(group, "label", "") == label)


def test_every_lesson_stands_on_the_page_in_its_order_with_pictures_that_can_be_read_out(
    page: AppTest,
) -> None:
    assert not page.exception
    titles = [heading.value for heading in page.header]
    assert titles == [f"{number}. {lesson.title}" for number, lesson in enumerate(LESSONS, start=1)]
    shown = text(page)
    assert all(f"](#{lesson.name})" in shown for lesson in LESSONS)
    hard = titles.index(next(title for title in titles if "Learning a hard choice" in title)) + 1
    assert f"Lessons {hard} and {hard + 1} show how a model learns to pick one item" in shown
    for number in (
        r"\mathbf{9}",
        r"\mathbf{25}",
        r"\mathbf{16}",
        r"\mathbf{(7.723, 9.375)}",
        "**69**",
    ):
        assert number in shown
    charts: list[Any] = list(page.get("plotly_chart"))
    assert len(charts) >= len(LESSONS)
    assert all(chart.proto.alt for chart in charts)


def test_the_count_follows_the_sliders_and_a_size_beyond_the_sequence_is_cut_and_told(
    page: AppTest,
) -> None:
    page.slider(key="sequence-length").set_value(8)
    page.slider(key="sequence-size").set_value(5).run()
    assert r"\mathbf{30}" in text(page)
    page.slider(key="sequence-size").set_value(12).run()
    assert not page.exception
    assert "S was cut to 8: an area cannot be longer than the sequence." in text(page)
    assert page.slider(key="sequence-number").max == 36


def test_the_chosen_area_stays_while_it_fits(page: AppTest) -> None:
    page.slider(key="sequence-number").set_value(9).run()
    assert "**items 2 to 4**" in text(page)
    page.slider(key="sequence-length").set_value(10).run()
    assert "**items 2 to 4**" in text(page)
    page.slider(key="sequence-size").set_value(2).run()
    assert "**items 2 to 3**" in text(page)


def test_areas_of_one_item_are_called_regular_attention(page: AppTest) -> None:
    assert "the output leaves the grey line" in text(page)
    page.slider(key="attention-size").set_value(1).run()
    assert "With S = 1 this **is** regular attention" in text(page)


def test_the_table_is_built_step_by_step(page: AppTest) -> None:
    for option in choice(page, "Step").options:
        choice(page, "Step").set_value(option).run()
        assert not page.exception


def test_sampling_again_moves_the_estimate_and_a_baseline_cuts_the_variance(page: AppTest) -> None:
    assert not any("pushes" in one and "b = -2.224" in one for one in text(page).splitlines())
    before = {metric.label: metric.value for metric in page.metric}
    page.selectbox(key="hard-baseline").set_value("Mean reward").run()
    after = {metric.label: metric.value for metric in page.metric}
    assert before["Times that of none"] == "1" and after["Times that of none"] == "0.201"
    assert "b = -2.224" in text(page)
    shown = text(page)
    page.button(key="hard-sample").click().run()
    assert not page.exception
    assert text(page) != shown


@pytest.mark.parametrize("end", ["min", "max"])
def test_the_ends_of_every_slider_hold(page: AppTest, end: str) -> None:
    choice(page, "Memory").set_value("Sequence of five pairs")
    for slider in page.slider:
        slider.set_value(getattr(slider, end))
    for select in page.select_slider:
        select.set_value(select.options[0 if end == "min" else -1])
    page.run()
    assert not page.exception


def test_boundary_scores_put_a_span_on_top(page: AppTest) -> None:
    assert "**young**, with" in text(page) and "It is a single item" in text(page)
    page.slider(key="boundary-start").set_value(0.3)
    page.slider(key="boundary-end").set_value(0.3).run()
    assert "**young child**, with" in text(page) and "outweighs each of its items" in text(page)
