"""Texts of users stay texts: no markup, nothing hidden."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from areaviz.app.texts import escape_markdown, shorten_line
from areaviz.draw.labels import escape_controls


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\u202eb", "a⟨U+202E⟩b"),
        ("zero\u200bwidth", "zero⟨U+200B⟩width"),
        ("\x00", "⟨U+0000⟩"),
        ("👩\u200d👧", "👩\u200d👧"),
        ("a\u200db", "a⟨U+200D⟩b"),
        ("שלום é e\u0301 日本", "שלום é e\u0301 日本"),
        ("line\nbreak\ttab", "line\nbreak\ttab"),
    ],
)
def test_invisible_characters_are_named_and_rest_is_kept(text: str, shown: str) -> None:
    assert escape_controls(text) == shown


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126) | st.just(" "), max_size=40))
def test_escaped_text_reads_as_itself_in_markdown(text: str) -> None:
    line = " ".join(text.split())
    tokens = MarkdownIt().parse(escape_markdown(text))
    inline = [child for token in tokens for child in token.children or ()]
    assert all(child.type in ("text", "text_special") for child in inline)
    assert "".join(child.content for child in inline) == line


@given(st.text(max_size=80), st.integers(2, 20))
def test_shortened_text_is_one_line_of_at_most_the_limit(text: str, limit: int) -> None:
    short = shorten_line(text, limit)
    line = " ".join(text.split())
    assert len(short) <= limit and "\n" not in short
    assert (
        short == line if len(line) <= limit else short.endswith("…") and line.startswith(short[:-1])
    )
