"""Tests of the registry of kinds of fields."""

from __future__ import annotations

from dataclasses import replace

import pytest

from areaviz.draw.select import describe_items, name_site
from areaviz.trace.errors import InputError
from areaviz.trace.kinds import (
    FACTS,
    KINDS,
    POINTS,
    SOUND,
    find_kind_of_field,
    has_text_positions,
    make_facts_field,
    make_points_field,
)
from areaviz.trace.request import MEDIA, Request
from tests import fakes
from tests.trace.sentence import assert_one_sentence


def test_unknown_kind_is_refused_by_name() -> None:
    field = replace(fakes.trace().fields["source"], kind="smell")
    for ask in (find_kind_of_field, has_text_positions, lambda one: describe_items(one, [0])):
        with pytest.raises(InputError, match='unknown kind "smell"') as refused:
            ask(field)
        assert_one_sentence(refused.value)


def test_trace_with_an_unknown_kind_has_no_site_names() -> None:
    trace = fakes.trace()
    fields = {**trace.fields, "extra": replace(trace.fields["source"], kind="smell")}
    with pytest.raises(InputError, match="smell"):
        name_site(replace(trace, fields=fields), "encoder-decoder")


def test_every_input_except_text_is_a_kind() -> None:
    assert MEDIA.keys() <= KINDS.keys()
    assert {name for name, kind in KINDS.items() if not kind.example} == MEDIA.keys()


def test_examples_fit_their_kinds() -> None:
    points, facts = make_points_field(POINTS.example), make_facts_field(FACTS.example)
    assert POINTS.problem(points, Request("m", POINTS.example)) == ""
    assert FACTS.problem(facts, Request("m", FACTS.example)) == ""
    assert "other points" in POINTS.problem(points, Request("m", "1,2"))


def test_items_are_described_by_their_kind() -> None:
    assert describe_items(make_points_field("1,2 3,4"), [0, 1]) == "point 1, point 2"
    facts = make_facts_field("Ann left. Bob ran. Where is Bob?")
    assert describe_items(facts, [1]) == "“Bob ran.”"
    assert describe_items(fakes.caption_trace().fields["picture"], [0]) == ""


def test_sites_of_a_sound_have_their_own_names() -> None:
    assert SOUND.sites["encoder-decoder"] == "Output to sound"
