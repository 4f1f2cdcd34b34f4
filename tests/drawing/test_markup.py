"""Text never becomes markup: a parser reads every text back unchanged."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from areaviz.draw.labels import (
    Markup,
    escape_controls,
    escape_markup,
    hash_of,
    join_markup,
    make_data_block,
    make_element,
    make_raw_element,
)

PAYLOADS = (
    "</script><script>alert(1)</script>",
    "</style>",
    "<!--",
    "]]>",
    "\" onload='x' `",
    "&lt;b&gt; &amp;amp;",
    "\u202egnip\u202c \u200b\ufeff",
    "\u2028\u2029",
    "\x00\x0b",
    "<b>",
)
TEXTS = st.text(max_size=60) | st.sampled_from(PAYLOADS)


class Reader(HTMLParser):
    """A parser that collects what it finds."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.attributes: dict[str, str | None] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= dict(attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


def read(markup: str) -> Reader:
    reader = Reader()
    reader.feed(markup)
    reader.close()
    return reader


@given(TEXTS, TEXTS)
def test_texts_and_attributes_are_read_back(text: str, attribute: str) -> None:
    found = read(make_element("p", text, title=attribute))
    assert (found.tags, found.text, found.attributes) == (
        ["p"],
        escape_controls(text),
        {"title": escape_controls(attribute)},
    )


def test_markup_stays_and_names_become_html() -> None:
    assert make_element("p", Markup("<b>a</b>"), "<", class_="x", data_site="y") == (
        '<p class="x" data-site="y"><b>a</b>&lt;</p>'
    )
    assert make_element("meta", name="viewport") == '<meta name="viewport">'
    assert join_markup(["<", Markup("<i></i>")]) == "&lt;<i></i>" and isinstance(
        escape_markup("a"), Markup
    )


@given(
    st.recursive(
        TEXTS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3)
    )
)
def test_data_ends_no_script_and_is_read_back(content: object) -> None:
    block = make_data_block(content, id="given")
    inside = block.removeprefix('<script type="application/json" id="given">').removesuffix(
        "</script>"
    )
    assert "<" not in inside and inside.isascii() and json.loads(inside) == content


@pytest.mark.parametrize("content", ["a</ScRiPt >", "<!-- a", "a\rb", "a\0"])
def test_script_with_early_end_is_refused(content: str) -> None:
    with pytest.raises(ValueError, match="must not contain its end"):
        make_raw_element("script", content)


def test_script_hash_follows_the_standard() -> None:
    # https://www.w3.org/TR/CSP3/ has this pair in its example of inline scripts.
    assert (
        hash_of("alert('Hello, world.');")
        == "'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='"
    )
