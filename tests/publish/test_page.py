"""A page has every layer of every site once, within its limit, and nothing external."""

from __future__ import annotations

import base64
import json
import re
import zlib
from dataclasses import replace
from html import unescape
from typing import Any

import numpy as np
import pytest

from areaviz.page import content
from areaviz.page.body import describe_confidence, get_given_text, render_output_text
from areaviz.page.content import PageOptions
from areaviz.page.page import make_page
from areaviz.trace.errors import InputError
from areaviz.trace.file import trace_from_bytes, trace_to_bytes
from areaviz.trace.query import top_areas
from areaviz.trace.record import Output, Trace
from areaviz.trace.request import Focus
from areaviz.views.views import KINDS, Message, find_kind
from areaviz.views.why import make_weight_view
from tests import fakes
from tests.drawing.test_markup import read
from tests.trace.test_logits import with_areas
from tests.views.test_weight_explanation import FOCUS, asked, explained

WHY = "Why this weight: "
BLOCK = re.compile(
    r'<script type="text/plain" data-site="([^"]+)" data-layer="(\d+)">([^<]*)</script>'
)
TRACES = {
    "translation": fakes.trace("A dog.", "Hund."),
    "caption": fakes.caption_trace(),
    "hard": fakes.caption_trace(hard=True, area_size=1),
    "doubly": fakes.doubly_trace(),
    "glimpses": fakes.gaze_trace(),
    "transformer": fakes.gaze_trace("transformer", 1, 1),
}


def blind() -> Trace:
    """Return a caption by a model without attention."""
    return replace(fakes.caption_trace(), maps={})


def carried(html: str) -> dict[tuple[str, int], tuple[dict[str, Any], bytes]]:
    """Return the unpacked header and body of every site and layer."""
    found = {}
    for site, layer, data in BLOCK.findall(html):
        message = zlib.decompress(base64.b64decode(data))
        size = int.from_bytes(message[:4], "little")
        found[site, int(layer)] = json.loads(message[4 : 4 + size]), message[4 + size :]
    return found


def array(header: dict[str, Any], body: bytes, name: str) -> Any:
    width, offset, count = header["arrays"][name]
    return np.frombuffer(body, f"<u{width}", count, offset)


@pytest.mark.parametrize("name", TRACES)
def test_page_has_every_layer_once_or_drawn(name: str) -> None:
    trace = TRACES[name]
    html = make_page(trace)
    wanted = {
        (site, layer)
        for site, one in trace.maps.items()
        if find_kind(trace, site)
        for layer in range(one.layers)
    }
    wanted |= {(site, 0) for site in trace.gazes}
    assert set(carried(html)) == wanted and len(BLOCK.findall(html)) == len(wanted)
    assert ('<img class="figure"' in html) == bool(trace.gazes)
    assert html.count('id="picture"') == (trace.request.picture is not None)


def test_page_contains_top_areas_of_all_heads() -> None:
    trace = TRACES["translation"]
    attention = trace.maps["encoder-decoder"]
    header, body = carried(make_page(trace))["encoder-decoder", 1]
    queries, keep = len(trace.fields["target"]), header["keep"]["area"]
    area_HQK = array(header, body, "area").reshape(4, queries, keep)
    weight_HQK = (array(header, body, "area_weight").reshape(area_HQK.shape) / 65535) ** 2
    for head in range(4):
        for query in range(queries):
            for rank, top in enumerate(top_areas(attention, 1, head, query, 3)):
                assert attention.grid.area(area_HQK[head, query, rank]) == top.area
                assert weight_HQK[head, query, rank] == pytest.approx(top.weight, abs=1e-4)


def test_page_contains_the_picture_once() -> None:
    assert all(
        "picture" not in header["arrays"]
        for header, _ in carried(make_page(TRACES["caption"])).values()
    )


@pytest.mark.parametrize("name", [*TRACES, "blind"])
def test_page_contains_no_url_and_no_style_attribute(name: str) -> None:
    html = make_page(blind() if name == "blind" else TRACES[name])
    assert not re.findall(r"(?:https?:|//[\w-]+\.\w|url\(|@import|\sstyle=|\son\w+=)", html)
    found = read(html)
    assert "link" not in found.tags and "iframe" not in found.tags
    assert "default-src 'none'" in unescape(html) and "unsafe" not in html


def test_model_without_attention_has_page_without_scripts() -> None:
    html = make_page(blind())
    assert "<script" not in html and "a small red circle" in html and 'id="picture"' in html


def test_layers_sites_and_areas_can_be_left_out() -> None:
    trace = fakes.trace(layers=3)
    whole = make_page(trace)
    less = make_page(trace, options=PageOptions(layers=(0, 2), sites=("encoder self",), areas=4))
    assert set(carried(less)) == {("encoder self", 0), ("encoder self", 2)}
    assert carried(less)["encoder self", 0][0]["keep"] == {
        "area": 4,
        "several": 4,
        "query": 4,
        "item": 4,
    }
    assert carried(whole)["encoder self", 0][0]["keep"] == {
        "area": 64,
        "several": 64,
        "query": 18,
        "item": 18,
    }
    assert len(less) < len(whole)


@pytest.mark.parametrize(
    ("options", "focus", "sentence"),
    [
        (
            PageOptions(layers=(7,)),
            None,
            'The site "encoder-decoder" has 2 layers, but none of the requested ones',
        ),
        (
            PageOptions(sites=("middle",)),
            None,
            'no site "middle". Choose from: encoder-decoder, encoder self',
        ),
        (PageOptions(areas=2), None, '"areas" is 2 but must be between 4 and 64'),
        (PageOptions(limit=1), None, '"limit" is 1 but must be between'),
        (
            PageOptions(layers=(0,)),
            Focus("encoder-decoder", 1),
            'cannot open at layer 2 of "encoder-decoder"',
        ),
        (PageOptions(), Focus("encoder-decoder", 5), "has 2 layers but the link asks for layer 6"),
    ],
)
def test_unshowable_site_is_reported(
    options: PageOptions, focus: Focus | None, sentence: str
) -> None:
    with pytest.raises(InputError, match=re.escape(sentence)):
        make_page(TRACES["translation"], focus, options)


def test_too_large_page_is_refused_before_layers_are_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[int] = []
    ribbon = KINDS["ribbon"]

    def noted(trace: Trace, focus: Focus, most: int) -> Message:
        made.append(focus.layer)
        return ribbon.message(trace, focus, most)

    monkeypatch.setitem(KINDS, "ribbon", replace(ribbon, message=noted))
    trace = fakes.trace(layers=12)
    size = len(make_page(trace))
    made.clear()
    with pytest.raises(
        InputError, match=r"about \d\.\d MiB, but the limit is 0\.25 MiB. Include fewer layers"
    ):
        make_page(trace, options=PageOptions(limit=2**18))
    assert set(made) == {0}
    assert len(make_page(trace, options=PageOptions(limit=size))) <= size


def test_million_heads_are_refused_before_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = fakes.trace("a b", "c d", layers=2, heads=4)
    monkeypatch.setattr(content, "MOST_HEADS", 23)

    def never(trace: Trace, focus: Focus, most: int) -> Message:
        raise AssertionError("A map was drawn.")

    monkeypatch.setitem(KINDS, "ribbon", replace(KINDS["ribbon"], message=never))
    with pytest.raises(
        InputError, match=r"would have 24 heads, but the limit is 23. Include fewer layers"
    ):
        make_page(trace)
    monkeypatch.undo()
    monkeypatch.setattr(content, "MOST_HEADS", 12)
    assert make_page(trace, options=PageOptions(layers=(1,)))


def test_size_limit_covers_larger_later_layers() -> None:
    trace = fakes.trace(layers=8)
    maps = {}
    for site, one in trace.maps.items():
        weights = one.weights.copy()
        weights[0] = 0
        weights[0, ..., 0] = 1
        maps[site] = replace(one, weights=weights)
    with pytest.raises(InputError, match="more than"):
        make_page(replace(trace, maps=maps), options=PageOptions(limit=2**18))


def test_equal_traces_make_equal_pages() -> None:
    assert make_page(fakes.trace()) == make_page(fakes.trace())


def test_unsure_words_are_tinted() -> None:
    trace = fakes.caption_trace("a red star", layers=1)
    likely = np.array([0.95, 0.5, 0.1, 0.9], np.float32)
    unsure = replace(trace, output=replace(trace.output, probabilities=likely))
    assert (
        render_output_text(unsure)
        == 'a <span class="u2" title="probability 50%">red</span> <span class="u4"'
        ' title="probability 10%">star</span>'
    )
    assert (
        describe_confidence(unsure)
        == "Mean probability 0.45. Least certain: “star” (0.10). Tinted words are less certain."
    )
    one = replace(trace.output, probabilities=np.array([0.4], np.float32))
    assert describe_confidence(replace(trace, output=one)) == "Probability 0.40."
    assert get_given_text(unsure) == "" and get_given_text(fakes.doubly_trace()) == "a ? star"


def test_unknown_facts_are_left_out() -> None:
    nothing = fakes.text_field("output", "", end="")
    trace = fakes.trace("A dog.", "Hund.")
    output = Output("output", np.zeros(0, np.float32), ())
    mute = replace(trace, output=output, fields={**trace.fields, "output": nothing}, details={})
    html = make_page(mute)
    assert ">Input<" in html and ">Output<" not in html and "<details>" not in html
    wordless = replace(
        mute, fields={name: field for name, field in mute.fields.items() if name != "source"}
    )
    only = {"decoder self": trace.maps["decoder self"]}
    assert 'class="texts"' not in make_page(
        replace(wordless, maps=only, request=replace(trace.request, text=""))
    )


def test_output_of_only_end_symbol_is_empty() -> None:
    html = make_page(fakes.trace("A dog.", ""))
    assert '<span class="sure">nothing</span>' in html


def test_title_and_note_are_at_the_top() -> None:
    html = make_page(
        TRACES["translation"], options=PageOptions(title="A <b>dog</b>", note="Look at\nthe end.")
    )
    assert (
        "<h1>A &lt;b&gt;dog&lt;/b&gt;</h1>" in html
        and '<p class="note">Look at\nthe end.</p>' in html
    )
    assert "<title>A &lt;b&gt;dog&lt;/b&gt;: Hund.</title>" in html


def test_page_explains_weight_if_trace_has_logits() -> None:
    focus = Focus("attention", 1, items=(2,))
    assert WHY in make_page(with_areas(), focus) and WHY in make_page(with_areas())
    stored = trace_from_bytes(trace_to_bytes(with_areas()))
    assert WHY in make_page(stored, focus), "and so does one of a stored trace"
    assert WHY not in make_page(with_areas(), replace(focus, side="memory"))
    # The page has no reasons if queries and keys were not recorded.
    assert WHY not in make_page(fakes.trace("A dog ran.", "Ein Hund."))


def test_page_includes_additional_view() -> None:
    trace, logits = explained(fakes.trace("A dog ran.", "Ein Hund."))
    view = make_weight_view(logits, asked(trace))
    assert WHY in make_page(trace, replace(FOCUS, head=2), also=[view])
