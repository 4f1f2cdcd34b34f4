import json
from dataclasses import replace
from typing import Any

import matplotlib.text
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from areaviz.draw.theme import HEAD_COLOURS
from areaviz.trace.areas import AreaGrid, rank_areas
from areaviz.trace.changes import Hide
from areaviz.trace.query import coverage, find_words
from areaviz.trace.record import AttentionMap, Trace
from areaviz.trace.request import Focus
from areaviz.views.message import (
    OPENS_AT,
    choose_first_item,
    quantise,
    serialise_payload,
    shrink_integers,
)
from areaviz.views.ribbon.print import draw_ribbon
from areaviz.views.ribbon.ribbon import find_top_queries, make_ribbon_payload
from areaviz.views.ribbon.table import join_items, tabulate_ribbon
from tests import fakes

FOCUS = Focus("encoder-decoder")


def unpacked(message: bytes) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    size = int.from_bytes(message[:4], "little")
    header = json.loads(message[4 : 4 + size])
    body = message[4 + size :]
    kinds = {1: "<u1", 2: "<u2", 4: "<u4"}
    places = header["arrays"].items()
    return header, {
        name: np.frombuffer(body, kinds[width], count, at) for name, (width, at, count) in places
    }


def random_map(items: int, queries: int, area_size: int, seed: int, heads: int = 2) -> AttentionMap:
    memory, query = (
        fakes.text_field("source", "x" * (items - 1)),
        fakes.text_field("target", "y" * (queries - 1)),
    )
    return fakes.attention_map("encoder-decoder", query, memory, 1, heads, area_size, seed)


@given(st.integers(1, 20), st.integers(1, 80), st.integers(1, 6), st.integers(0, 99))
def test_top_queries_have_largest_coverage_per_item(
    items: int, queries: int, area_size: int, seed: int
) -> None:
    attention = random_map(items, queries, area_size, seed)
    best, rest_HN = find_top_queries(attention.weights[0], attention.grid, 3)
    for head in range(attention.heads):
        expected_NQ = coverage(attention, 0, head).T
        largest_NK = -np.sort(-expected_NQ, axis=1)[:, :3]
        np.testing.assert_allclose(
            best.weight[head, :, : largest_NK.shape[1]], largest_NK, atol=1e-6
        )
        picked = np.take_along_axis(expected_NQ, best.index[head], 1)
        np.testing.assert_allclose(
            picked[best.weight[head] > 0], best.weight[head][best.weight[head] > 0], atol=1e-6
        )
        np.testing.assert_allclose(
            rest_HN[head] + best.weight[head].sum(-1), expected_NQ.sum(1), atol=1e-5
        )


def test_spans_of_a_picture_are_refused() -> None:
    with pytest.raises(ValueError, match="one row"):
        make_ribbon_payload(fakes.caption_trace(), FOCUS)


@pytest.mark.parametrize("dtype, tolerance", [(np.uint8, 0.004), (np.uint16, 2e-5)])
def test_weights_survive_quantising(dtype: type[np.unsignedinteger[Any]], tolerance: float) -> None:
    values = np.linspace(0, 1, 501, dtype=np.float32)
    back = (quantise(values, dtype) / np.iinfo(dtype).max) ** 2
    assert np.abs(back - values).max() <= tolerance


def test_numbers_use_the_fewest_bytes() -> None:
    assert shrink_integers(np.array([65535]), 65535).dtype == np.uint16
    assert shrink_integers(np.array([65536]), 65536).dtype == np.uint32


def test_message_names_the_words_that_a_change_hides() -> None:
    trace = fakes.trace()
    changes = (Hide("source", (3, 1)), Hide("source", (5,)))
    hidden = replace(trace, request=replace(trace.request, changes=changes))
    output, source = make_ribbon_payload(hidden, FOCUS)["header"]["fields"]
    assert source["hidden"] == [1, 3, 5] and "hidden" not in output
    assert "hidden" not in make_ribbon_payload(trace, FOCUS)["header"]["fields"][1]


@pytest.mark.parametrize(("named", "is_used"), [("2", True), ("999", False), ("x", False)])
def test_message_opens_with_the_item_that_the_trace_names(named: str, is_used: bool) -> None:
    trace = fakes.trace()
    first = make_ribbon_payload(trace, FOCUS)["header"]["lit"]["items"]
    details = {**trace.details, OPENS_AT: named}
    items = make_ribbon_payload(replace(trace, details=details), FOCUS)["header"]["lit"]["items"]
    assert list(items) == ([2] if is_used else list(first)) and list(first) != [2]


def test_message_contains_data_for_the_browser() -> None:
    trace = fakes.trace()
    header, arrays = unpacked(serialise_payload(make_ribbon_payload(trace, FOCUS), link="pair"))
    attention = trace.maps["encoder-decoder"]
    found = rank_areas(attention.weights[0], attention.grid, 4)
    index, weight = found.index, found.weight
    sent = arrays["area"].reshape(*index.shape[:2], -1)
    np.testing.assert_array_equal(sent[..., :4][weight > 0], index[weight > 0])
    stored = (arrays["area_weight"].reshape(sent.shape) / 65535) ** 2
    np.testing.assert_allclose(stored[..., :4], weight, atol=2e-5)
    rest = (arrays["area_rest"].reshape(index.shape[:2]) / 65535) ** 2
    np.testing.assert_allclose(stored.sum(-1) + rest, 1, atol=2e-3)
    several = (arrays["several_weight"].reshape(sent.shape) / 65535) ** 2
    rest = (arrays["several_rest"].reshape(index.shape[:2]) / 65535) ** 2
    larger = attention.weights[0][..., attention.grid.sizes() > 1].sum(-1)
    np.testing.assert_allclose(several.sum(-1) + rest, larger, atol=2e-3)
    lit = choose_first_item(attention, 0, trace.fields["target"])
    assert header["lit"] == {"many": 4, "listed": 4, "overlap": 0.5, "items": list(lit)}
    assert header["written"] is True and len(lit) == 1
    unsure = np.flatnonzero(trace.output.probabilities < 0.5).tolist()
    assert header["fields"][0]["unsure"] == unsure and "unsure" not in header["fields"][1]
    assert [field["raw"] for field in header["fields"]] == [
        trace.fields[name].raw for name in ("target", "source")
    ]
    assert header["fields"][1]["labels"] == {str(len(fakes.SENTENCE)): "⟨end⟩"}
    np.testing.assert_array_equal(arrays["f1.start"], trace.fields["source"].anchors[:, 0])
    np.testing.assert_array_equal(
        arrays["f1.word"], [start for start, _ in find_words(trace.fields["source"])]
    )
    assert (header["query"], header["memory"], header["link"]) == (0, 1, "pair")
    assert all(offset % 8 == 0 for _, offset, _ in header["arrays"].values())
    assert header["colours"] == list(HEAD_COLOURS)


def test_self_attending_text_is_sent_once() -> None:
    header, arrays = unpacked(
        serialise_payload(make_ribbon_payload(fakes.trace(), Focus("encoder self")))
    )
    assert len(header["fields"]) == 1 and header["query"] == header["memory"] == 0
    assert "f1.start" not in arrays


def test_caption_has_room_for_the_heads() -> None:
    before, after = make_ribbon_payload(fakes.trace(), replace(FOCUS, layer=1, head=2))["header"][
        "caption"
    ]
    assert before.endswith("layer 2 of 2, ") and after.startswith(" · softmax over areas")


def test_data_depends_only_on_layer_and_weights() -> None:
    trace = fakes.trace()
    identity = make_ribbon_payload(trace, FOCUS)["header"]["id"]
    chosen = replace(FOCUS, head=1, items=(3,), side="memory", unit="word")
    assert make_ribbon_payload(trace, chosen)["header"]["id"] == identity
    assert make_ribbon_payload(trace, replace(FOCUS, layer=1))["header"]["id"] != identity


def test_lone_surrogate_stays_one_character() -> None:
    trace = fakes.trace(source="a\ud800b")
    header, _ = unpacked(serialise_payload(make_ribbon_payload(trace, FOCUS)))
    assert len(header["fields"][1]["raw"]) == 3


def test_long_text_stays_below_a_megabyte() -> None:
    grid = AreaGrid(1, 4096, 1, 5)
    arrays = {
        "area": shrink_integers(np.zeros((12, 4096, 3), np.int64), grid.count),
        "area_weight": quantise(np.zeros((12, 4096, 3), np.float32), np.uint8),
        "several": shrink_integers(np.zeros((12, 4096, 1), np.int64), grid.count),
        "several_weight": quantise(np.zeros((12, 4096, 1), np.float32), np.uint8),
        "query": shrink_integers(np.zeros((12, 4096, 2), np.int64), 4096),
        "query_weight": quantise(np.zeros((12, 4096, 2), np.float32), np.uint8),
    }
    assert sum(values.nbytes for values in arrays.values()) < 900_000


def test_many_queries_are_sent_with_fewer_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("areaviz.views.ribbon.ribbon.ROOMY", 10)
    payload = make_ribbon_payload(fakes.trace(), FOCUS)
    assert payload["arrays"]["area_weight"].dtype == np.uint8
    assert payload["header"]["keep"] == {"area": 3, "several": 1, "query": 2}
    assert all(
        payload["arrays"][name].shape[-1] == kept
        for name, kept in payload["header"]["keep"].items()
    )


def test_table_lists_spans_of_all_heads() -> None:
    trace = fakes.trace()
    table = tabulate_ribbon(trace, replace(FOCUS, items=(4,)))
    assert table.columns == ("query", "head", "span", "start", "length", "weight")
    attention = trace.maps["encoder-decoder"]
    top = np.unravel_index(attention.weights[0, :, 4].argmax(), attention.weights[0, :, 4].shape)
    area = attention.grid.area(int(top[1]))
    rows = [row for row in table.rows if row[1] == int(top[0]) + 1]
    assert rows[0][0] == "k" and rows[0][3:5] == (area.left + 1, area.width)
    assert rows[0][2].replace(" ⟨end⟩", "") == fakes.SENTENCE[area.left : area.left + area.width]
    assert rows[0][5] == pytest.approx(attention.weights[0, :, 4].max(), abs=1e-4)


def test_table_may_omit_single_items() -> None:
    several = replace(FOCUS, items=(4,), areas="several")
    assert all(int(row[4]) > 1 for row in tabulate_ribbon(fakes.trace(), several).rows)
    assert tabulate_ribbon(fakes.trace(area_size=1), several) == tabulate_ribbon(
        fakes.trace(area_size=1), replace(FOCUS, items=(4,))
    )


def slow_word_spans(trace: Trace, head: int, items: list[int]) -> list[tuple[int, int, float]]:
    """Return the heaviest four areas, widened to whole words, that overlap by at most half."""
    attention, memory = trace.maps["encoder-decoder"], trace.fields["source"]
    totals: dict[tuple[int, int], float] = {}
    for index in range(attention.grid.count):
        area = attention.grid.area(index)
        runs = [
            run
            for run in find_words(memory)
            if run[0] < area.left + area.width and area.left < run[1]
        ]
        key = runs[0][0], runs[-1][1]
        totals[key] = totals.get(key, 0) + float(attention.weights[0, head, items, index].mean())
    found: list[tuple[int, int, float]] = []
    for (start, end), weight in sorted(totals.items(), key=lambda pair: -pair[1]):
        here = set(range(start, end))
        others = [set(range(a, a + n)) for a, n, _ in found]
        if len(found) < 4 and all(len(here & other) <= 0.5 * len(here | other) for other in others):
            found.append((start, end - start, weight))
    return found


@pytest.mark.parametrize("head", range(4))
def test_table_of_words_lists_whole_words(head: int) -> None:
    trace = fakes.trace()
    start, end = find_words(trace.fields["target"])[2]
    items = list(range(start, end))
    rows = tabulate_ribbon(trace, replace(FOCUS, items=tuple(items), head=head, unit="word")).rows
    expected = slow_word_spans(trace, head, items)
    assert [row[3:5] for row in rows] == [(first + 1, length) for first, length, _ in expected]
    assert [row[5] for row in rows] == pytest.approx(
        [weight for _, _, weight in expected], abs=1e-4
    )


def test_memory_side_of_words_lists_whole_words() -> None:
    trace = fakes.trace()
    rows = tabulate_ribbon(
        trace, replace(FOCUS, side="memory", items=(2, 3), head=1, unit="word")
    ).rows
    covered_Q = coverage(trace.maps["encoder-decoder"], 0, 1)[:, [2, 3]].mean(1)
    runs = find_words(trace.fields["target"])
    means = [
        (covered_Q[slice(*run)].mean(), join_items(trace.fields["target"], range(*run)))
        for run in runs
    ]
    expected = sorted(means, key=lambda pair: -pair[0])[:4]
    assert [row[0] for row in rows] == [word for _, word in expected]
    assert [row[5] for row in rows] == pytest.approx([mean for mean, _ in expected], abs=1e-4)


def test_several_queries_are_averaged() -> None:
    trace = fakes.trace()
    attention = trace.maps["encoder-decoder"]
    rows = tabulate_ribbon(trace, replace(FOCUS, items=(4, 6), head=0)).rows
    assert rows[0][0] == "k + e"
    assert rows[0][5] == pytest.approx(attention.weights[0, 0, [4, 6]].mean(0).max(), abs=1e-4)


def test_table_without_selection_has_all_queries_or_words() -> None:
    trace = fakes.trace()
    assert (
        len({row[0] for row in tabulate_ribbon(trace, replace(FOCUS, head=0, unit="word")).rows})
        == 6
    )
    assert len(tabulate_ribbon(trace, replace(FOCUS, head=0)).rows) == 4 * len(
        trace.fields["target"]
    )


def test_memory_side_lists_attending_queries() -> None:
    trace = fakes.trace()
    rows = tabulate_ribbon(trace, replace(FOCUS, side="memory", items=(2, 3), head=1)).rows
    covered_Q = coverage(trace.maps["encoder-decoder"], 0, 1)[:, [2, 3]].mean(1)
    assert rows[0][0] == trace.fields["target"].labels[int(covered_Q.argmax())]
    assert rows[0][2:5] == ("sm", 3, 2)
    assert [row[5] for row in rows] == pytest.approx(sorted(covered_Q, reverse=True)[:4], abs=1e-4)


@pytest.mark.parametrize(
    "focus",
    [
        FOCUS,
        replace(FOCUS, items=(4, 5)),
        replace(FOCUS, side="memory", items=(3,), head=1),
        Focus("decoder self"),
    ],
)
def test_print_shows_text_bands_and_caption(focus: Focus) -> None:
    trace = fakes.trace(source="A $small$ dog runs.")
    figure = draw_ribbon(trace, focus)
    texts = [text.get_text() for text in figure.findobj(matplotlib.text.Text)]
    assert any("encoder-decoder" in text or "decoder self" in text for text in texts)
    heads = 4 if focus.head is None else 1
    assert len([text for text in texts if text.startswith("head ")]) == heads
    assert len(figure.axes[0].patches) > heads
    attention = trace.maps[focus.site]
    for name in (attention.query, attention.memory):
        printed = "".join(texts)
        assert all(label.strip() in printed for label in trace.fields[name].labels)
    assert not any(text.get_parse_math() for text in figure.findobj(matplotlib.text.Text))


def test_print_of_long_text_keeps_relevant_lines() -> None:
    trace = fakes.trace(source="many words stand here " * 40, heads=1, layers=1)
    figure = draw_ribbon(trace, replace(FOCUS, items=(0,)))
    notes = [text.get_text() for text in figure.findobj(matplotlib.text.Text)]
    assert any("lines with the heaviest spans" in note.replace("\n", " ") for note in notes)
    assert figure.get_size_inches()[1] < 8
