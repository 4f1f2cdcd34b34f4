"""Words and cells that a word attends to, compared with shares computed one by one."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from matplotlib.text import Text

from areaviz.draw.view import EXPORT_FORMATS, encode_figure
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.views.text_and_picture import (
    MAX_PANELS,
    MAX_SOURCE_WORDS,
    compute_curve,
    lay_out_panels,
    make_source_links,
)
from areaviz.views.views import VIEWS
from tests import fakes

VIEW = VIEWS["both"]
SITES = ("encoder-decoder", "encoder-decoder picture")
SENTENCE = (
    "ein orangefarbener Buchstabe steht links von einer kleinen grünen Raute über zwei Sternen ."
)
SOURCE = "an orange letter stands left of a small green rhombus above two stars ."


@pytest.fixture(scope="module")
def trace() -> Trace:
    return fakes.doubly_trace()


def pointed(words: np.ndarray, cells: np.ndarray) -> Trace:
    """Return a trace whose heads all have these weights: words [Q, N], cells [Q, 16]."""
    trace = fakes.doubly_trace()
    maps = dict(trace.maps)
    for site, rows in zip(SITES, (words, cells), strict=True):
        weights = np.broadcast_to(rows.astype(np.float32), (2, 4, *rows.shape)).copy()
        maps[site] = replace(maps[site], weights=weights)
    return replace(trace, maps=maps)


def test_panel_has_the_shares_of_its_word() -> None:
    words, cells = np.full((4, 4), 0.25), np.full((4, 16), 1 / 16)
    words[1], cells[1] = [0.05, 0.7, 0.25, 0], np.eye(16)[6]
    drawn = lay_out_panels(pointed(words, cells), Focus("encoder-decoder", items=(1,)))
    (panel,) = drawn.panels
    assert [(tie.label, tie.first) for tie in panel.ties] == [
        ("a", 0),
        ("?", 1),
        ("star", 2),
        ("⟨end⟩", 3),
    ]
    np.testing.assert_allclose([tie.share for tie in panel.ties], words[1], atol=1e-6)
    assert [tie.text for tie in panel.ties] == ["a", "? 70%", "star 25%", "⟨end⟩"]
    np.testing.assert_allclose(panel.frame.shares.ravel(), cells[1], atol=1e-6)
    assert panel.frame.label == "roter" and panel.frame.light.max() == pytest.approx(1)


def test_line_width_follows_its_share(trace: Trace) -> None:
    focus = Focus("encoder-decoder", 1, 2, "query", (2,))
    shares = trace.maps["encoder-decoder"].weights[
        1, 2, 2
    ]  # areas of one item, so a weight is a share
    lines = [one for one in VIEW.figure(trace, focus).data if one.mode == "lines" and one.text]
    widths = [line.line.width for line in lines]
    np.testing.assert_allclose(widths, 14 * shares, atol=0.006)


def test_both_sides_average_heads_by_default(trace: Trace) -> None:
    panel = lay_out_panels(trace, Focus("encoder-decoder", 0, None, "query", (0,))).panels[0]
    text, picture = (trace.maps[site].weights[0, :, 0].mean(0) for site in SITES)
    np.testing.assert_allclose(panel.shares, text, rtol=1e-5)
    np.testing.assert_allclose(panel.frame.shares.ravel(), picture, rtol=1e-5)


@pytest.mark.parametrize("items", [(), (0, 2)])
def test_both_sites_give_equal_panels(trace: Trace, items: tuple[int, ...]) -> None:
    first, second = (VIEW.table(trace, Focus(site, 1, items=items)) for site in SITES)
    assert first == second and {row[1] for row in first.rows} == (
        {"ein", "Stern"} if items else {"ein", "roter", "Stern"}
    )


def test_memory_items_choose_no_words(trace: Trace) -> None:
    for site in SITES:
        assert len(lay_out_panels(trace, Focus(site, side="memory", items=(3,))).panels) == 3


def test_long_words_are_drawn_first_with_a_note() -> None:
    trace = fakes.doubly_trace(SOURCE, SENTENCE)
    drawn = lay_out_panels(trace, Focus("encoder-decoder"))
    labels = [panel.frame.label for panel in drawn.panels]
    assert labels == ["orangefarbener", "Buchstabe", "steht", "links", "einer", "kleinen"]
    assert drawn.note.endswith("; 8 words left out, short ones first")
    focused = lay_out_panels(trace, Focus("encoder-decoder", items=tuple(range(7))))
    assert [panel.frame.label for panel in focused.panels] == SENTENCE.split()[:MAX_PANELS]
    assert focused.note.endswith("; 1 word left out")


def test_punctuation_is_drawn_only_on_request() -> None:
    trace = fakes.doubly_trace(target="Sterne .")
    assert [
        panel.frame.label for panel in lay_out_panels(trace, Focus("encoder-decoder")).panels
    ] == ["Sterne"]
    assert lay_out_panels(trace, Focus("encoder-decoder", items=(1,))).panels[0].frame.label == "."


@given(arrays(np.float64, st.integers(1, 30), elements=st.floats(0.001, 1)))
def test_links_contain_all_attention_in_source_order(values: np.ndarray) -> None:
    shares = (values / values.sum()).astype(np.float32)
    named = [(item, str(item)) for item in range(len(shares))]
    found = make_source_links(shares, named)
    assert len(found) == min(len(shares), MAX_SOURCE_WORDS)
    assert sum(tie.share for tie in found) == pytest.approx(1, abs=1e-5)
    own = [tie for tie in found if not tie.rest]
    assert [tie.first for tie in own] == sorted(tie.first for tie in own)
    left = set(range(len(shares))) - {tie.first for tie in own}
    assert max((shares[item] for item in left), default=0) <= min(tie.share for tie in own)
    assert max(own, key=lambda tie: tie.share).strong and all(
        tie.strong for tie in own if tie.share > 0.1
    )


def test_word_without_attention_has_no_share() -> None:
    assert not any(
        tie.strong or tie.share
        for tie in make_source_links(np.zeros(20, np.float32), [(n, "a") for n in range(20)])
    )


def test_letters_join_to_words_on_both_sides() -> None:
    letters, doubly = fakes.trace("a star", "ein Stern"), fakes.doubly_trace(target="a" * 8)
    seen = doubly.maps[SITES[1]]
    weights = np.random.default_rng(0).dirichlet(np.ones(16), (2, 4, 10)).astype(np.float32)
    maps = {
        SITES[0]: letters.maps[SITES[0]],
        SITES[1]: replace(seen, weights=weights, strength=None),
    }
    fields = {**letters.fields, "picture": doubly.fields["picture"]}
    trace = replace(letters, request=doubly.request, fields=fields, maps=maps)
    drawn = lay_out_panels(trace, Focus(SITES[0], items=(5,), unit="word"))
    assert [panel.frame.label for panel in drawn.panels] == ["Stern"]
    assert [label for _, label in drawn.sources] == ["a", "star", "⟨end⟩"]
    assert drawn.panels[0].shares.sum() == pytest.approx(1, abs=1e-5)
    np.testing.assert_allclose(
        drawn.panels[0].frame.shares.ravel(), weights[0, :, 4:9].mean((0, 1)), rtol=1e-4
    )


def test_table_has_all_shares_of_drawn_words() -> None:
    trace = fakes.doubly_trace(SOURCE, SENTENCE)
    table = VIEW.table(trace, Focus("encoder-decoder", 1, 3, "query", (1,)))
    words, cells = ([row for row in table.rows if row[2] == side] for side in ("text", "picture"))
    assert len(words) == len(SOURCE.split()) + 1 and len(cells) == 16
    for rows, site in zip((words, cells), SITES, strict=True):
        np.testing.assert_allclose(
            [float(row[-1]) for row in rows], trace.maps[site].weights[1, 3, 1], rtol=1e-4
        )
    assert words[2][:5] == (2, "orangefarbener", "text", 3, "letter")


def test_caption_names_both_sites_and_the_scale(trace: Trace) -> None:
    told = VIEW.figure(trace, Focus(SITES[1], 1, 2)).layout.meta["caption"]
    for part in (
        "captioner, greedy · encoder-decoder, layer 2 of 2, head 3 of 4",
        "· encoder-decoder picture, layer 2",
    ):
        assert part in told
    assert "40% without attention, full in each word" in told


@pytest.mark.parametrize("words", [1, 2, 3, 6])
def test_panels_never_overlap_and_contain_source_words(words: int) -> None:
    trace = fakes.doubly_trace(SOURCE, SENTENCE)
    places = lay_out_panels(trace, Focus("encoder-decoder", items=tuple(range(words)))).panels
    assert all(
        one.top + one.height < other.top for one, other in zip(places, places[1:], strict=False)
    )
    for place in places:
        rows = [y for _, y in place.places()]
        assert place.top <= rows[0] and rows[-1] <= place.top + place.height
        assert (
            len(rows) == 12
            and np.diff(rows).min() >= 14
            and np.mean(rows) == pytest.approx(place.middle)
        )


def test_line_connects_word_and_source_word() -> None:
    x, y = compute_curve(50, 90)
    assert (y[0], y[-1]) == (50, 90) and (np.diff(x) > 0).all() and (np.diff(y) >= 0).all()


@pytest.mark.parametrize("kind", EXPORT_FORMATS)
def test_both_view_is_printed(kind: str) -> None:
    assert (
        len(
            encode_figure(
                VIEW.print(fakes.doubly_trace(SOURCE, SENTENCE, 14), Focus(SITES[1])), kind
            )
        )
        > 1000
    )


def test_input_words_have_no_probability(trace: Trace) -> None:
    read = replace(trace, output=replace(trace.output, field="source"))
    assert "probability" not in VIEW.figure(read, Focus(SITES[0])).to_json()


def test_long_sentence_stays_small() -> None:
    trace = fakes.doubly_trace(" ".join(["word"] * 60), " ".join(["Wort"] * 60), 14, 1, 2)
    assert len(VIEW.figure(trace, Focus("encoder-decoder")).to_json()) < 1_000_000


def test_labels_stay_text(trace: Trace) -> None:
    hostile = ("<b>x</b>", "$5$ $6$", "\u202e", "\ud800")
    fields = {name: replace(trace.fields[name], labels=hostile) for name in ("source", "target")}
    trace = replace(trace, fields={**trace.fields, **fields})
    focus = Focus("encoder-decoder", items=(0, 1, 2, 3))
    spec = json.dumps(json.loads(VIEW.figure(trace, focus).to_json()), ensure_ascii=False)
    assert [active for active in ("<b>", "$", "\u202e") if active in spec] == []
    printed = VIEW.print(trace, focus)
    assert not any(text.get_parse_math() for text in printed.findobj(Text))
    assert encode_figure(printed, "svg").startswith(b"<?xml")


def test_view_fits_only_translation_with_picture(trace: Trace) -> None:
    assert all(VIEW.fits(trace, Focus(site, 1, 3, items=(3,))) for site in SITES)
    assert not any(
        VIEW.fits(trace, Focus(site)) for site in ("encoder self", "decoder self", "no such site")
    )
    assert not VIEW.fits(trace, Focus(SITES[0], items=(4,))) and not VIEW.fits(
        trace, Focus(SITES[1], 2)
    )
    assert not VIEW.fits(fakes.trace(), Focus(SITES[0])) and not VIEW.fits(
        fakes.caption_trace(), Focus(SITES[0])
    )
    alone = {site: attention for site, attention in trace.maps.items() if site != SITES[0]}
    assert not VIEW.fits(replace(trace, maps=alone), Focus(SITES[1]))


@pytest.mark.parametrize("site", [*SITES, "encoder self", "decoder self"])
@pytest.mark.parametrize("items", [(), (1, 2)])
def test_every_fitting_view_draws_translation_with_picture(
    trace: Trace, site: str, items: tuple[int, ...]
) -> None:
    focus = Focus(site, 1, items=items)
    fitting = {name for name, view in VIEWS.items() if view.fits(trace, focus)}
    texts = {"pyramid", "coverage", "alignment", "lines"}
    own = {SITES[0]: {"both", "balance"} | texts, SITES[1]: {"both", "balance", "film", "playback"}}
    assert fitting == own.get(site, texts) | {"overview", "probabilities"}
    for name in fitting:
        assert "captioner" in VIEWS[name].figure(trace, focus).layout.meta["caption"]
        assert VIEWS[name].table(trace, focus).rows and VIEWS[name].print(trace, focus).axes
