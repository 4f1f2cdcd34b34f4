"""A focus is adapted to its trace, chosen by widgets, and shared where it means the same thing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from areaviz.app.components import Selection
from areaviz.app.focus import (
    apply_click,
    describe_supervision,
    fit_selection,
    fit_to_other_trace,
    follow_click,
    get_layer_format,
    has_equal_selections,
    has_same_items,
    list_heads,
)
from areaviz.app.page import ALL_HEADS, State
from areaviz.cards.card import Opening
from areaviz.draw.select import list_sites, name_site
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus, Picture
from tests import fakes
from tests.pages import folder
from tests.trace.test_clip import clip_trace

MAIN = fakes.trace("A dog.", "Ein Hund.")
OTHER = fakes.trace("A dog.", "Hund!", layers=1, heads=2)


def described() -> Trace:
    """Return the trace of a translator with pictures that gets only a picture."""
    both = fakes.doubly_trace()
    sites = ("encoder-decoder picture", "decoder self")
    fields = {name: field for name, field in both.fields.items() if name != "source"}
    return replace(both, fields=fields, maps={site: both.maps[site] for site in sites})


@pytest.mark.parametrize(
    ("focus", "expected"),
    [
        (
            Focus("encoder-decoder", 1, 3, items=(0, 9)),
            Focus("encoder-decoder", 1, 3, items=(0, 9)),
        ),
        (
            Focus("encoder-decoder", 5, 9, items=(0, 10)),
            Focus("encoder-decoder", 1, None, items=(0,)),
        ),
        (
            Focus("encoder-decoder", 0, 0, "memory", (6, 7)),
            Focus("encoder-decoder", 0, 0, "memory", (6,)),
        ),
    ],
)
def test_missing_parts_are_removed_from_the_focus(focus: Focus, expected: Focus) -> None:
    assert fit_selection(MAIN, focus) == expected


def test_items_are_shared_by_equal_texts() -> None:
    source = Focus("encoder-decoder", 1, 3, "memory", (2,))
    target = Focus("encoder-decoder", 1, 3, "query", (2,))
    assert has_same_items(MAIN, OTHER, source) and not has_same_items(MAIN, OTHER, target)
    assert fit_to_other_trace(MAIN, OTHER, source) == Focus(
        "encoder-decoder", 0, None, "memory", (2,)
    )
    assert fit_to_other_trace(MAIN, OTHER, target) == Focus("encoder-decoder", 0, None, "query", ())
    assert fit_to_other_trace(MAIN, MAIN, target) == target


def test_lock_applies_to_letters_of_common_words() -> None:
    other = fakes.trace("A dog.", "Der Hund bellt.")
    main = fakes.trace("A dog.", "Ein Hund rennt.")
    hund = Focus("encoder-decoder", 0, None, "query", (4, 5, 6, 7))
    assert fit_to_other_trace(main, other, hund).items == (4, 5, 6, 7)
    last = replace(hund, items=(7, 8))
    assert fit_to_other_trace(main, other, last).items == (7,)
    assert fit_to_other_trace(main, other, replace(hund, items=(9, 10))).items == ()
    asked = fit_to_other_trace(main, other, replace(hund, items=()))
    back = follow_click(main, other, replace(hund, items=()), asked, replace(asked, items=(5,)))
    assert back == replace(hund, items=(5,))
    assert follow_click(main, other, hund, fit_to_other_trace(main, other, hund), asked).items == ()


def test_alike_needs_equal_items_or_no_items() -> None:
    other, main = fakes.trace("A dog.", "Der Hund."), fakes.trace("A dog.", "Ein Hund.")
    hund, ein = (Focus("encoder-decoder", items=items) for items in ((4,), (0,)))
    assert has_equal_selections((main, other), (hund, fit_to_other_trace(main, other, hund)))
    assert not has_equal_selections((main, other), (ein, fit_to_other_trace(main, other, ein)))
    assert not has_equal_selections((main, other), (hund, replace(hund, items=(0,))))
    nothing = replace(ein, items=())
    assert has_equal_selections((main, other), (nothing, nothing)) and has_equal_selections(
        (main,), (hund,)
    )
    assert not has_equal_selections((main, other), (nothing, ein))


def test_items_of_different_units_or_pictures_differ() -> None:
    source = Focus("encoder-decoder", 0, None, "memory", (2,))
    field = MAIN.fields["source"]
    coarse = replace(field, labels=(field.raw,), anchors=np.array([[0, len(field.raw)]]))
    assert not has_same_items(MAIN, replace(MAIN, fields={**MAIN.fields, "source": coarse}), source)
    looked = fakes.doubly_trace()
    assert looked.request.picture is not None
    cells = Focus("encoder-decoder picture", 0, None, "memory", (1,))
    dark = Picture.of("dark", np.zeros_like(looked.request.picture.pixels))
    assert has_same_items(looked, looked, cells)
    assert not has_same_items(
        looked, replace(looked, request=replace(looked.request, picture=dark)), cells
    )


def test_click_in_unrelated_text_changes_only_the_head() -> None:
    focus = Focus("encoder-decoder", 1, 3, "query", (2,))
    asked = fit_to_other_trace(MAIN, OTHER, focus)
    assert follow_click(MAIN, OTHER, focus, asked, replace(asked, items=(1,))) == focus
    assert follow_click(MAIN, OTHER, focus, asked, replace(asked, head=1)) == replace(focus, head=1)
    source = replace(asked, side="memory", items=(3,))
    assert follow_click(MAIN, OTHER, focus, asked, source) == source
    assert (
        follow_click(MAIN, OTHER, focus, asked, replace(asked, site="encoder self", items=(1,)))
        == focus
    )


def test_click_changes_only_the_ribbon_text() -> None:
    asked = Focus("encoder self", 1, 2, "query", (3,), "word")
    assert apply_click(Selection("query", (), 2, "word"), asked) == Focus(
        "encoder self", 1, 2, "query", (), "word"
    )
    assert apply_click(Selection("memory", (1, 2), None, "item"), asked) == Focus(
        "encoder self", 1, None, "memory", (1, 2)
    )
    assert apply_click(Selection.from_focus(asked), asked) == asked


def test_choices_begin_with_cross_attention_and_all_heads() -> None:
    assert list_sites(MAIN)[0] == "encoder-decoder" and set(list_sites(MAIN)) == set(MAIN.maps)
    assert list_heads(OTHER, "encoder self") == [-1, 0, 1]


@pytest.mark.parametrize(
    ("trace", "expected"),
    [
        (MAIN, ["Translation to source", "Within the source", "Within the translation"]),
        (fakes.caption_trace(), ["Words to picture", "Within the sentence", "Within the picture"]),
        (
            fakes.doubly_trace(),
            [
                "Translation to picture",
                "Translation to source",
                "Within the source",
                "Within the translation",
            ],
        ),
        (described(), ["Words to picture", "Within the sentence"]),
        (fakes.gaze_trace(), ["Glimpses"]),
    ],
    ids=["translation", "caption", "both", "picture alone", "glimpses"],
)
def test_site_names_state_both_fields(trace: Trace, expected: list[str]) -> None:
    assert [name_site(trace, site) for site in list_sites(trace)] == expected


def test_attended_items_are_named_by_kind() -> None:
    assert name_site(fakes.sound_trace(), "encoder-decoder") == "Output to sound"
    assert name_site(clip_trace(), "encoder-decoder") == "Words to frames"


def pickers() -> None:
    from dataclasses import replace

    import numpy as np
    import streamlit as st

    from areaviz.app.focus import draw_focus_picker, get_current_focus
    from areaviz.app.page import Page, State
    from tests import fakes

    trace = fakes.trace("ab", "c", 1, 1, 1)
    one = trace.maps["encoder-decoder"]
    weights = np.broadcast_to(one.weights, (*st.session_state["sides"], *one.weights.shape[2:]))
    trace = replace(trace, maps={one.site: replace(one, weights=weights)})
    page = Page("translate", "", State())
    focus = get_current_focus(page, trace)
    draw_focus_picker(page, trace, focus.site)
    st.text(f"layer {focus.layer}, head {focus.head}")


@pytest.mark.parametrize(
    ("layers", "heads", "lists"), [(2, 4, 0), (32, 31, 0), (33, 31, 1), (500, 500, 2)]
)
def test_many_layers_and_heads_are_lists(layers: int, heads: int, lists: int) -> None:
    app = AppTest.from_function(pickers)
    app.session_state["sides"] = (layers, heads)
    app = app.run()
    assert not app.exception and len(app.selectbox) == lists
    if lists == 2:
        app = (
            app.selectbox(key="translate_layer")
            .set_value(400)
            .run()
            .selectbox(key="translate_head")
            .set_value(7)
            .run()
        )
        assert not app.exception and app.text[0].value == "layer 400, head 7"


def test_page_opens_at_card_default_and_keeps_later_choice() -> None:
    card = {
        "encoder-decoder": Opening("densest", 1, 2),
        "encoder self": Opening("coverage", 0, None),
    }
    state = State(opening=card)
    opened = state.at_site("encoder-decoder")
    assert (opened.layer, opened.head, opened.locked.reading) == (1, 2, "densest")
    chosen = replace(opened, layer=0, head=3)
    assert chosen.at_site("encoder-decoder") == chosen
    other = chosen.at_site("encoder self")
    assert (other.layer, other.head, other.locked.reading) == (0, ALL_HEADS, "coverage")
    assert state.at_site("decoder self") == state


def test_link_overrides_card_defaults() -> None:
    state = State(opening={"encoder-decoder": Opening("densest", 1, 2)})
    linked = state.with_focus(Focus("encoder-decoder", 0, 1))
    assert linked.at_site("encoder-decoder") == linked
    assert linked.with_focus(None).at_site("encoder-decoder").layer == 1


def test_layer_names_state_attended_items() -> None:
    trace = fakes.trace(layers=3)
    one = trace.maps["encoder-decoder"]
    weights = np.array(one.weights)
    weights[2, ..., one.grid.items :] = 0
    mixed = replace(trace, maps={one.site: replace(one, weights=weights)})
    names = [get_layer_format(mixed, one.site)(layer) for layer in range(3)]
    assert names == ["1 · areas", "2 · areas", "3 · characters"]
    assert get_layer_format(trace, one.site)(0) == "1"


def test_describe_supervision_names_head_only_in_its_layer() -> None:
    plain = folder.card("a", "area")
    told = replace(plain, recipe={"told": 0.1, "told_head": [1, 0]})
    assert describe_supervision(told, "encoder-decoder", 1).startswith("Head 1 was **told")
    assert (
        describe_supervision(told, "encoder-decoder", 0)
        == describe_supervision(told, "encoder self", 1)
        == ""
    )
    assert (
        describe_supervision(plain, "encoder-decoder", 1) == describe_supervision(None, "", 0) == ""
    )
