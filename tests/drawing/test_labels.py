import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from areaviz.draw.labels import (
    choose_ticks,
    escape,
    prepare_for_print,
    prepare_words_for_print,
    replace_undrawable,
    show_invisibles,
)


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        (" ", "␣"),
        ("a b", "a␣b"),
        ("\n", "⏎"),
        ("\u202e", "⟨U+202E⟩"),
        ("\u200b", "⟨ZWSP⟩"),
        ("\x00", "⟨U+0000⟩"),
        ("\ufe0f", "⟨U+FE0F⟩"),
        ("\u0301", "◌\u0301"),
        ("e\u0301", "e\u0301"),
        ("\ud800", "⟨U+D800⟩"),
        ("", ""),
    ],
)
def test_invisible_characters_are_named(label: str, shown: str) -> None:
    assert show_invisibles(label) == shown


@given(st.text(st.characters(codec=None)))
def test_visible_label_is_unchanged(label: str) -> None:
    shown = show_invisibles(label)
    assert not any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zs", "Zl", "Zp") for c in shown)
    assert show_invisibles(shown) == shown
    shown.encode()


def test_markup_and_dollars_are_escaped_for_plotly() -> None:
    assert escape("<b>&$5") == "&lt;b&gt;&amp;&#36;5"
    assert escape("a < b") == "a &lt; b"


def test_characters_missing_from_font_become_code_points() -> None:
    assert prepare_for_print("中a") == "⟨U+4E2D⟩a"
    assert replace_undrawable("two\nlines $x$") == "two\nlines $x$"


def test_few_labels_are_all_drawn() -> None:
    chosen = choose_ticks(["a", "b", "c"], 300, 10)
    assert chosen.positions == (0, 1, 2) and chosen.texts == ("a", "b", "c") and chosen.angle == 0


def test_long_labels_turn_and_too_many_become_positions() -> None:
    assert choose_ticks(["international"] * 20, 400, 10).angle == 45
    chosen = choose_ticks(["a"] * 4096, 400, 10)
    assert chosen.texts[:2] == ("500", "1000") and chosen.positions[0] == 499 and chosen.angle == 0


@given(
    st.lists(st.text("iWm漢⟨x", max_size=9), min_size=1, max_size=120),
    st.floats(30, 900),
    st.booleans(),
)
def test_labels_never_overlap(labels: list[str], room: float, upright: bool) -> None:
    font, pitch = 10.0, room / len(labels)
    chosen = choose_ticks(labels, room, font, upright)
    assert chosen.positions[0] in (0, *range(len(labels)))
    # Narrow characters are at least 0.4 of the font size wide; every sound layout has this space.
    least = 1.3 if upright or chosen.angle else 0.0
    for i in range(len(chosen.positions) - 1):
        apart = (chosen.positions[i + 1] - chosen.positions[i]) * pitch / font
        widths = [
            sum(1.2 if c == "漢" else 0.95 if c in "Wm" else 0.4 for c in chosen.texts[k])
            for k in (i, i + 1)
        ]
        assert apart >= (least or sum(widths) / 2) - 1e-6


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("a red scarf", "a red scarf"),
        (" a", "␣a"),
        ("a  b", "a␣␣b"),
        (" ", "␣"),
        ("中 a", "⟨U+4E2D⟩ a"),
    ],
)
def test_print_marks_unusual_blanks_between_words(label: str, shown: str) -> None:
    assert prepare_words_for_print(label) == shown
