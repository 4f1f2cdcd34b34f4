"""Requests: what is accepted, and what is rejected."""

from __future__ import annotations

import pytest

from areaviz.trace.errors import InputError
from areaviz.trace.request import Request
from tests.trace.sentence import assert_one_sentence


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "Two women are cooking 🧑‍🍳👩🏽‍🚀.",
        "كلب صغير يجري",
        "שלום \u202eabc\u202c",
        "e\u0301" * 50,
        "a" + "\u0301" * 30,
        "两只狗在跑",
        "<b>$x_1$</b> & =1+1",
        "a" * 4096,
        "\u200b",
        "  leading and trailing  ",
    ],
)
def test_valid_text_is_left_unchanged(text: str) -> None:
    request = Request("char-tiny-area", text)
    assert request.checked() == request


@pytest.mark.parametrize(
    ("text", "same_as"), [("a\nb", "a b"), ("a\r\nb", "a  b"), ("\ta\u2028b\x85", " a b ")]
)
def test_line_breaks_become_blanks_and_offsets_stay(text: str, same_as: str) -> None:
    assert Request("m", text).checked().text == same_as
    assert len(text) == len(same_as)


@pytest.mark.parametrize(
    ("request_", "parts"),
    [
        (Request("m", ""), ["no characters", "Type a sentence"]),
        (Request("m", " \n\t\u3000 "), ["only blanks", "Type a sentence"]),
        (Request("m", "a" * 5000), ["5,000", "4,096", "Shorten it by 904"]),
        (Request("m", "ab" + "\u0301" * 31), ["31", "30", "after character 2", "Remove"]),
        (Request("m", "a\ud83d b"), ["Character 2", "half", "Delete"]),
        (Request("m", "a", method="sample"), ["sample", "greedy, beam", "Choose"]),
        (Request("m", "a", beam=17), ["17", "1 and 16", "Choose"]),
        (Request("m", "a", beam=0), ["0", "1 and 16", "Choose"]),
        (Request("m", "a", area_size=40), ["40", "1 and 16", "Choose"]),
        (Request("m", "a", seed=-1), ["-1", "0 and 4294967295", "Choose"]),
        (Request("", "a"), ["names no model", "Choose"]),
        (Request("../../etc/passwd", "a"), ["../../etc/passwd", "Choose"]),
    ],
)
def test_refusal_names_limit_value_and_advice(request_: Request, parts: list[str]) -> None:
    with pytest.raises(InputError) as refusal:
        request_.checked()
    for part in parts:
        assert part in str(refusal.value)
    assert_one_sentence(refusal.value)
