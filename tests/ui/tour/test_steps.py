"""The steps of the guided tour: every text is read from the trace, and every address opens."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pytest

from areaviz.cards.tasks import TASKS
from areaviz.learn.tour import (
    STEP_PAGES,
    TOUR_PICTURE,
    build_addresses,
    build_area_step,
    build_head_step,
    build_opening_step,
    build_reason_step,
    build_rectangle_step,
    build_story_without,
    can_show_step,
    find_mixed_word,
    find_read_fact,
)
from areaviz.samples.paths import HERO, OPENINGS
from areaviz.samples.reasoning import STORIES
from areaviz.trace import file
from areaviz.trace.record import Trace
from areaviz.trace.request import from_params
from areaviz.views.message import SITE

STORED = {path: file.load(path) for path in sorted(OPENINGS.glob("*.npz"))}


def stored(model: str, text: str = "", picture: str = "") -> Trace:
    """Return the stored opening of a model."""
    for trace in STORED.values():
        request = trace.request
        name = request.picture.name if request.picture else ""
        if (request.model, name) == (model, picture) and text in request.text:
            return trace
    raise LookupError(model)


TRANSLATIONS = [
    trace
    for trace in STORED.values()
    if trace.request.model == "token-boundary"
    and trace.request.area_size is None
    and not trace.request.changes
]


def text_of(trace: Trace, field: str, first: int, last: int) -> str:
    """Return the characters from one item to another, both included."""
    one = trace.fields[field]
    return one.raw[one.anchors[first, 0] : one.anchors[last, 1]].strip()


def heaviest(trace: Trace, layer: int, head: int, query: int) -> tuple[int, int, int]:
    """Return the first item, the last item and the percentage of a head's heaviest span."""
    attention = trace.maps[SITE]
    row_A = attention.weights[layer, head, query]
    at = int(np.argmax(row_A))
    area = attention.grid.area(at)
    return area.left, area.left + area.width - 1, round(100 * float(row_A[at]))


@pytest.mark.parametrize("trace", TRANSLATIONS, ids=lambda trace: trace.request.text)
def test_area_step_names_a_span_of_the_opening_word(trace: Trace) -> None:
    step = build_area_step(trace)
    spans = set()
    for layer in range(trace.maps[SITE].layers):
        for query, label in enumerate(trace.fields["target"].labels):
            if f"**{label.strip()}**" in step.says:
                for head in range(4):
                    first, last, share = heaviest(trace, layer, head, query)
                    if last > first:
                        spans.add(f"“{text_of(trace, 'source', first, last)}” ({share} %).")
    assert any(step.says.endswith(span) for span in spans)
    assert step.starts != step.ends and step.ends.strip("“”") in trace.fields["target"].raw


@pytest.mark.parametrize("trace", TRANSLATIONS, ids=lambda trace: trace.request.text)
def test_head_step_compares_one_word_with_several(trace: Trace) -> None:
    step, focus = build_head_step(trace), find_mixed_word(trace)
    (item,) = focus.items
    taken = [heaviest(trace, focus.layer, head, item) for head in range(4)]
    single = [head for head, (first, last, _) in enumerate(taken) if first == last]
    several = [head for head, (first, last, _) in enumerate(taken) if first < last]
    one = max(single, key=lambda head: taken[head][2])
    many = max(several, key=lambda head: taken[head][2])
    word = text_of(trace, "target", item, item)
    alone = text_of(trace, "source", *taken[one][:2])
    together = text_of(trace, "source", *taken[many][:2])
    assert step.says.endswith(
        f"For **{word}**, head {one + 1} takes “{alone}” alone,"
        f" and head {many + 1} takes “{together}” as one."
    )
    assert step.starts == f"“{word}”" and step.ends == ""


def test_steps_of_the_hero_are_about_two_words() -> None:
    trace = file.load(HERO)
    first, area, head = build_opening_step(trace), build_area_step(trace), build_head_step(trace)
    assert area.starts != head.starts
    word = area.starts.strip("“”")
    assert "German" in first.says
    assert first.asks == f"Press **Play** and see how it writes **{word}**."


@pytest.mark.parametrize(
    ("model", "picture"),
    [(TASKS["caption"].opens, TOUR_PICTURE), ("scene-captions-boundary", "scene-26")],
)
def test_rectangle_step_counts_heads_that_take_several_cells(model: str, picture: str) -> None:
    trace = stored(model, picture=picture)
    step = build_rectangle_step(trace)
    attention = trace.maps[SITE]
    labels = trace.fields["target"].labels
    item = labels.index(step.starts.strip("“”"))
    areas = [attention.grid.area(int(row_A.argmax())) for row_A in attention.weights[0, :, item]]
    wide = [area for area in areas if area.size > 1]
    words = ("no", "one", "two", "three", "four")
    assert f"{words[len(wide)]} of {words[len(areas)]} heads" in step.says
    share = max(
        float(attention.weights[0, head, item].max())
        for head, area in enumerate(areas)
        if area.size > 1
    )
    assert f"({100 * share:.0f} %)" in step.says
    other = labels.index(step.ends.strip("“”"))
    rows_HA = attention.weights[0, :, other]
    assert f"look at {len(set(rows_HA.argmax(-1).tolist()))} place" in step.asks


def test_reason_step_removes_the_fact_of_the_last_hop() -> None:
    trace = stored("memory-stories")
    fact = int(trace.maps["hops"].weights[-1, 0, 0].argmax())
    assert find_read_fact(trace) == fact
    step = build_reason_step(trace, None)
    answer = trace.fields[trace.output.field].raw
    assert f"fact {fact + 1}" in step.says and f"**{answer}**" in step.says
    assert step.act is not None and step.act[0] == f"Without fact {fact + 1}"
    params = dict(parse_qsl(urlsplit(step.act[1]).query))
    assert params == {"text": build_story_without(fact), "tour": "5"}
    assert STORIES[0].facts[fact] not in params["text"]


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("garden", "it now answers **garden**, not **kitchen**. So it needs that fact."),
        ("kitchen", "it still answers **kitchen**. So it does not need that fact."),
    ],
)
def test_reason_step_describes_effect_of_missing_fact(answer: str, says: str) -> None:
    before = stored("memory-stories")
    fields = dict(before.fields)
    name = before.output.field
    fields[name] = replace(fields[name], raw=answer)
    request = replace(before.request, text=build_story_without(find_read_fact(before)))
    step = build_reason_step(replace(before, request=request, fields=fields), before)
    assert step.says.endswith(says) and step.act is None


def test_addresses_open_the_pages_with_their_inputs() -> None:
    hero = file.load(HERO)
    found = [urlsplit(address) for address in build_addresses(hero)]
    assert [one.path.removeprefix("./") or "home" for one in found] == list(STEP_PAGES)
    params = [dict(parse_qsl(one.query)) for one in found]
    assert [one["tour"] for one in params] == ["1", "2", "3", "4", "5"]
    looks = []
    for one in params[1:3]:
        request, focus = from_params({"model": "any", **one})
        assert request.text == hero.request.text and focus is not None
        looks.append(focus.items)
    assert looks[0] != looks[1] and all(len(items) == 1 for items in looks)
    assert (params[3]["picture"], params[4]["text"]) == (TOUR_PICTURE, STORIES[0].text)


def test_steps_describe_the_shown_sentence() -> None:
    assert len({build_area_step(trace).says for trace in TRANSLATIONS}) == len(TRANSLATIONS) > 1


def test_area_step_of_a_model_without_areas_speaks_of_one_word() -> None:
    step = build_area_step(stored("token-regular"))
    assert "it takes one word, “" in step.says


@pytest.mark.parametrize("path", [path.name for path in STORED])
def test_is_fit_checks_the_first_steps(path: str) -> None:
    """Check every stored trace, because a page may show another model's trace during a step."""
    trace = STORED[Path(OPENINGS) / path]
    if can_show_step(trace):
        for build in (build_opening_step, build_area_step, build_head_step, build_rectangle_step):
            assert build(trace).says
