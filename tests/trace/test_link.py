"""Links: what they restore, and what is rejected."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import parse_qsl, urlencode

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from areaviz.trace.errors import MAX_POSITION, InputError
from areaviz.trace.request import Focus, Request, from_params, to_params
from tests.trace.sentence import assert_one_sentence
from tests.trace.strategies import focuses, requests

BASE = {"model": "char-tiny-area", "text": "A dog."}


def through_address(params: dict[str, str]) -> dict[str, str]:
    """Pass parameters through a URL, as a browser's address bar does."""
    return dict(parse_qsl(urlencode(params), keep_blank_values=True, strict_parsing=True))


@settings(deadline=None)
@given(requests(), st.none() | focuses())
@example(Request("m", "a&b=c#d%20+ \x00\n\r\u2028😀 \u0301"), None)
@example(Request("m", ""), Focus("encoder self", items=(5, 4, 4, 3)))
def test_link_restores_request_and_focus(request_: Request, focus: Focus | None) -> None:
    assert from_params(through_address(to_params(request_, focus))) == (request_, focus)


def test_default_link_is_short() -> None:
    assert to_params(Request("m", "A dog.")) == {"model": "m", "text": "A dog."}
    assert to_params(Request("m", ""), Focus("encoder self")) == {
        "model": "m",
        "site": "encoder self",
    }


def test_full_link_reads_like_the_page() -> None:
    request_ = Request("m", "A dog.", "beam", 8, 3, 7)
    focus = Focus("encoder-decoder", 1, 3, "memory", (2, 3, 4, 5, 6, 11), "word", "several")
    focus = replace(focus, reading="densest", mass=70, against="average")
    assert to_params(request_, focus) == {
        "model": "m",
        "text": "A dog.",
        "method": "beam",
        "beam": "8",
        "area": "3",
        "seed": "7",
        "site": "encoder-decoder",
        "layer": "2",
        "head": "4",
        "side": "memory",
        "items": "3-7,12",
        "unit": "word",
        "areas": "several",
        "read": "densest",
        "mass": "70",
        "against": "average",
    }


def test_selection_of_whole_text_stays_compact() -> None:
    assert (
        to_params(Request("m", "a"), Focus("encoder self", items=tuple(range(4096))))["items"]
        == "1-4096"
    )


def test_unknown_parameters_are_ignored() -> None:
    assert from_params(BASE | {"utm_source": "x", "view": "pyramid"}) == (
        Request("char-tiny-area", "A dog."),
        None,
    )


@pytest.mark.parametrize(
    ("params", "part"),
    [
        ({"text": "A dog."}, "names no model"),
        (BASE | {"model": "a/../b"}, "a/../b"),
        (BASE | {"model": "x" * 10_000}, "…"),
        (BASE | {"text": "a" * 4097}, "4,096"),
        (BASE | {"text": "a" * 10**6}, "1,000,000"),
        (BASE | {"method": "Greedy"}, "greedy, beam"),
        (BASE | {"beam": "0"}, "1 and 16"),
        (BASE | {"beam": "17"}, "1 and 16"),
        (BASE | {"beam": "4.0"}, "whole number from 1 to 16"),
        (BASE | {"beam": ""}, "whole number"),
        (BASE | {"beam": "1_0"}, "whole number"),
        (BASE | {"beam": " 4"}, "whole number"),
        (BASE | {"beam": "٤"}, "whole number"),
        (BASE | {"beam": "9" * 100_000}, "whole number"),
        (BASE | {"area": "0"}, "1 and 16"),
        (BASE | {"area": "None"}, "whole number"),
        (BASE | {"seed": "-1"}, "0 and 4294967295"),
        (BASE | {"site": ""}, "site"),
        (BASE | {"site": "<script>" * 100}, "site"),
        (BASE | {"site": "encoder self", "layer": "0"}, "layer"),
        (BASE | {"site": "encoder self", "head": "-3"}, "head"),
        (BASE | {"site": "encoder self", "side": "both"}, "query, memory"),
        (BASE | {"site": "encoder self", "read": "best"}, "heaviest, coverage, densest"),
        (BASE | {"site": "encoder self", "mass": "91"}, "30 and 90"),
        (BASE | {"site": "encoder self", "against": "all"}, "nothing, average"),
        (BASE | {"read": "densest"}, 'no "site"'),
        (BASE | {"site": "encoder self", "unit": "line"}, "item, word"),
        (BASE | {"site": "encoder self", "items": "3-"}, "items"),
        (BASE | {"site": "encoder self", "items": "0"}, "items"),
        (BASE | {"site": "encoder self", "items": "7-3"}, "items"),
        (BASE | {"site": "encoder self", "items": "1-99999"}, "65,536"),
        (BASE | {"site": "encoder self", "items": ",".join(["1-65536"] * 1000)}, "65,536"),
        (BASE | {"layer": "2"}, "site"),
    ],
)
def test_invalid_link_is_refused_in_one_sentence(params: dict[str, str], part: str) -> None:
    with pytest.raises(InputError) as refusal:
        from_params(params)
    assert part in str(refusal.value)
    assert_one_sentence(refusal.value)


@settings(deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["model", "text", "beam", "area", "site", "layer", "items"]), st.text()
    )
)
def test_any_link_is_read_or_refused(params: dict[str, str]) -> None:
    try:
        request_, focus = from_params(params)
    except InputError:
        return
    assert request_.text == params.get("text", "")
    assert focus is None or all(0 <= item < MAX_POSITION for item in focus.items)
